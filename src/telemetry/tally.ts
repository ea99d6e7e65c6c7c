/**
 * Counts values by size in plain numbers, from which a Prometheus histogram is made when the metrics are
 * read. Pure, and as cheap as a few comparisons, because every delivery is counted.
 */
export type Tally = {
  /** The largest value of each step but the last, which has none. */
  readonly bounds: readonly number[];
  /** Values by step; one more than there are bounds. */
  readonly counts: number[];
  sum: number;
};

/** Seconds, from a response out of memory to the 15 s that the provider waits. */
export const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15] as const;

export function createTally(bounds: readonly number[]): Tally {
  return { bounds, counts: new Array(bounds.length + 1).fill(0), sum: 0 };
}

export function note(tally: Tally, value: number): void {
  const { bounds, counts } = tally;
  let step = 0;
  while (step < bounds.length && value > (bounds[step] as number)) step += 1;
  counts[step] = (counts[step] as number) + 1;
  tally.sum += value;
}

/** Returns how many values were counted. */
export function countOf({ counts }: Tally): number {
  return counts.reduce((sum, count) => sum + count, 0);
}
