/** Values counted by size, and metrics in the form that prom-client passes between processes, both plain numbers. Pure. */

/** Counts for a Prometheus histogram, as cheap as a few comparisons, because every delivery is counted. */
export type Tally = {
  /** The largest value of each step. The last step has no bound. */
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

/** The prefix of every name. */
export const PREFIX = 'benefits_sidecar_';

type Labels = Readonly<Record<string, string>>;
type Value = { readonly value: number; readonly labels: Labels; readonly metricName?: string };
export type Metric = {
  readonly name: string;
  readonly help: string;
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly aggregator: 'sum';
  readonly values: readonly Value[];
};

/** One number, or one per value of a label. A label has a closed set of values and never an id. */
type Numbers = number | { readonly label: string; readonly of: Iterable<readonly [string, number]> };
type Tallies = Tally | { readonly label: string; readonly of: Iterable<readonly [string, Tally]> };

/** Creates a metric that only rises until the process restarts. */
export function counter(name: string, help: string, numbers: Numbers): Metric {
  return metric(`${name}_total`, help, 'counter', valuesOf(numbers));
}

export function gauge(name: string, help: string, numbers: Numbers): Metric {
  return metric(name, help, 'gauge', valuesOf(numbers));
}

/** Creates a metric of how many values were at most a given size. */
export function histogram(name: string, help: string, tallies: Tallies): Metric {
  const values =
    'counts' in tallies
      ? stepsOf(PREFIX + name, tallies, {})
      : [...tallies.of].flatMap(([value, tally]) =>
          stepsOf(PREFIX + name, tally, { [tallies.label]: value }),
        );
  return metric(name, help, 'histogram', values);
}

function metric(name: string, help: string, type: Metric['type'], values: Value[]): Metric {
  return { name: PREFIX + name, help, type, aggregator: 'sum', values };
}

function valuesOf(numbers: Numbers): Value[] {
  if (typeof numbers === 'number') return [{ value: numbers, labels: {} }];
  return [...numbers.of].map(([value, number]) => ({ value: number, labels: { [numbers.label]: value } }));
}

/** Buckets are cumulative: each includes the ones below it. */
function stepsOf(name: string, tally: Tally, labels: Labels): Value[] {
  let passed = 0;
  const buckets = tally.counts.map((count, step) => {
    passed += count;
    const le = tally.bounds[step] === undefined ? '+Inf' : String(tally.bounds[step]);
    return { value: passed, labels: { ...labels, le }, metricName: `${name}_bucket` };
  });
  return [
    ...buckets,
    { value: tally.sum, labels, metricName: `${name}_sum` },
    { value: countOf(tally), labels, metricName: `${name}_count` },
  ];
}
