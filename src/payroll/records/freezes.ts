/**
 * Freezes: the lines of a run while they are being written. Each page and the step that makes the run final lock the
 * freeze's row and need its state `writing`. A clean-up that takes it for abandoned, because its process died, took too
 * long or a clock was changed, marks the row first: the run then stays open, and its caller tries again.
 */
import { sql } from 'kysely';
import { ago } from '../../checks.ts';
import { isOneOf } from '../../database/bulk.ts';
import { forUpdate, type SharedNow } from '../../database/engine.ts';
import type { Db, Trx } from '../../database/tables.ts';
import { transact } from '../../database/transaction.ts';
import { AppError } from '../../errors.ts';
import { type Input, insertInputs } from './inputs.ts';

/** The longest time between two pages: each is computed and written in milliseconds, or seconds on a busy machine. */
const LEFT_BEHIND_MS = 60 * 60 * 1000;

/** Begins a freeze with the inputs of its run. */
export async function beginFreeze(
  trx: Trx,
  freeze_id: string,
  inputs: readonly Input[],
  sharedNow: SharedNow,
): Promise<void> {
  const renewed_at = (await sharedNow(trx)).toISOString();
  await trx.insertInto('run_freezes').values({ freeze_id, state: 'writing', renewed_at }).execute();
  await insertInputs(trx, freeze_id, inputs);
}

/** The tables whose rows are written under a freeze. */
export const FROZEN = ['run_employees', 'run_settlements', 'run_inputs'] as const;

/** Returns how many rows are written under a freeze. */
export async function countFrozen(trx: Trx, freezeId: string): Promise<number> {
  let rows = 0;
  for (const table of FROZEN) {
    const counts = trx.selectFrom(table).select((eb) => eb.fn.countAll().as('count'));
    rows += Number((await counts.where('freeze_id', '=', freezeId).executeTakeFirstOrThrow()).count);
  }
  return rows;
}

/** Locks a freeze until the transaction ends and renews its time. Throws ABANDONED if a clean-up has marked it. */
export async function renewFreeze(trx: Trx, freezeId: string, sharedNow: SharedNow): Promise<void> {
  const { numUpdatedRows } = await trx
    .updateTable('run_freezes')
    .set({ renewed_at: (await sharedNow(trx)).toISOString() })
    .where('freeze_id', '=', freezeId)
    .where('state', '=', 'writing')
    .executeTakeFirst();
  if (numUpdatedRows === 0n) {
    const why = 'Finalizing took too long, or a clock was changed, so the lines were removed.';
    throw new AppError('ABANDONED', `${why} The run is unchanged. Finalize it again.`);
  }
}

/** Removes the freeze of a run that is final now. The caller has locked it with `renewFreeze`. */
export async function endFreeze(trx: Trx, freezeId: string): Promise<void> {
  await trx.deleteFrom('run_freezes').where('freeze_id', '=', freezeId).execute();
}

/** Removes a freeze with its lines, unless its run is final. */
export async function abandonFreeze(db: Db, freezeId: string): Promise<void> {
  await transact(db, (trx) => markAbandoned(trx, freezeId));
  await removeRows(db, freezeId);
}

/** Removes freezes that were abandoned, or that their process left behind when it died. */
export async function removeAbandoned(db: Db, sharedNow: SharedNow): Promise<void> {
  const before = ago(await sharedNow(db), LEFT_BEHIND_MS);
  const freezes = await db
    .selectFrom('run_freezes')
    .select('freeze_id')
    .where((eb) => eb.or([eb('state', '=', 'abandoned'), eb('renewed_at', '<', before)]))
    .execute();
  for (const { freeze_id } of freezes) {
    await transact(db, (trx) => markAbandoned(trx, freeze_id, before));
    await removeRows(db, freeze_id);
  }
}

async function markAbandoned(trx: Trx, freezeId: string, before?: string): Promise<void> {
  await trx
    .updateTable('run_freezes')
    .set({ state: 'abandoned' })
    .where('freeze_id', '=', freezeId)
    .where('state', '=', 'writing')
    .$if(before !== undefined, (query) => query.where('renewed_at', '<', before as string))
    .execute();
}

/** Employees whose rows are removed in one transaction, which holds the write lock for about 5 ms. */
const EMPLOYEES_AT_ONCE = 500;

/** Removes the rows of a freeze in steps, and then the freeze, if it is abandoned. */
async function removeRows(db: Db, freezeId: string): Promise<void> {
  for (let isMore = true; isMore; ) {
    isMore = await transact(db, async (trx) => {
      const row = trx.selectFrom('run_freezes').select('state').where('freeze_id', '=', freezeId);
      if ((await forUpdate(trx, row).executeTakeFirst())?.state !== 'abandoned') return false;
      // Everyone with a settlement has lines.
      const employees = await trx
        .selectFrom('run_employees')
        .select('employee_id')
        .where('freeze_id', '=', freezeId)
        .orderBy('employee_id')
        .limit(EMPLOYEES_AT_ONCE)
        .execute();
      const ids = employees.map(({ employee_id }) => employee_id);
      for (const table of ['run_settlements', 'run_employees'] as const) {
        const rows = trx.deleteFrom(table).where('freeze_id', '=', freezeId);
        await rows.where(isOneOf(trx, 'employee_id', ids)).execute();
      }
      if (ids.length === EMPLOYEES_AT_ONCE) return true;
      await trx.deleteFrom('run_inputs').where('freeze_id', '=', freezeId).execute();
      await endFreeze(trx, freezeId);
      return false;
    });
  }
}

/** Returns the first freezes that a table has rows of, and that neither a run nor a freeze has. */
export async function freezesLeft(db: Db, table: (typeof FROZEN)[number], limit: number): Promise<string[]> {
  const { rows } = await sql<{ freeze_id: string }>`
    select distinct freeze_id from ${sql.table(table)} as frozen
    where not exists (select 1 from payroll_runs where payroll_runs.freeze_id = frozen.freeze_id)
      and not exists (select 1 from run_freezes where run_freezes.freeze_id = frozen.freeze_id)
    order by freeze_id limit ${limit}`.execute(db);
  return rows.map(({ freeze_id }) => freeze_id);
}
