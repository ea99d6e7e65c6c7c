/**
 * How often a value was at most so large, counted in plain numbers: what a histogram of Prometheus is made from when
 * somebody asks. Pure, and as cheap as a few comparisons: it is fed on the way of every delivery.
 */
export type Tally = {
  /** The largest value of each step but the last, which has none. */
  readonly bounds: readonly number[];
  /** Values by step; one more than there are bounds. */
  readonly counts: number[];
  sum: number;
};

/** Seconds, from what an answer from memory takes to the 15 that the provider waits. */
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

/** How many values were noted. */
export function countOf({ counts }: Tally): number {
  return counts.reduce((sum, count) => sum + count, 0);
}
