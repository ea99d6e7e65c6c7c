/** The employees with a deduction in effect who are not in a regular run. Pure. */
import type { PayFrequency } from '../../contract/employee.ts';
import { type Employment, valueOn } from '../../ledger/employment.ts';
import type { RunOutcome } from '../records/outcome.ts';
import { isScheduled } from './calendar.ts';
import type { Computation, RunEmployee } from './computation.ts';

/** Employees named in `not_in_run`: more than an employer usually has without a schedule. */
const NAMED_AT_MOST = 10_000;

type OnOtherSchedule = RunOutcome['on_other_schedules'][number];

/** Collects employees who are not in the run: those on another pay schedule are only counted. */
export function createNotInRun({ run, basis }: Computation) {
  const named: RunOutcome['not_in_run'] = [];
  const onOtherSchedules = new Map<string, OnOtherSchedule>();
  let count = 0;

  /** Returns the frequency and pay group of an employee whom another schedule of the employer pays. */
  const otherScheduleOf = (employee: RunEmployee) => {
    const { membership } = employee;
    if (membership.isIn || !['other_frequency', 'other_pay_group'].includes(membership.why)) return null;
    const employment = employee.employment as Employment;
    // An employee of unknown frequency is paid by the employer's only schedule.
    const pay_frequency = valueOn(employment, 'pay_frequency', run.period_end) ?? run.pay_frequency;
    const pay_group = valueOn(employment, 'pay_group', run.period_end);
    return isScheduled(basis.schedules, pay_frequency, pay_group)
      ? { pay_frequency: pay_frequency as PayFrequency, pay_group }
      : null;
  };

  return {
    add(employee: RunEmployee): void {
      const { employeeId, membership } = employee;
      if (run.kind !== 'regular' || membership.isIn || membership.why === 'other_employer') return;
      const other = otherScheduleOf(employee);
      if (other !== null) {
        const key = JSON.stringify(Object.values(other));
        const counted = onOtherSchedules.get(key) ?? { ...other, employees: 0 };
        counted.employees += 1;
        onOtherSchedules.set(key, counted);
        return;
      }
      count += 1;
      if (named.length < NAMED_AT_MOST) named.push({ employee_id: employeeId, reason: membership.why });
    },
    outcome(): Pick<RunOutcome, 'not_in_run' | 'not_in_run_count' | 'on_other_schedules'> {
      return {
        not_in_run: named,
        not_in_run_count: count,
        on_other_schedules: [...onOtherSchedules]
          .sort(([key], [other]) => (key < other ? -1 : 1))
          .map(([, counted]) => counted),
      };
    },
  };
}
