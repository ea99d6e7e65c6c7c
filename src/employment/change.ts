/** The bodies of employment changes: their schemas, their check, and their bytes. Pure. */
import type { TObject } from 'typebox';
import { type Checker, isObject, PROBLEMS_MAX } from '../contract/check.ts';
import { FIRST_HIRE } from '../contract/employee.ts';
import {
  CompensationChange,
  compensationChange,
  Demographic,
  demographic,
  NewHire,
  newHire,
  Termination,
  termination,
} from '../contract/employment.ts';
import { named } from '../contract/fields.ts';
import { isDay } from '../contract/instant.ts';
import type { Problem } from '../errors.ts';
import {
  type ForPayroll,
  PAYROLL_FIELDS,
  type PayrollField,
  splitPayrollFields,
} from '../ledger/payroll-fields.ts';
import type { ChangeKind } from '../outbox/manual.ts';

const { effective_on, pay_group } = PAYROLL_FIELDS;

/** The body of each kind of change as a caller sends it: the contract's fields and payroll's own. */
export const CHANGE_SCHEMAS = {
  'new-hire': withFields('NewHire', NewHire, { pay_group, effective_on }),
  termination: withFields('Termination', Termination, { effective_on }),
  demographic: withFields('Demographic', Demographic, { effective_on }),
  'compensation-change': withFields('CompensationChange', CompensationChange, { pay_group, effective_on }),
} as const satisfies Record<ChangeKind, object>;

function withFields<S extends TObject, F extends object>(name: string, schema: S, fields: F) {
  return named(name, { ...schema, properties: { ...schema.properties, ...fields } });
}

const CHECKERS = {
  'new-hire': newHire,
  termination,
  demographic,
  'compensation-change': compensationChange,
} as const satisfies Record<ChangeKind, Checker<unknown>>;

type Bodies = { [K in ChangeKind]: (typeof CHECKERS)[K] extends Checker<infer Body> ? Body : never };

/** A change whose body follows the contract, and the fields for payroll, which are not sent. */
export type Change = {
  [K in ChangeKind]: { readonly kind: K; readonly body: Bodies[K] } & ForPayroll;
}[ChangeKind];

type CheckedChange =
  | { readonly ok: true; readonly change: Change }
  | { readonly ok: false; readonly problems: Problem[] };

/** Checks a change and its fields for payroll. Returns at most `limit` wrong and unknown fields. */
export function checkChange(kind: ChangeKind, value: unknown, limit = PROBLEMS_MAX): CheckedChange {
  const fields = Object.keys(PAYROLL_FIELDS).filter((field) => field in CHANGE_SCHEMAS[kind].properties);
  const { rest: body, forPayroll, problems } = splitPayrollFields(value, fields as PayrollField[]);
  problems.push(...datesTooEarly(value));
  const checker: Checker<unknown> = CHECKERS[kind];
  const isGood = checker.accepts(body);
  if (isGood && problems.length === 0) return { ok: true, change: { kind, body, ...forPayroll } as Change };
  const broken = isGood ? [] : checker.problems(body, limit, 'hints');
  return { ok: false, problems: [...problems, ...broken].slice(0, limit) };
}

/**
 * Returns the problems of dates before the first plausible hire. A browser takes a year typed as 26 for the year 0026, which would
 * count for every payroll.
 */
function datesTooEarly(value: unknown): Problem[] {
  if (!isObject(value)) return [];
  const { hire_date, termination_date, effective_on, pay_rate } = value;
  const dates = { hire_date, termination_date, effective_on };
  const started = isObject(pay_rate) ? { 'pay_rate.effective_start': pay_rate.effective_start } : {};
  return Object.entries({ ...dates, ...started }).flatMap(([path, date]) =>
    typeof date === 'string' && isDay(date) && date < FIRST_HIRE
      ? [{ path, rule: `must be ${FIRST_HIRE} or later` }]
      : [],
  );
}

/** Returns the body as it is sent, with sorted fields: equal bodies have equal bytes. */
export function bytesOf({ body }: Change): Buffer {
  return Buffer.from(JSON.stringify(sorted(body)));
}

/** Texts stay as given: `150` and `150.00` differ. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  const fields = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1));
  return Object.fromEntries(fields.map(([name, field]) => [name, sorted(field)]));
}
