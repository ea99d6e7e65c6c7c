/** The settlements of a run: one row per line that takes an open item, and one per share of a final check. */
import { type Selectable, sql } from 'kysely';
import { insertMany, isOneOf } from '../../database/bulk.ts';
import type { Db, Tables, Trx } from '../../database/tables.ts';
import { amountOf } from '../../money.ts';
import type { Line } from '../calculation/line.ts';

export type Settlement = Selectable<Tables['run_settlements']>;

/** Returns the rows of an employee's lines. */
export function settlementsOf(freeze_id: string, lines: readonly Line[]): Settlement[] {
  return lines.flatMap(({ account, amounts, settles, shares }): Settlement[] => {
    // Most lines settle nothing.
    if (settles === null && shares === null) return [];
    const of = { freeze_id, employee_id: account.employee_id, deduction_id: account.deduction_id };
    if (settles === null) {
      const share = { ...of, kind: 'share' as const, earlier_run_id: null };
      return (shares ?? []).map(({ pay_date, ...taken }) => ({ ...share, settles: pay_date, ...taken }));
    }
    const item: Settlement = {
      ...{ ...of, kind: 'item', settles: settles.item_id as string, earlier_run_id: settles.adjustment_for },
      member_amount: amountOf(amounts.member),
      employer_amount: amountOf(amounts.employer),
    };
    return [item];
  });
}

const COLUMNS = [
  'freeze_id',
  'employee_id',
  'kind',
  'settles',
  'deduction_id',
  'earlier_run_id',
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

/** Returns which open items of employees final runs and freezes took, in no order. */
export function itemSettlementsOf(db: Db | Trx, employees: readonly string[]): Promise<Settlement[]> {
  return db
    .selectFrom('run_settlements')
    .selectAll()
    .where(isOneOf(db, 'employee_id', employees))
    .where('kind', '=', sql.lit('item'))
    .execute();
}

/** Returns which of these freezes took an open item. */
export async function freezesTakingItems(db: Db | Trx, freezeIds: readonly string[]): Promise<Set<string>> {
  if (freezeIds.length === 0) return new Set();
  const rows = await db
    .selectFrom('run_settlements')
    .select('freeze_id')
    .distinct()
    .where(isOneOf(db, 'freeze_id', freezeIds))
    .where('kind', '=', sql.lit('item'))
    .execute();
  return new Set(rows.map(({ freeze_id }) => freeze_id));
}

/** Returns the shares that final checks took under these freezes; of `only` these employees. `settles`: the pay date. */
export async function sharesUnder(
  db: Db | Trx,
  freezeIds: readonly string[],
  only: readonly string[] | null,
): Promise<{ freeze_id: string; employee_id: string; deduction_id: string; settles: string }[]> {
  if (freezeIds.length === 0) return [];
  return db
    .selectFrom('run_settlements')
    .select(['freeze_id', 'employee_id', 'deduction_id', 'settles'])
    .where(isOneOf(db, 'freeze_id', freezeIds))
    .$if(only !== null, (query) => query.where(isOneOf(db, 'employee_id', only as readonly string[])))
    .where('kind', '=', sql.lit('share'))
    .orderBy('settles')
    .orderBy('freeze_id')
    .orderBy('deduction_id')
    .execute();
}

/** Returns the finalized runs that settled an amount of a run, in the order of their pay dates. */
export async function settledBy(db: Db | Trx, runId: string): Promise<string[]> {
  const settlers = await db
    .selectFrom('payroll_runs')
    .select('run_id')
    .where('state', '=', sql.lit('finalized'))
    .where('freeze_id', 'in', (eb) =>
      eb.selectFrom('run_settlements').select('freeze_id').where('earlier_run_id', '=', runId),
    )
    .orderBy('pay_date')
    .orderBy('run_id')
    .execute();
  return settlers.map(({ run_id }) => run_id);
}
