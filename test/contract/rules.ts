import type { Test } from 'tap';
import { type Checker, describe } from '../../src/contract/check.ts';

/** Removes the field. */
export const ABSENT = Symbol('absent');

/**
 * One rule of the interface: a field (`pay_rate.0.amount`, or '' for the whole body), values that pass, and values that
 * fail with exactly this problem.
 */
export type Rule = { field: string; passes?: unknown[]; fails?: unknown[]; problem?: string };

/** Tests every case of every rule on a valid body with one changed field. */
export function checkRules(t: Test, checker: Checker<unknown>, good: object, rules: Rule[]): void {
  const judge = (body: unknown) => ({
    accepted: checker.accepts(body),
    problems: checker.problems(body).map(describe),
  });
  t.same(judge(good), { accepted: true, problems: [] }, 'the sample itself is valid');
  for (const { field, passes = [], fails = [], problem } of rules) {
    for (const value of passes) {
      t.same(
        judge(changed(good, field, value)),
        { accepted: true, problems: [] },
        `${field} may be ${shown(value)}`,
      );
    }
    for (const value of fails) {
      const refused = { accepted: false, problems: [problem] };
      t.same(judge(changed(good, field, value)), refused, `${field} can't be ${shown(value)}`);
    }
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

/** Rules for required fields. */
export function required(...fields: string[]): Rule[] {
  return fields.map((field) => ({
    field,
    fails: [ABSENT],
    problem: `${field.replaceAll(/\.(\d+)/g, '[$1]')}: is required`,
  }));
}

/** Rules for text fields. */
export function text(...fields: string[]): Rule[] {
  return fields.map((field) => ({
    field,
    passes: ['x', 'ä', "O'Brien"],
    fails: [7, null, ['x']],
    problem: `${field}: must be a string`,
  }));
}

/** Rules for date fields. */
export function days(...fields: string[]): Rule[] {
  return fields.map((field) => ({
    field,
    passes: ['2028-02-29', '1990-12-31'],
    fails: [
      '2026-02-30',
      '2026-02-29',
      '2026-13-01',
      '2026-00-10',
      '2026-1-5',
      '03/31/2026',
      '2026-03-31T00:00:00Z',
      '',
    ],
    problem: `${field}: must be a real date, YYYY-MM-DD`,
  }));
}

/** Rules for id fields. */
export function identifiers(...fields: string[]): Rule[] {
  return fields.flatMap((field) => [
    { field, passes: ['x'], fails: [''], problem: `${field}: must have at least 1 character` },
    {
      field,
      passes: ['x'.repeat(255), '😀'.repeat(255)],
      fails: ['x'.repeat(256)],
      problem: `${field}: must be at most 255 characters`,
    },
    { field, fails: [17, null], problem: `${field}: must be a string` },
  ]);
}

/** The rule for a field with a closed set of values. */
export function among(field: string, values: readonly string[]): Rule {
  return {
    field,
    passes: [...values],
    fails: [values[0]!.toUpperCase(), '', 1],
    problem: `${field}: must be one of ${values.join(', ')}`,
  };
}

/** The rule that a body we send has only fields of the interface. */
export const noOtherField: Rule = {
  field: 'shoe_size',
  passes: [ABSENT],
  fails: ['9', null],
  problem: 'shoe_size: is not a field of the interface',
};

function shown(value: unknown): string {
  const json = typeof value === 'symbol' ? value.description! : JSON.stringify(value);
  return json.length > 40 ? `${json.slice(0, 40)}...` : json;
}
