/** The calendar of a run: the pay dates of its employer's schedule, with their shares ("Pay dates" in docs/payroll-settings.md). */
import type { Db, Trx } from '../../database/tables.ts';
import { AppError, type Problem, refused } from '../../errors.ts';
import { type Calendar, calendarOf, type RanDate } from '../calculation/calendar.ts';
import { nearestDates, yearOf } from '../calculation/pay-dates.ts';
import { basesOf, type StoredBasis } from '../records/basis.ts';
import type { RunBody } from '../records/body.ts';
import type { regularRunsOf } from '../records/runs.ts';
import type { Schedule } from '../settings/schedules.ts';

/** Returns the error of a run that cannot be computed as requested. Each problem names a field. */
export function runRefused(...problems: readonly Problem[]): AppError<'RUN_REFUSED'> {
  return refused('RUN_REFUSED', problems);
}

/** Returns the schedule of a frequency and pay group, else that of the frequency without a group, else null. */
export function scheduleOf<List extends Pick<Schedule, 'pay_frequency' | 'pay_group'>>(
  { pay_frequency, pay_group }: { pay_frequency: string | null; pay_group: string | null },
  schedules: readonly List[],
): List | null {
  const ofFrequency = schedules.filter((schedule) => schedule.pay_frequency === pay_frequency);
  const ofGroup = (group: string | null) => ofFrequency.find((schedule) => schedule.pay_group === group);
  return ofGroup(pay_group) ?? ofGroup(null) ?? null;
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

type Payees = Pick<RunBody, 'pay_frequency'> & { pay_group: string | null };

type RegularRun = Awaited<ReturnType<typeof regularRunsOf>>[number];

/**
 * Returns those of an employer's finalized regular runs that are of a frequency, a group and a year, with the calendars that they
 * froze.
 */
export async function ranDates(
  db: Db | Trx,
  regular: readonly RegularRun[],
  payees: Payees,
  year: string,
): Promise<RanDate[]> {
  const runs = regular.filter(
    ({ pay_frequency, pay_group, pay_date }) =>
      pay_frequency === payees.pay_frequency && pay_group === payees.pay_group && yearOf(pay_date) === year,
  );
  const bases = await basesOf(
    db,
    runs.map(({ run_id }) => run_id),
  );
  return runs.map(({ run_id, pay_date }) => ({
    pay_date,
    calendar: bases.get(run_id)?.basis.calendar ?? null,
  }));
}

/** Throws RUN_GROUPS_MIXED if finalized runs of the frequency and year have pay groups and this one has none, or the reverse. */
export function assertOneKindOfGroups(
  regular: readonly RegularRun[],
  { pay_frequency, pay_group }: Payees,
  year: string,
): void {
  const mixed = regular.find(
    (run) =>
      run.pay_frequency === pay_frequency &&
      yearOf(run.pay_date) === year &&
      (run.pay_group === null) !== (pay_group === null),
  );
  if (mixed === undefined) return;
  const [has, must] =
    mixed.pay_group === null ? ['has no pay group', 'must have none'] : ['has a pay group', 'must have one'];
  throw new AppError(
    'RUN_GROUPS_MIXED',
    `The finalized run ${mixed.run_id} ${has}, so every ${pay_frequency} run of ${year} ${must}. Change pay_group, or void that run.`,
  );
}

/** Returns the calendar of a run under the schedules of its year; null without a list. Throws RUN_REFUSED. */
export function calendarUnder(
  run: Pick<RunBody, 'kind' | 'pay_frequency' | 'pay_date'> & { pay_group: string | null },
  schedules: readonly Schedule[],
  ran: readonly RanDate[],
): Calendar | null {
  const schedule = scheduleOf(run, schedules);
  if (schedule === null) return null;
  const dates = schedule.pay_dates.map(({ pay_date }) => pay_date);
  if (run.kind === 'regular' && !dates.includes(run.pay_date)) {
    const nearest = nearestDates(dates, run.pay_date).join(' and ');
    const rule = `must be a date of the pay schedule; next to ${run.pay_date} are ${nearest}`;
    throw runRefused({ path: 'pay_date', rule });
  }
  return calendarOf(schedule, run.pay_frequency, ran);
}
