/** Metrics in the form that prom-client passes between processes, built from plain numbers. Pure. */
import { countOf, type Tally } from './tally.ts';

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
  return {
    name: `${PREFIX}${name}_total`,
    help,
    type: 'counter',
    aggregator: 'sum',
    values: valuesOf(numbers),
  };
}

/** Creates a metric of a current value. */
export function gauge(name: string, help: string, numbers: Numbers): Metric {
  return { name: PREFIX + name, help, type: 'gauge', aggregator: 'sum', values: valuesOf(numbers) };
}

/** Creates a metric of how many values were at most a given size. */
export function histogram(name: string, help: string, tallies: Tallies): Metric {
  const whole = PREFIX + name;
  const values =
    'counts' in tallies
      ? stepsOf(whole, tallies, {})
      : [...tallies.of].flatMap(([value, tally]) => stepsOf(whole, tally, { [tallies.label]: value }));
  return { name: whole, help, type: 'histogram', aggregator: 'sum', values };
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
