/** The body of a payroll run: "Payroll run" of the design. Pure. */
import Type, { type Static, type TSchema } from 'typebox';
import { compile, PROBLEMS_MAX } from '../../contract/check.ts';
import { PAY_FREQUENCIES } from '../../contract/employee.ts';
import { closed, day, identifier, nullable, oneOf } from '../../contract/fields.ts';
import { type Problem, refused } from '../../errors.ts';
import { periodProblems } from '../calculation/pay-dates.ts';
import { dayOfCheck } from '../calculation/plan.ts';
import { Options } from '../settings/policy.ts';

export const KINDS = ['regular', 'off_cycle'] as const;

/** The most characters of a run's id. */
export const RUN_ID_MAX = 128;
/** Clients remove a path segment of one or two dots from a URL. */
export const RUN_ID_PATTERN = `^(?!\\.{1,2}$)[A-Za-z0-9._-]{1,${RUN_ID_MAX}}$`;

/** The most ids in a list: the employees of a large employer. Select more by pay group. */
const LIST_MAX = 100_000;

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
    'Terminated employees who receive a final paycheck. It takes what is left of the month of the termination.',
  items: 'The open items that an off-cycle run takes. Default: all items of its employees that it may take.',
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
    maxItems: LIST_MAX,
    uniqueItems: true,
    rule: `must be a list of at most ${LIST_MAX} different item ids`,
  }),
  final_checks: ids,
});

export const RunBody = closed({ ...REQUIRED, ...Type.Partial(closed(OPTIONAL)).properties });
export type RunBody = Static<typeof RunBody>;

/** A body with its defaults. Null: no limit. */
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
  final_checks: Type.Array(identifier),
};

/** A run as it was requested. */
export const RequestedRun = closed(described(FIELDS));
export type RequestedRun = Static<typeof RequestedRun>;

/** A run with the options of its employer's payroll policy. */
export const Run = closed({ ...RequestedRun.properties, ...Options.properties });
export type Run = Static<typeof Run>;
/** The pay date of a paycheck, and its pay period. */
export type RunDates = Pick<Run, 'pay_date' | 'period_start' | 'period_end'>;

const runBody = compile(RunBody);

/** Returns the run that a body defines, without reading any schedule. Throws RUN_REFUSED. */
export function runOf(body: unknown): RequestedRun {
  if (!runBody.accepts(body)) throw refused('RUN_REFUSED', runBody.problems(body, PROBLEMS_MAX, 'hints'));
  const { kind = 'regular', employee_ids, deductions, items, final_checks = [] } = body;
  const problems: Problem[] = [];
  if (kind === 'regular') problems.push(...periodProblems(body, body.pay_frequency, 'period_end'));
  else if (body.period_end < body.period_start)
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
  if (problems.length > 0) throw refused('RUN_REFUSED', problems);
  const requested: Partial<RequestedRun> = {
    ...body,
    kind,
    // Lists of ids are sorted, because their order means nothing.
    employee_ids: employee_ids?.toSorted() ?? null,
    deductions: deductions?.toSorted() ?? null,
    items: items?.toSorted() ?? null,
    final_checks: final_checks.toSorted(),
  };
  // Runs with the same fields have the same JSON.
  const fields = Object.keys(RequestedRun.properties) as (keyof RequestedRun)[];
  return Object.fromEntries(fields.map((name) => [name, requested[name] ?? null])) as RequestedRun;
}

/** Returns the day on which a deduction must be in effect for a run to take it. */
export function dayOfRun(run: Run): string {
  return dayOfCheck(run.applies_on, run);
}
