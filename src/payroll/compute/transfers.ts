/** Employees who came from another employer, which still pays a last check: "A transfer" in docs/employment-changes.md#the-roster. */
import type { Db, Trx } from '../../database/tables.ts';
import { type Employment, employmentsOf, valueOn } from '../../ledger/employment.ts';
import { employeesOfSeveral, rosterOf } from '../../ledger/roster.ts';
import { yearBefore, yearOf } from '../calculation/pay-dates.ts';
import type { Transfer } from '../records/basis.ts';
import type { Run, RunDates } from '../records/body.ts';
import { finalizedRunOver } from '../records/runs.ts';
import { acrossYears, inYearOrBefore, readSchedules, type Schedule } from '../settings/schedules.ts';
import { scheduleOf } from './calendar.ts';
import { employmentAt, lastsAfter, paysUntil } from './population.ts';

/**
 * Returns the employees of a run's employer who left another one since the beginning of two years before its pay date, with
 * the last pay date there; null if neither a schedule nor a run of the other employer has it. Who gets no last check there, as
 * after a rehire in the same pay period, did not leave. A check of the year before may be missed.
 */
export async function transfersTo(
  db: Db | Trx,
  { employer_id, pay_date }: Pick<Run, 'employer_id' | 'pay_date'>,
): Promise<Transfer[]> {
  const ids = await employeesOfSeveral(db, employer_id);
  if (ids.length === 0) return [];
  const oldest = yearBefore(yearBefore(yearOf(pay_date)));
  const transfers: Transfer[] = [];
  const schedules = new Map<string, Schedule[]>();
  const schedulesOf = async (employerId: string): Promise<Schedule[]> => {
    const known = schedules.get(employerId) ?? (await readSchedules(db, employerId));
    schedules.set(employerId, known);
    return known;
  };
  for (const [employee_id, reports] of await rosterOf(db, ids)) {
    const employments = employmentsOf(reports);
    const joined = employmentAt(employments, { employer_id });
    for (const { employer_id: former, spells, reports } of employments) {
      if (former === employer_id || joined === undefined) continue;
      for (const { termination_date: left } of spells) {
        if (left === null || yearOf(left) < oldest || !lastsAfter(joined, left)) continue;
        const last = await lastCheck(db, { employer_id: former, reports }, left, await schedulesOf(former));
        if (last !== null && !paysUntil(employments, { ...last, employer_id: former }, left)) continue;
        transfers.push({ employee_id, left_on: left, until: last?.pay_date ?? null });
      }
    }
  }
  return transfers.sort((one, other) => (keyOf(one) < keyOf(other) ? -1 : 1));
}

function keyOf({ employee_id, left_on }: Transfer): string {
  return `${employee_id} ${left_on}`;
}

/**
 * Returns the pay date and the period with the last day of an employment, by the employer's schedule, else by its run. With
 * several schedules, no run includes an employee of unknown frequency.
 */
async function lastCheck(
  db: Db | Trx,
  employment: Pick<Employment, 'employer_id' | 'reports'>,
  left: string,
  schedules: readonly Schedule[],
): Promise<RunDates | null> {
  const ofYear = inYearOrBefore(schedules, yearOf(left));
  const stated = valueOn(employment, 'pay_frequency', left);
  if (stated === null && ofYear.length > 1) return null;
  const pay_frequency = stated ?? ofYear[0]?.pay_frequency ?? null;
  const payees = { pay_frequency, pay_group: valueOn(employment, 'pay_group', left) };
  const date = scheduleOf(payees, acrossYears(schedules))?.pay_dates.find(
    ({ period_start, period_end }) => period_start <= left && left <= period_end,
  );
  return date ?? finalizedRunOver(db, { employer_id: employment.employer_id, ...payees }, left);
}
