/** Counts what is under way, and lets callers wait until nothing is. */
export function countUnderWay() {
  let count = 0;
  let waiting: (() => void)[] = [];
  return {
    begin: (): void => {
      count += 1;
    },
    end: (): void => {
      count -= 1;
      if (count > 0) return;
      for (const resolve of waiting) resolve();
      waiting = [];
    },
    settled: (): Promise<void> =>
      count === 0 ? Promise.resolve() : new Promise((resolve) => waiting.push(resolve)),
  };
}
