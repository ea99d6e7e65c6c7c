/** The calendar of a run: by its own pay dates, or by its employer's pay schedules ("Pay dates" in docs/amounts.md). */
import { AppError, type Problem } from '../../errors.ts';
import { type Plan, planOf } from '../calculation/plan.ts';
import type { StoredBasis } from '../records/basis.ts';
import type { Run } from '../records/body.ts';
import type { Schedule } from '../settings/schedules.ts';

/** Returns the error of a run that cannot be computed as requested. Each problem names a field. */
export function runRefused(...problems: readonly Problem[]): AppError<'RUN_REFUSED'> {
  return new AppError('RUN_REFUSED', 'the run cannot be computed', { problems });
}

/**
 * Returns the schedule of a run's pay group. A group without a schedule uses the schedule that names no
 * group, and a run without a group uses the only schedule of its frequency. Null if there is none, or several are possible.
 */
export function scheduleOf<List extends Pick<Schedule, 'pay_frequency' | 'pay_group'>>(
  { pay_frequency, pay_group }: { pay_frequency: string | null; pay_group: string | null },
  schedules: readonly List[],
): List | null {
  const ofFrequency = schedules.filter((schedule) => schedule.pay_frequency === pay_frequency);
  const ofGroup = (group: string | null) => ofFrequency.find((schedule) => schedule.pay_group === group);
  const schedule = ofGroup(pay_group) ?? ofGroup(null);
  if (schedule !== undefined) return schedule;
  return pay_group === null && ofFrequency.length === 1 ? (ofFrequency[0] as List) : null;
}

/**
 * Reports whether a schedule has a frequency and pay group. A schedule without a group has all groups; an unknown
 * frequency (null) matches any schedule.
 */
export function isScheduled(
  schedules: StoredBasis['schedules'],
  frequency: string | null,
  group: string | null,
): boolean {
  return schedules.some(
    ({ pay_frequency, pay_group }) =>
      (frequency === null || pay_frequency === frequency) && (pay_group ?? group) === group,
  );
}

/** Returns the plan of a run under its employer's schedules. Throws RUN_REFUSED. */
export function planWith(run: Run, schedules: readonly Schedule[]): Plan {
  const schedule = scheduleOf(run, schedules);
  const hasSchedules = schedules.some(({ pay_frequency }) => pay_frequency === run.pay_frequency);
  if (schedule === null && run.pay_group === null && run.pay_dates === null && hasSchedules) {
    // Each group has its own pay dates, and assumed dates would ignore them.
    throw runRefused({
      path: 'pay_group',
      rule: 'is required unless pay_dates is given: the employer has several pay schedules of this frequency, each for a pay group',
    });
  }
  return planned(planOf(run, schedule?.pay_dates ?? null));
}

/** Returns the plan of a run whose basis is resolved. */
export function planOfBasis({
  run,
  pay_dates,
  period_ends,
}: Pick<StoredBasis, 'run' | 'pay_dates' | 'period_ends'>): Plan {
  return planned(planOf({ ...run, pay_dates, period_ends }, null));
}

function planned(result: ReturnType<typeof planOf>): Plan {
  if (!result.ok) throw runRefused(result.problem);
  return result.plan;
}
