/** A metric in the form in which prom-client hands them from one process to another, made from plain numbers. Pure. */
import { countOf, type Tally } from './tally.ts';

/** Every name begins with it. */
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

/** One number, or one of each value of a label: a closed set, never an id. */
type Numbers = number | { readonly label: string; readonly of: Iterable<readonly [string, number]> };
type Tallies = Tally | { readonly label: string; readonly of: Iterable<readonly [string, Tally]> };

/** Only ever rises, until the process starts again. */
export function counter(name: string, help: string, numbers: Numbers): Metric {
  return {
    name: `${PREFIX}${name}_total`,
    help,
    type: 'counter',
    aggregator: 'sum',
    values: valuesOf(numbers),
  };
}

/** As it is now. */
export function gauge(name: string, help: string, numbers: Numbers): Metric {
  return { name: PREFIX + name, help, type: 'gauge', aggregator: 'sum', values: valuesOf(numbers) };
}

/** How many values were how large. */
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

/** Each bucket has what the ones below it have, too. */
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
