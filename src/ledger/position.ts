import { forUpdate } from '../database/engine.ts';
import type { Trx } from '../database/tables.ts';

/**
 * Locks the ledger for the rest of the transaction and answers the position of its newest entry. Whoever writes
 * versions or roster facts calls this first: positions then follow commit order, without gaps.
 */
export async function lockLedger(trx: Trx): Promise<number> {
  const head = await forUpdate(
    trx,
    trx.selectFrom('ledger_head').select('position'),
  ).executeTakeFirstOrThrow();
  return head.position;
}

/** Moves the head to the newest entry's position. Only after `lockLedger` in the same transaction. */
export async function moveLedger(trx: Trx, position: number): Promise<void> {
  await trx.updateTable('ledger_head').set({ position }).execute();
}
