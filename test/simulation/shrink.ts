/** Runs per breach: about a minute. */
const TRIES = 24;

/**
 * Returns the faults that a breach needs: larger and then smaller groups are left out, as long as it still happens.
 * `stillBreaks` repeats the seed without the named faults.
 */
export async function neededFaults(
  names: readonly string[],
  stillBreaks: (without: ReadonlySet<string>) => Promise<boolean>,
): Promise<string[]> {
  let needed = [...names];
  let tries = 0;
  for (let size = needed.length; size >= 1; size = Math.floor(size / 2)) {
    for (let from = 0; from < needed.length && tries < TRIES; ) {
      const group = needed.slice(from, from + size);
      tries += 1;
      const kept = needed.filter((name) => !group.includes(name));
      const left = names.filter((name) => !kept.includes(name));
      if (await stillBreaks(new Set(left))) needed = kept;
      else from += size;
    }
  }
  return needed;
}
