/**
 * Regular runs of several employers (of all if `employers` is null) for the list of payrolls that are due. Only `finalFigures`
 * reads the frozen columns.
 */
import { sql } from 'kysely';
import { isOneOf, isOneOfOrAny } from '../../database/bulk.ts';
import type { Db, RunState } from '../../database/tables.ts';
import { frozenOutcomeOf } from './outcome.ts';
import { totalsOf } from './totals.ts';

type Employers = readonly string[] | null;

/** Returns the latest finalized pay date of each employer, pay frequency and pay group. */
export async function lastPayDates(db: Db, employers: Employers) {
  const { rows } = await sql<{
    employer_id: string;
    pay_frequency: string;
    pay_group: string;
    pay_date: string;
  }>`select employer_id, pay_frequency, coalesce(pay_group, '') as pay_group, max(pay_date) as pay_date
    from payroll_runs where state = 'finalized' and kind = 'regular' and ${isOneOfOrAny(db, 'employer_id', employers)}
    group by employer_id, pay_frequency, coalesce(pay_group, '')`.execute(db);
  return rows.map((row) => ({ ...row, pay_group: row.pay_group === '' ? null : row.pay_group }));
}

const PAYROLL = ['run_id', 'employer_id', 'pay_frequency', 'pay_group', 'pay_date', 'state'] as const;

function regularRuns(db: Db, employers: Employers, state: RunState) {
  return db
    .selectFrom('payroll_runs')
    .select(PAYROLL)
    .where('state', '=', sql.lit(state))
    .where('kind', '=', sql.lit('regular'))
    .where(isOneOfOrAny(db, 'employer_id', employers));
}

/** Returns the open regular runs, and the finalized ones with a pay date on or after a day. */
export async function currentRegularRuns(db: Db, employers: Employers, day: string) {
  const open = await regularRuns(db, employers, 'open').execute();
  const finalized = regularRuns(db, employers, 'finalized').where('pay_date', '>=', day);
  return [...open, ...(await finalized.execute())];
}

/** Returns the voided regular runs of employers on pay dates, or on any if `payDates` is null, in no order. */
export async function voidedRegularRuns(
  db: Db,
  employers: readonly string[],
  payDates: readonly string[] | null,
) {
  if (employers.length === 0) return [];
  return regularRuns(db, employers, 'voided')
    .select('voided_at')
    .where(isOneOfOrAny(db, 'pay_date', payDates))
    .execute();
}

/** Returns the figures of finalized runs by run id. */
export async function finalFigures(db: Db, runIds: readonly string[]) {
  const query = db.selectFrom('payroll_runs').select(['run_id', 'totals', 'outcome']);
  const rows = runIds.length === 0 ? [] : await query.where(isOneOf(db, 'run_id', runIds)).execute();
  return new Map(
    rows.map((row) => {
      const { employees, comparison } = frozenOutcomeOf(row);
      const { lines, member_amount, employer_amount } = totalsOf(row);
      const member_difference = comparison?.totals.member_difference ?? null;
      return [row.run_id, { employees, lines, member_amount, employer_amount, member_difference }] as const;
    }),
  );
}
