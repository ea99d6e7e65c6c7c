/** Checks of a run against the employer's finalized runs of its frequency and pay group: calendar, policy, pay dates. */
import { sql } from 'kysely';
import type { Db } from '../database/tables.ts';
import { yearOf } from '../payroll/calculation/pay-dates.ts';
import { planOf } from '../payroll/calculation/plan.ts';
import { type Basis, planOfBasis } from '../payroll/runs/basis.ts';
import { frozenRuns } from '../payroll/runs/compute.ts';
import { FOUND_AT_MOST, type Found, fail } from './findings.ts';
import type { RunQuestion } from './run-findings.ts';

/** Fails if today's pay dates give the previous run of the year another N or k than the run froze. */
export async function calendarDiffers(db: Db, { basis }: RunQuestion): Promise<Found[]> {
  const previous = await previousOfYear(db, basis);
  if (previous === null) return [];
  const frozen = planOfBasis(previous.basis);
  const { dates } = planOfBasis(basis);
  const today = planOf({ ...previous.basis.run, pay_dates: dates, period_ends: null }, null);
  const { pay_date } = previous.basis.run;
  const was = `${previous.run_id} was check ${frozen.k ?? '?'} of ${frozen.N}`;
  if (!today.ok) return [fail(`${was}; ${pay_date} is not a pay date today`)];
  const { k, N } = today.plan;
  return k === frozen.k && N === frozen.N ? [] : [fail(`${was}; today it is check ${k ?? '?'} of ${N}`)];
}

/** Warns if the previous run of the year has another scheme or remainder. */
export async function policyDiffers(db: Db, { basis }: RunQuestion): Promise<Found[]> {
  const previous = await previousOfYear(db, basis);
  if (previous === null) return [];
  return (['scheme', 'remainder'] as const)
    .filter((option) => previous.basis.run[option] !== basis.run[option])
    .map((option) => ({
      example: `${option} ${basis.run[option]}; ${previous.run_id} has ${previous.basis.run[option]}`,
      result: 'warn',
    }));
}

/** Fails for each earlier pay date of the year, since the first finalized regular run, that has no finalized run. */
export async function payDateSkipped(db: Db, { basis }: RunQuestion): Promise<Found[]> {
  const { run } = basis;
  const { dates, calendarAssumed } = planOfBasis(basis);
  if (run.kind === 'off_cycle' || dates === null || calendarAssumed) return [];
  const finalized = await db
    .selectFrom('payroll_runs')
    .select('pay_date')
    .where('employer_id', '=', run.employer_id)
    .where('state', '=', sql.lit('finalized'))
    .where('kind', '=', sql.lit('regular'))
    .where('pay_frequency', '=', run.pay_frequency)
    .where((where) =>
      where.or([
        where('pay_group', 'is', null),
        ...(run.pay_group === null ? [] : [where('pay_group', '=', run.pay_group)]),
      ]),
    )
    .orderBy('pay_date')
    .execute();
  const first = finalized[0]?.pay_date;
  if (first === undefined) return [];
  const paid = new Set(finalized.map(({ pay_date }) => pay_date));
  return dates
    .filter((date) => date > first && date < run.pay_date && !paid.has(date))
    .slice(0, FOUND_AT_MOST)
    .map((date) => ({ ...fail(date), ids: [date] }));
}

/** Returns the last finalized regular run before this one, of the same frequency, pay group and calendar year. */
async function previousOfYear(db: Db, { run, previous }: Basis) {
  if (previous === null || run.kind === 'off_cycle') return null;
  const [frozen] = await frozenRuns(db, [previous]);
  return frozen !== undefined && yearOf(frozen.basis.run.pay_date) === yearOf(run.pay_date) ? frozen : null;
}
