import type { Test } from 'tap';
import { type Checker, describe } from '../../src/contract/check.ts';

/** Removes the field. */
export const ABSENT = Symbol('absent');

/** A value of a field (`pay_rate.0.amount`, or '' for the whole body) that passes, or fails with exactly one problem. */
export type Rule = { field: string; values: unknown[]; problem: string | null };

/** Returns the rule that values of a field pass. */
export const passes = (field: string, ...values: unknown[]): Rule => ({ field, values, problem: null });

/** Returns the rule that values of the field that a problem names fail with it. */
export function fails(problem: string, ...values: unknown[]): Rule {
  const [path, rule] = problem.split(': ');
  return { field: rule ? (path as string).replaceAll(/\[(\d+)\]/g, '.$1') : '', values, problem };
}

/** Tests every case of every rule on a valid body with one changed field. */
export function checkRules(t: Test, checker: Checker<unknown>, good: object, rules: Rule[]): void {
  const judge = (body: unknown) => ({
    accepted: checker.accepts(body),
    problems: checker.problems(body).map(describe),
  });
  t.same(judge(good), { accepted: true, problems: [] }, 'the sample itself is valid');
  for (const { field, values, problem } of rules) {
    const expected = { accepted: problem === null, problems: problem === null ? [] : [problem] };
    for (const value of values)
      t.same(judge(changed(good, field, value)), expected, `${field}: ${shown(value)} is judged`);
  }
}

/** Returns a copy of the body with one field set or removed. */
export function changed(body: object, field: string, value: unknown): unknown {
  if (field === '') return value;
  const copy = JSON.parse(JSON.stringify(body)) as Record<string, unknown>;
  const names = field.split('.');
  const last = names.pop()!;
  const parent = names.reduce((at, name) => at[name] as Record<string, unknown>, copy);
  if (value === ABSENT) delete parent[last];
  else parent[last] = value;
  return copy;
}

export const required = (...fields: string[]): Rule[] =>
  fields.map((field) => fails(`${field.replaceAll(/\.(\d+)/g, '[$1]')}: is required`, ABSENT));

export const text = (...fields: string[]): Rule[] =>
  fields.flatMap((field) => [
    passes(field, 'x', 'ä', "O'Brien"),
    fails(`${field}: must be a string`, 7, null, ['x']),
  ]);

const NO_DAYS = ['2026-02-30', '2026-02-29', '2026-13-01', '2026-00-10', '2026-1-5', '03/31/2026', ''];

export const days = (...fields: string[]): Rule[] =>
  fields.flatMap((field) => [
    passes(field, '2028-02-29', '1990-12-31'),
    fails(`${field}: must be a real date, YYYY-MM-DD`, ...NO_DAYS, '2026-03-31T00:00:00Z'),
  ]);

export const atMost = (field: string, characters: number, unit = 'x'): Rule[] => [
  passes(field, unit.repeat(characters)),
  fails(`${field}: must be at most ${characters} characters`, unit.repeat(characters + 1)),
];

export const identifiers = (...fields: string[]): Rule[] =>
  fields.flatMap((field) => [
    fails(`${field}: must have at least 1 character`, ''),
    ...atMost(field, 255),
    fails(`${field}: must be a string`, 17, null),
  ]);

/** Returns the rules of a field with a closed set of values. */
export const among = (field: string, values: readonly string[]): Rule[] => [
  passes(field, ...values),
  fails(`${field}: must be one of ${values.join(', ')}`, values[0]!.toUpperCase(), '', 1),
];

/** A body that we send has only fields of the interface. */
export const noOtherField = fails('shoe_size: is not a field of the interface', '9', null);

function shown(value: unknown): string {
  const json = typeof value === 'symbol' ? value.description! : JSON.stringify(value);
  return json.length > 40 ? `${json.slice(0, 40)}...` : json;
}
