/** Sets pay schedules year by year, and keeps the pay dates of finalized runs ("Pay schedules" in docs/payroll-settings.md). */
import type { Trx } from '../../database/tables.ts';
import { AppError } from '../../errors.ts';
import type { Acting } from '../../security/audit.ts';
import { exampleOf } from '../calculation/amounts.ts';
import { PERIOD_CLASSES, sharesLeavingRest } from '../calculation/calendar.ts';
import { yearOf } from '../calculation/pay-dates.ts';
import { ranDates } from '../compute/calendar.ts';
import { regularRunsOf } from '../records/runs.ts';
import { lockPayroll } from '../settings/lock.ts';
import {
  inOrder,
  inYear,
  putSchedules,
  readSchedules,
  type Schedule,
  withDates,
  type YearSchedules,
} from '../settings/schedules.ts';

/** Run ids that an error names: enough to find the cause. */
const RUNS_NAMED = 20;

/**
 * Replaces the pay dates of a year, for all frequencies and groups; without schedules, the year has none. Other years stay.
 * Throws SCHEDULE_IN_USE if a finalized run would lose its pay date, and SCHEDULE_LEAVES_REST if no pay date is left for the
 * rest of the year, unless the caller says so.
 */
export async function putScheduleYear(
  trx: Trx,
  employerId: string,
  year: string,
  { schedules, untaken }: YearSchedules,
  acting: Acting,
  action: 'schedule.put' | 'schedule.delete' = 'schedule.put',
): Promise<void> {
  await lockPayroll(trx);
  const before = await readSchedules(trx, employerId);
  if (action === 'schedule.delete' && before.length === 0) return;
  const after = replaced(before, schedules, year);
  await assertDatesKept(trx, employerId, { year, before, after });
  if (!untaken) await assertRestTaken(trx, employerId, year, inYear(after, year));
  await putSchedules(trx, employerId, after, acting, action);
}

function replaced(before: readonly Schedule[], schedules: readonly Schedule[], year: string): Schedule[] {
  const merged = withDates(before, (date) => yearOf(date) !== year);
  for (const schedule of schedules) {
    const { pay_frequency, pay_group, year_in_fewer_checks, pay_dates } = schedule;
    const kept = merged.find(
      (other) =>
        other.pay_frequency === pay_frequency &&
        other.pay_group === pay_group &&
        other.year_in_fewer_checks === year_in_fewer_checks,
    );
    if (kept === undefined) merged.push(schedule);
    else kept.pay_dates = inOrder([...kept.pay_dates, ...pay_dates]);
  }
  return merged;
}

type YearChange = { year: string; before: readonly Schedule[]; after: readonly Schedule[] };

/** A run without a group must keep its date in every list of its frequency; other runs in the list of their group. */
async function assertDatesKept(
  trx: Trx,
  employerId: string,
  { year, before, after }: YearChange,
): Promise<void> {
  const runs = await regularRunsOf(trx, employerId);
  const lacksDate = runs.filter(({ pay_frequency, pay_group, pay_date }) => {
    if (yearOf(pay_date) !== year) return false;
    const listsOf = (schedules: readonly Schedule[]) => {
      const ofFrequency = inYear(schedules, year).filter(
        (schedule) => schedule.pay_frequency === pay_frequency,
      );
      if (pay_group === null) return ofFrequency;
      const ofGroup = ofFrequency.filter((schedule) => schedule.pay_group === pay_group);
      return ofGroup.length > 0 ? ofGroup : ofFrequency.filter((schedule) => schedule.pay_group === null);
    };
    const takesOf = ({ pay_dates }: Schedule) =>
      pay_dates.find((date) => date.pay_date === pay_date)?.takes ?? null;
    const taken = listsOf(before).map(takesOf);
    const lists = listsOf(after).map(takesOf);
    if (lists.length === 0) return taken.some((takes) => takes !== null);
    return lists.some(
      (takes) => takes === null || (!taken.includes(takes) && taken.some((was) => was !== null)),
    );
  });
  if (lacksDate.length === 0) return;
  const named = lacksDate.slice(0, RUNS_NAMED).map(({ run_id, pay_date }) => `${run_id} (${pay_date})`);
  const more = lacksDate.length > RUNS_NAMED ? ` and ${lacksDate.length - RUNS_NAMED} more` : '';
  throw new AppError(
    'SCHEDULE_IN_USE',
    `The pay schedule must keep the pay dates of finalized runs, with what they take: ${named.join(', ')}${more}. To change a date, void its run first.`,
  );
}

/** Throws if every date of a list that takes has a finalized run, and they leave a part of the year. */
async function assertRestTaken(
  trx: Trx,
  employerId: string,
  year: string,
  schedules: readonly Schedule[],
): Promise<void> {
  const regular = await regularRunsOf(trx, employerId);
  for (const schedule of schedules) {
    const { pay_frequency, pay_group } = schedule;
    const ran = await ranDates(trx, regular, schedule, year);
    for (const periods of PERIOD_CLASSES) {
      const shares = sharesLeavingRest(schedule, pay_frequency, ran, periods);
      if (shares === null) continue;
      const { rest, total } = exampleOf(shares, pay_frequency);
      const of = `the ${pay_frequency} pay dates${pay_group === null ? '' : ` of ${pay_group}`}`;
      throw new AppError(
        'SCHEDULE_LEAVES_REST',
        `No pay date is left for the rest of ${year} in ${of}: of 150.00 a month, ${rest} of ${total} would not be taken. Add a pay date, or state "untaken": true.`,
      );
    }
  }
}
