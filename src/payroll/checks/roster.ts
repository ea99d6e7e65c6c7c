/** The checks of who is in a run, and of what the roster has about them. Pure. */
import type { Found } from '../../checks.ts';
import {
  type Employment,
  isAbsentNow,
  isActive,
  isInSpell,
  spellOn,
  valueOn,
  valueSince,
} from '../../ledger/employment.ts';
import { dayBefore } from '../../ledger/state.ts';
import { yearOf } from '../calculation/pay-dates.ts';
import { isScheduled } from '../compute/calendar.ts';
import type { Computation, RunEmployee } from '../compute/computation.ts';
import { checksBefore, wasInRun } from '../compute/reopened-runs.ts';
import type { RunTerms } from '../compute/terms.ts';
import { countOfEmployees } from '../compute/totals.ts';
import type { Run } from '../records/body.ts';
import type { Reason } from '../records/outcome.ts';
import { each, NAMED_ONCE, NONE, passedIfRegular, type RunCheck, type Seen } from './check.ts';

/** Finds the employees who are not in the run for a reason. */
const leftOut = (reason: Reason, result: Found['result']) =>
  each(({ employee: { employeeId, membership }, inEffect }) =>
    membership.isIn || membership.why !== reason
      ? NONE
      : [{ employee_id: employeeId, ids: inEffect, result }],
  );

export const WITHOUT_FREQUENCY: RunCheck = {
  id: 'employees-without-frequency',
  title: 'Employees have no known pay frequency',
  severity: 'fail',
  look: () => leftOut('unknown_frequency', 'fail'),
  advice:
    'The run leaves them out, because the employer has several pay schedules and their pay frequency is unknown. Stage a census that has their pay frequency.',
  passed: 'Every employee has a known pay frequency.',
  fixed: { at: 'census', query: {} },
};

export const WITHOUT_PAY_GROUP: RunCheck = {
  id: 'employees-without-pay-group',
  title: 'Employees have no known pay group',
  severity: 'warn',
  look: () => leftOut('unknown_pay_group', 'warn'),
  advice:
    'They are in no run of a pay group, because their pay group is unknown. A new hire has none until a census reports it. Stage a census that has their pay group.',
  passed: async (_, { computation }) =>
    computation.run.pay_group === null
      ? 'The run covers all pay groups.'
      : 'Every employee has a known pay group.',
  fixed: { at: 'census', query: {} },
};

export const NOT_SCHEDULED: RunCheck = {
  id: 'employees-not-scheduled',
  title: 'Employees with deductions are on no pay schedule',
  severity: 'fail; warn in an employee’s first run if the employer has no pay schedule',
  detail: 'If only their pay group has none, runs of other frequencies don’t name them.',
  look: (computation) => {
    const result = computation.basis.schedules.length === 0 ? 'warn' : 'fail';
    return each((seen) =>
      isUnscheduled(computation, seen)
        ? [{ employee_id: seen.employee.employeeId, ids: seen.inEffect, result }]
        : NONE,
    );
  },
  advice:
    'These employees have deductions in effect, but no pay schedule of the employer has their pay frequency and group. Set the missing schedule, or correct their census.',
  passed: async (_, { computation }) =>
    computation.basis.schedules.length === 0
      ? 'The employer has no pay schedule, and earlier runs had all its employees with a deduction.'
      : 'Every active employee with a deduction is on a pay schedule.',
  fixed: { at: 'settings', query: {} },
};

function isUnscheduled(computation: Computation, { employee, inEffect }: Seen): boolean {
  const { run, basis } = computation;
  const { employment } = employee;
  const { schedules } = basis;
  if (employment === undefined || run.kind !== 'regular' || inEffect.length === 0) return false;
  if (!isActive(employment, run.period_end)) return false;
  const frequency = valueOn(employment, 'pay_frequency', run.period_end);
  const group = valueOn(employment, 'pay_group', run.period_end);
  if (isScheduled(schedules, frequency, group)) return false;
  // Runs without any schedule still take their employees, so only the first run of each employee reports it.
  if (schedules.length === 0 && employee.membership.isIn && checksBefore(computation, employee).length > 0)
    return false;
  // Only the schedule of the employee's group is missing, which does not concern runs of other frequencies.
  const isOfOtherRuns =
    frequency !== null &&
    frequency !== run.pay_frequency &&
    schedules.some(({ pay_frequency }) => pay_frequency === frequency);
  return !isOfOtherRuns;
}

/** Counts the employees of the run's own frequency and group that `employee_ids` leaves out. */
export const NARROWED: RunCheck = {
  id: 'population-narrowed',
  title: 'Employees of this pay frequency are left out',
  severity: 'warn',
  look: ({ run }) => {
    let count = 0;
    return {
      each({ employee: { membership } }) {
        if (!membership.isIn && membership.why === 'not_selected') count += 1;
        return NONE;
      },
      atEnd: () => (run.kind === 'off_cycle' || count === 0 ? NONE : [{ result: 'warn', count }]),
    };
  },
  text: ({ count = 0 }) => countOfEmployees(count),
  advice:
    'The run leaves out employees of its pay frequency and group. Create the run without a list of employees unless this is intended. Their paychecks count as missed.',
  passed: passedIfRegular(
    'An off-cycle run names its employees.',
    'The run includes every employee of its pay frequency and group.',
  ),
};

export const CONTRADICTED: RunCheck = {
  id: 'termination-contradicted',
  title: 'A census contradicts a termination',
  severity: 'warn',
  detail: NAMED_ONCE,
  look: ({ run, previous }) =>
    each(({ employee: { employeeId, employment, jobAt } }) => {
      const date = contradictedOn(employment, run);
      if (date === null) return NONE;
      const before = previous === null ? undefined : jobAt(previous, previous.position).employment;
      const wasNamed = previous !== null && contradictedOn(before, previous.run) === date;
      return [{ employee_id: employeeId, date, ids: [date], wasNamed, result: 'warn' }];
    }),
  text: ({ employee_id }) => String(employee_id),
  advice:
    'A census lists these employees after their termination, so they count as employed. Correct the census or report the termination again.',
  passed: 'No census contradicts a termination that no earlier run named.',
  fixed: { at: 'census', query: {} },
};

function contradictedOn(employment: Employment | undefined, { period_end }: Run): string | null {
  return employment === undefined ? null : (spellOn(employment, period_end)?.contradicted_on ?? null);
}

export const ABSENT: RunCheck = {
  id: 'absent-from-census',
  title: 'Employees are missing from the newest census',
  severity: 'warn',
  look: () =>
    each(({ employee: { employeeId, employment, termination }, lines, regular }) => {
      if (lines.length === 0 || termination !== null) return NONE;
      if (employment === undefined || !isAbsentNow(employment)) return NONE;
      const ids = regular.map(({ account }) => account.deduction_id);
      return [{ employee_id: employeeId, ids, result: 'warn' }];
    }),
  advice:
    'These employees have deductions, but the newest census does not list them. Correct the census, or report their termination.',
  passed: 'Every employee with a line is in the newest census.',
};

/** Reports changes of pay frequency or employer within the year: "A change of pay frequency" in docs/payroll-settings.md. */
export const FREQUENCY_MOVED: RunCheck = {
  id: 'frequency-moved',
  title: 'Employees changed their pay frequency or employer',
  severity: 'warn',
  look: (computation) =>
    each(({ employee, lines }) => {
      const date = lines.length === 0 ? null : movedOn(computation, employee);
      return date === null ? NONE : [{ employee_id: employee.employeeId, date, ids: [date], result: 'warn' }];
    }),
  text: ({ employee_id, date }) => `${employee_id}: since ${date}`,
  advice:
    'This is the first paycheck of these employees since the change. Check the amounts of this month: the old and the new paychecks may take more or less than a month.',
  passed: 'No employee of the run came from another pay frequency or employer since the last run.',
  fixed: { docs: 'payroll-settings.md#a-change-of-pay-frequency' },
};

/**
 * Returns the day of the year on which an employee of the run came from another pay frequency or employer, if the run is the
 * first one since; else null.
 */
function movedOn({ run, earlier }: Computation, employee: RunEmployee): string | null {
  const { membership, employment, employments } = employee;
  if (run.kind !== 'regular' || !membership.isIn || employment === undefined) return null;
  // Most employees have one report.
  if (employments.length === 1 && employment.reports.length === 1) return null;
  const days = [
    frequencySince(employment, run.period_end),
    employerSince(employment, employee, run.period_end),
  ];
  const moved = days
    .flatMap((day) => day ?? [])
    .sort()
    .at(-1);
  if (moved === undefined || yearOf(moved) !== yearOf(run.pay_date)) return null;
  const hasRunSince = earlier.some(
    (check) =>
      !check.isVoided &&
      check.run.kind === 'regular' &&
      check.run.pay_frequency === run.pay_frequency &&
      check.run.period_end >= moved &&
      check.run.pay_date < run.pay_date &&
      wasInRun(check, employee),
  );
  return hasRunSince ? null : moved;
}

function frequencySince(employment: Employment, day: string): string | null {
  const since = valueSince(employment, 'pay_frequency', day);
  if (since === null) return null;
  const [now, before] = [day, dayBefore(since)].map((date) => valueOn(employment, 'pay_frequency', date));
  return now === before ? null : since;
}

/** Returns the hire of an employee who had another employer until then. */
function employerSince(employment: Employment, { employments }: RunEmployee, day: string): string | null {
  const hired = spellOn(employment, day)?.hire_date ?? null;
  if (hired === null) return null;
  const isElsewhere = (other: Employment): boolean =>
    other !== employment &&
    !isInSpell(other, day) &&
    other.spells.some(
      ({ termination_date }) => termination_date !== null && yearOf(termination_date) === yearOf(hired),
    );
  return employments.some(isElsewhere) ? hired : null;
}

export const TRANSFER_UNKNOWN: RunCheck = {
  id: 'transfer-unknown',
  title: 'The last paycheck at another employer is unknown',
  severity: 'warn',
  detail: NAMED_ONCE,
  look: ({ transfers, previous }) =>
    each(({ employee: { employeeId, inPrevious }, lines }) => {
      const date = lines.length === 0 ? null : leftForUnknown(transfers, employeeId);
      if (date === null) return NONE;
      const wasNamed =
        previous !== null &&
        inPrevious.lines.length > 0 &&
        leftForUnknown(previous.transfers, employeeId) === date;
      return [{ employee_id: employeeId, date, ids: [date], wasNamed, result: 'warn' }];
    }),
  text: ({ employee_id, date }) => `${employee_id}: left on ${date}`,
  advice:
    'These employees came from another employer that has neither a pay schedule nor a finalized run for their last day there. If it still takes a deduction, both employers take it: override the lines of this run.',
  passed:
    'The last paycheck at the other employer is known of all transferred employees that no earlier run named.',
};

/** Returns the day on which an employee left another employer whose last paycheck is unknown, or null. */
function leftForUnknown(transfers: RunTerms['transfers'], employeeId: string): string | null {
  return transfers.get(employeeId)?.find(({ until }) => until === null)?.left_on ?? null;
}
