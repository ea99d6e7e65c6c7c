/** Previews decisions: the next paycheck of each employee with and without them. Nothing is recorded. */
import Type, { type Static } from 'typebox';
import { closed, component, nullableText, oneOfDescribed, text } from '../../contract/fields.ts';
import type { Db } from '../../database/tables.ts';
import { dayAt } from '../../database/time-zone.ts';
import { employmentsOf, valueOn } from '../../ledger/employment.ts';
import { rosterOf } from '../../ledger/roster.ts';
import { amountOf } from '../../money.ts';
import { NOTHING, plus } from '../calculation/items.ts';
import { amountField, LINE_KINDS, type Line, lineRecord } from '../calculation/line.ts';
import { resolveBasis } from '../compute/basis.ts';
import { type Computation, computationOf } from '../compute/computation.ts';
import { computeRun } from '../compute/compute.ts';
import { LEFT_OUT_IN_WORDS } from '../compute/takeable.ts';
import type { EmployeeLines } from '../compute/taking.ts';
import { type Decision, lastDecision, type NewDecision } from '../facts/decisions.ts';
import { type Payroll, scheduledRun } from '../lifecycle/open-on-pay-date.ts';
import { bodyOf, regularRunOn } from '../records/runs.ts';
import { acrossYears, type DateList, readSchedules } from '../settings/schedules.ts';
import { checkDecisions } from './decide-items.ts';
import type { DecisionsRequest } from './requested-decisions.ts';

const NOTHING_UNDER_CAP = 'is more than the policy lets a paycheck recover';

const AMOUNTS = {
  member_amount: amountField('The sum of the employee amounts.'),
  employer_amount: amountField('The sum of the employer amounts.'),
};

const PreviewedPaycheck = component(
  'PreviewedPaycheck',
  {
    employee_id: text('The employee.'),
    pay_date: nullableText(
      'The next pay date of the employee without a finalized run. Null: no pay schedule has one, or the employee is not in its run.',
    ),
    before: closed(AMOUNTS, 'The paycheck without the decisions.'),
    after: closed(AMOUNTS, 'The paycheck with the decisions.'),
    item_lines: Type.Array(
      closed({
        kind: oneOfDescribed(LINE_KINDS, 'The kind of line.'),
        line_of_coverage: text('The line of coverage.'),
        member_amount: amountField('The amount to deduct.'),
        employer_amount: amountField('The employer amount.'),
        explanation: text('How the amount was computed.'),
      }),
      { description: 'The lines for open items with the decisions.' },
    ),
    left_out: Type.Array(
      closed({
        item_id: text('The item.'),
        line_of_coverage: text('The line of coverage.'),
        explanation: text('What the item is, and why the paycheck leaves it out.'),
      }),
      { description: 'The outstanding items of which the paycheck takes nothing, with the decisions.' },
    ),
  },
  'What decisions would do to the next paycheck of an employee.',
);
type PreviewedPaycheck = Static<typeof PreviewedPaycheck>;

export const DecisionsPreview = component(
  'ItemDecisionsPreview',
  { paychecks: Type.Array(PreviewedPaycheck, { description: 'By employee ID.' }) },
  'What decisions would do, before they are recorded.',
);

/**
 * Computes the next paycheck of each employee of a request with and without its decisions. Throws DECISION_REFUSED,
 * ITEM_CHANGED or RUN_REFUSED.
 */
export async function previewDecisions(
  db: Db,
  employerId: string,
  request: DecisionsRequest,
  now: Date,
): Promise<PreviewedPaycheck[]> {
  const today = dayAt(db, now);
  const decisions = await checkDecisions(db, employerId, request, today);
  const proposed = await proposedOf(db, employerId, decisions, now);
  const paychecks = new Map<string, PreviewedPaycheck>();
  for (const [employeeId] of proposed) paychecks.set(employeeId, withoutPaycheck(employeeId));
  const schedules = acrossYears(await readSchedules(db, employerId));
  const groups = await employeesBySchedule(db, employerId, [...proposed.keys()], schedules, today);
  for (const [schedule, employees] of groups) {
    const computation = await nextRunOf(db, employerId, schedule, employees, today);
    if (computation === null) continue;
    const before = await computedByEmployee(db, computation);
    const after = await computedByEmployee(db, { ...computation, proposed });
    for (const employeeId of employees) {
      const computed = after.get(employeeId);
      if (computed === undefined) continue;
      paychecks.set(employeeId, {
        employee_id: employeeId,
        pay_date: computation.run.pay_date,
        before: amountsOf(before.get(employeeId)?.lines ?? []),
        after: amountsOf(computed.lines),
        item_lines: computed.lines.filter(({ kind }) => kind !== 'regular').map(viewLine),
        left_out: leftOutOf(computed),
      });
    }
  }
  return [...paychecks.values()];
}

/** Returns decisions as they would be recorded next, by employee. */
async function proposedOf(
  db: Db,
  employerId: string,
  decisions: readonly NewDecision[],
  now: Date,
): Promise<Map<string, Decision[]>> {
  const last = await lastDecision(db, employerId);
  const numbered = decisions.map((decision, index): Decision => {
    return { ...decision, decision_id: last + index + 1, record_id: 0, recorded_at: now.toISOString() };
  });
  return Map.groupBy(numbered, ({ employee_id }) => employee_id);
}

/**
 * Groups employees by the pay schedule that has their frequency and group. Employees without one are left out. The run decides
 * whether it includes an employee of unknown frequency.
 */
async function employeesBySchedule(
  db: Db,
  employerId: string,
  employees: readonly string[],
  schedules: readonly DateList[],
  today: string,
): Promise<Map<DateList, string[]>> {
  const groups = new Map<DateList, string[]>();
  for (const [employeeId, facts] of await rosterOf(db, employees)) {
    const employment = employmentsOf(facts).find(({ employer_id }) => employer_id === employerId);
    if (employment === undefined) continue;
    const frequency = valueOn(employment, 'pay_frequency', today);
    const group = valueOn(employment, 'pay_group', today);
    const schedule = schedules.find(
      ({ pay_frequency, pay_group }) =>
        (frequency === null || pay_frequency === frequency) && (pay_group === null || pay_group === group),
    );
    if (schedule !== undefined) groups.set(schedule, [...(groups.get(schedule) ?? []), employeeId]);
  }
  return groups;
}

/** Returns the computation of the next run of a schedule, open or not created yet; null without a pay date. */
async function nextRunOf(
  db: Db,
  employer_id: string,
  { pay_frequency, pay_group, pay_dates }: DateList,
  employees: readonly string[],
  today: string,
): Promise<Computation | null> {
  for (const { pay_date } of pay_dates) {
    if (pay_date < today) continue;
    const payroll: Payroll = { employer_id, pay_frequency, pay_group, pay_date };
    if ((await regularRunOn(db, payroll, 'finalized')) !== null) continue;
    const open = await regularRunOn(db, payroll, 'open');
    const stated = open === null ? await scheduledRun(db, payroll) : bodyOf(open);
    const runId = open?.run_id ?? null;
    return computationOf(db, runId, await resolveBasis(db, runId, stated), employees);
  }
  return null;
}

/** Returns what was computed of the employees who are in the run. */
async function computedByEmployee(db: Db, computation: Computation): Promise<Map<string, EmployeeLines>> {
  const byEmployee = new Map<string, EmployeeLines>();
  for await (const page of computeRun(db, computation))
    for (const computed of page)
      if (computed.employee.membership.isIn) byEmployee.set(computed.employee.employeeId, computed);
  return byEmployee;
}

function leftOutOf({ lines, taking }: EmployeeLines): PreviewedPaycheck['left_out'] {
  const taken = new Set(lines.map(({ settles }) => settles?.item_id));
  return taking.units.flatMap(({ items, leftOut }) => {
    const why = leftOut === null ? NOTHING_UNDER_CAP : LEFT_OUT_IN_WORDS[leftOut];
    return items
      .filter(({ id }) => !taken.has(id))
      .map(({ id, line }) => ({
        item_id: id,
        line_of_coverage: line.account.line_of_coverage,
        explanation: `${line.explanation} Left out: it ${why}.`,
      }));
  });
}

function withoutPaycheck(employee_id: string): PreviewedPaycheck {
  return {
    employee_id,
    pay_date: null,
    before: amountsOf([]),
    after: amountsOf([]),
    item_lines: [],
    left_out: [],
  };
}

function amountsOf(lines: readonly Line[]) {
  const sum = lines.map(({ amounts }) => amounts).reduce(plus, NOTHING);
  return { member_amount: amountOf(sum.member), employer_amount: amountOf(sum.employer) };
}

function viewLine(line: Line) {
  const { kind, line_of_coverage, member_amount, employer_amount, explanation } = lineRecord(line);
  return { kind, line_of_coverage, member_amount, employer_amount, explanation };
}
