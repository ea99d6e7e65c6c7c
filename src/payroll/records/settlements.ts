/** The amounts of earlier runs that a run settles: one row per adjustment or arrears line that it takes. */
import { type Insertable, sql } from 'kysely';
import { insertMany, isOneOf } from '../../database/bulk.ts';
import type { Db, Tables, Trx } from '../../database/tables.ts';
import { amountOf } from '../../money.ts';
import { isIncluded, type Line } from '../calculation/line.ts';

export type Settlement = Insertable<Tables['run_settlements']>;

/** Returns the rows of an employee's lines. */
export function settlementsOf(freeze_id: string, lines: readonly Line[]): Settlement[] {
  return lines.filter(isIncluded).flatMap((line): Settlement[] => {
    const { employee_id, kind, adjustment_for, deduction_id, line_of_coverage, taxability } = line;
    if (adjustment_for === null) return [];
    const settles = { freeze_id, employee_id, settles_kind: 'run', settles: adjustment_for } as const;
    const amounts = {
      member_amount: amountOf(line.member_amount),
      employer_amount: amountOf(line.employer_amount),
    };
    return [{ ...settles, kind, deduction_id, line_of_coverage, taxability, ...amounts }];
  });
}

const COLUMNS = [
  'freeze_id',
  'employee_id',
  'settles_kind',
  'settles',
  'kind',
  'deduction_id',
  'line_of_coverage',
  'taxability',
  'member_amount',
  'employer_amount',
] as const;

export async function insertSettlements(trx: Trx, settlements: readonly Settlement[]): Promise<void> {
  const rows = settlements.map((settlement) => COLUMNS.map((column) => settlement[column]));
  await insertMany(trx, 'run_settlements', COLUMNS, rows);
}

/** Returns the settlements of a final run. */
export function settlementsUnder(db: Db, freezeId: string): Promise<Settlement[]> {
  return db.selectFrom('run_settlements').selectAll().where('freeze_id', '=', freezeId).execute();
}

/** Returns which run each of these freezes settled something of, by employee; of `only` these employees. */
export function settledByFreezes(
  db: Db | Trx,
  freezeIds: readonly string[],
  only: readonly string[] | null,
): Promise<{ freeze_id: string; employee_id: string; settles: string }[]> {
  return db
    .selectFrom('run_settlements')
    .select(['freeze_id', 'employee_id', 'settles'])
    .distinct()
    .where(isOneOf(db, 'freeze_id', freezeIds))
    .$if(only !== null, (query) => query.where(isOneOf(db, 'employee_id', only as readonly string[])))
    .where('settles_kind', '=', sql.lit('run'))
    .execute();
}

/** Returns the finalized runs that settled an amount of a run, in the order of their pay dates. */
export async function settledBy(db: Db | Trx, runId: string): Promise<string[]> {
  const settlers = await db
    .selectFrom('payroll_runs')
    .select('run_id')
    .where('state', '=', sql.lit('finalized'))
    .where('freeze_id', 'in', (eb) =>
      eb
        .selectFrom('run_settlements')
        .select('freeze_id')
        .where('settles', '=', runId)
        .where('settles_kind', '=', sql.lit('run')),
    )
    .orderBy('pay_date')
    .orderBy('run_id')
    .execute();
  return settlers.map(({ run_id }) => run_id);
}
