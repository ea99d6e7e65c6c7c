/** The body of a payroll run: "Payroll run" of the design. Pure. */
import Type, { type Static, type TSchema, type TUnsafe } from 'typebox';
import { compile } from '../../contract/check.ts';
import { PAY_FREQUENCIES } from '../../contract/employee.ts';
import { closed, day, identifier, nullable, oneOf, reasonField } from '../../contract/fields.ts';
import type { Problem } from '../../errors.ts';
import { OPTIONS, Options, recoupOf } from '../settings/policy.ts';

export const KINDS = ['regular', 'off_cycle'] as const;

/** The most characters of a run's id. */
export const RUN_ID_MAX = 128;
/** Clients remove a path segment of one or two dots from a URL. */
export const RUN_ID_PATTERN = `^(?!\\.{1,2}$)[A-Za-z0-9._-]{1,${RUN_ID_MAX}}$`;

/** The most ids in a list: the employees of a large employer. Select more by pay group. */
const LIST_MAX = 100_000;
/** Maximum number of regular pay dates in a calendar year. Weekly pay has at most 53. */
const PAY_DATES_MAX = 60;

/** The descriptions of a run's fields in requests and responses. */
const DESCRIPTIONS = {
  employer_id: 'The employer. It must be known from a census, an event or a change.',
  kind: '`regular`: a scheduled pay date. `off_cycle`: names its employees, and takes the `deductions` and open `items` that it names.',
  pay_frequency: 'The pay frequency of the employees.',
  pay_group: 'Only employees of this pay group.',
  period_start: 'The first day of the pay period.',
  period_end: 'The last day of the pay period.',
  pay_date: 'The date employees are paid.',
  employee_ids: 'Only these employees.',
  deductions:
    'The deductions whose regular amounts an off-cycle run takes. A regular run takes all and states none.',
  final_checks:
    'Terminated employees who receive a final paycheck, which takes one remaining share of each deduction, or `shares` of them: ' +
    'a number, or `all` of the year.',
  pay_dates:
    "The regular pay dates of the calendar year, including the date of this run. Default: the employer's pay schedule, " +
    'or, for weekly and biweekly, dates stepped from the pay date.',
  scheme: 'How the amount of a year is divided among paychecks.',
  applies_on: 'The date on which a deduction must be in effect.',
  remainder: 'Which paycheck takes the remaining cents. Always `none` without a list of pay dates.',
  extra_paycheck: 'Whether a paycheck beyond the usual number per year takes a contribution.',
  items: 'The open items that an off-cycle run takes. Default: all items of its employees that it may take.',
  adjustments:
    'Which differences from earlier runs the run takes: `decided` by a person, or undecided ones too (`include`).',
  arrears: 'Which amounts not taken in earlier runs, and which opening items, the run takes.',
  recoup: 'The most that the run takes of an employee’s open items for a line of coverage.',
  policy_reason:
    "Why the run differs from the employer's payroll policy. Required if a stated option differs.",
};

/** Adds its description to each field. */
function described<const Fields extends Partial<Record<keyof typeof DESCRIPTIONS, TSchema>>>(
  fields: Fields,
): Fields {
  const entries = Object.entries(fields) as [keyof typeof DESCRIPTIONS, TSchema][];
  const all = entries.map(([name, schema]) => [name, { ...schema, description: DESCRIPTIONS[name] }]);
  return Object.fromEntries(all) as Fields;
}

const ids = Type.Array(identifier, {
  minItems: 1,
  maxItems: LIST_MAX,
  uniqueItems: true,
  rule: `must be a list of 1 to ${LIST_MAX} different ids`,
});

/** An id of an open item has the ids of a run, an employee and a deduction, each percent-encoded. */
const itemIdentifier = Type.String({ minLength: 1, maxLength: 4_096 });

const finalCheck = Type.Union(
  [
    identifier,
    closed({
      employee_id: { ...identifier, description: 'The employee.' },
      shares: Type.Union([Type.Integer({ minimum: 1, maximum: PAY_DATES_MAX }), Type.Literal('all')], {
        description: 'The most pay dates whose amounts the check takes of each deduction.',
      }),
    }),
  ],
  {
    rule: `must be an employee ID, or an object with employee_id and shares: a number from 1 to ${PAY_DATES_MAX}, or "all"`,
  },
);

export function employeeOfCheck(entry: Static<typeof finalCheck>): string {
  return typeof entry === 'string' ? entry : entry.employee_id;
}

const REQUIRED = described({
  employer_id: identifier,
  pay_frequency: oneOf(PAY_FREQUENCIES),
  period_start: day,
  period_end: day,
  pay_date: day,
});
const OPTIONAL = described({
  kind: oneOf(KINDS),
  pay_group: identifier,
  employee_ids: ids,
  deductions: ids,
  items: Type.Array(itemIdentifier, {
    minItems: 1,
    maxItems: LIST_MAX,
    uniqueItems: true,
    rule: `must be a list of 1 to ${LIST_MAX} different item ids`,
  }),
  final_checks: Type.Array(finalCheck, {
    minItems: 1,
    maxItems: LIST_MAX,
    rule: `must be a list of 1 to ${LIST_MAX} different employees`,
  }),
  pay_dates: Type.Array(day, {
    minItems: 1,
    maxItems: PAY_DATES_MAX,
    rule: `must be a list of at most ${PAY_DATES_MAX} pay dates`,
  }),
  ...Options.properties,
  policy_reason: reasonField(),
});

export const RunBody = closed({ ...REQUIRED, ...Type.Partial(closed(OPTIONAL)).properties });
export type RunBody = Static<typeof RunBody>;

/** A body with its defaults, except the options. Null: no limit. */
const FIELDS = {
  employer_id: identifier,
  kind: oneOf(KINDS),
  pay_frequency: oneOf(PAY_FREQUENCIES),
  pay_group: nullable(identifier),
  period_start: day,
  period_end: day,
  pay_date: day,
  employee_ids: nullable(Type.Array(identifier)),
  deductions: nullable(Type.Array(identifier)),
  items: nullable(Type.Array(itemIdentifier)),
  final_checks: Type.Array(finalCheck),
  pay_dates: nullable(Type.Array(day)),
};
const policy_reason = nullable(Type.String());

/** A run with its effective options. */
export const Run = closed(described({ ...FIELDS, ...Options.properties, policy_reason }));
export type Run = Static<typeof Run>;

type StatedOptions = { [Name in keyof Options]: TUnsafe<Options[Name] | null> };
const options = OPTIONS.map((name) => [name, nullable(Options.properties[name])]);

/** A run as it was requested: null where the employer's payroll policy decides. */
export const StatedRun = closed({
  ...FIELDS,
  ...(Object.fromEntries(options) as StatedOptions),
  policy_reason,
});
export type StatedRun = Static<typeof StatedRun>;

const runBody = compile(RunBody);

/** Returns the run that a body defines, or its problems, without reading any schedule. */
export function runOf(body: unknown): { ok: true; run: StatedRun } | { ok: false; problems: Problem[] } {
  if (!runBody.accepts(body)) return { ok: false, problems: runBody.problems(body) };
  const {
    kind = 'regular',
    period_start,
    period_end,
    employee_ids,
    deductions,
    items,
    final_checks = [],
  } = body;
  const problems: Problem[] = [];
  if (period_end < period_start)
    problems.push({ path: 'period_end', rule: 'must not be before period_start' });
  if (kind === 'off_cycle' && employee_ids === undefined)
    problems.push({ path: 'employee_ids', rule: 'is required for an off_cycle run' });
  // The run would use up its pay date, and the deductions that it leaves out would be lost.
  if (kind === 'regular' && deductions !== undefined)
    problems.push({
      path: 'deductions',
      rule: 'is for an off_cycle run: a regular run takes all deductions',
    });
  if (kind === 'regular' && items !== undefined)
    problems.push({ path: 'items', rule: 'is for an off_cycle run: a regular run takes all items' });
  if (new Set(final_checks.map(employeeOfCheck)).size < final_checks.length)
    problems.push({ path: 'final_checks', rule: 'must name each employee once' });
  if (problems.length > 0) return { ok: false, problems };
  const stated: Partial<StatedRun> = {
    ...body,
    kind,
    // Lists of ids are sorted, because their order means nothing.
    employee_ids: employee_ids?.toSorted() ?? null,
    deductions: deductions?.toSorted() ?? null,
    items: items?.toSorted() ?? null,
    ...(body.recoup !== undefined && { recoup: recoupOf(body.recoup) }),
    final_checks: final_checks
      .map((entry) => (typeof entry !== 'string' && entry.shares === 1 ? entry.employee_id : entry))
      .toSorted((one, other) => (employeeOfCheck(one) < employeeOfCheck(other) ? -1 : 1)),
  };
  // Runs with the same fields have the same JSON.
  const fields = Object.keys(StatedRun.properties) as (keyof StatedRun)[];
  return {
    ok: true,
    run: Object.fromEntries(fields.map((name) => [name, stated[name] ?? null])) as StatedRun,
  };
}

/** Returns a run as it is stored. Its reason is in a column of its own, because it can be erased. */
export function withoutReason<R extends Pick<Run, 'policy_reason'>>(run: R): R {
  return { ...run, policy_reason: null };
}

export function dayOfRun(run: Run): string {
  return run[run.applies_on];
}
