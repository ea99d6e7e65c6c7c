import { sql } from 'kysely';
import { engineOf, forUpdate } from '../database/engine.ts';
import type { Db, Trx } from '../database/tables.ts';

/**
 * Returns a query for the one row of `ledger_head`. Each batch updates it, and PostgreSQL keeps every version of it
 * while an older snapshot is open. Read from the end of its index, the current version is among the first.
 */
export function ledgerHead(db: Db | Trx) {
  return db.selectFrom('ledger_head').select('position').orderBy('id', 'desc').limit(sql.lit(1));
}

/** Returns the newest position, read without the lock. */
export async function readPosition(db: Db | Trx): Promise<number> {
  return (await ledgerHead(db).executeTakeFirstOrThrow()).position;
}

/** Locks the ledger and returns its newest position. Every writer does so first: positions follow commit order. */
export async function lockLedger(trx: Trx): Promise<number> {
  return (await forUpdate(trx, ledgerHead(trx)).executeTakeFirstOrThrow()).position;
}

/** Stores the newest position. Call it only after `lockLedger` in the same transaction. */
export async function moveLedger(trx: Trx, position: number): Promise<void> {
  if (engineOf(trx) === 'sqlite') {
    await trx.updateTable('ledger_head').set({ position }).execute();
    return;
  }
  // Updates by physical location. By key, PostgreSQL would read every dead row version (`ledgerHead`).
  await sql`update ledger_head set position = ${position}
    where ctid = (select ctid from ledger_head order by id desc limit 1)`.execute(trx);
}
