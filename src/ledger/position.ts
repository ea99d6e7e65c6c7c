import { sql } from 'kysely';
import { engineOf, forUpdate } from '../database/engine.ts';
import type { Db, Trx } from '../database/tables.ts';
import { transact } from '../database/transaction.ts';
import { AppError } from '../errors.ts';

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

/** As long as PostgreSQL lets a statement wait for a lock. */
const WAIT_MS = 8_000;

/** The end of the newest transaction that was requested here, by database. It never rejects. */
const newest = new WeakMap<Db, Promise<void>>();

/**
 * Runs `work` in a transaction that locks the ledger first, as every writer must, and passes it the newest position. On
 * PostgreSQL, the transactions of this process wait for each other before they take a connection: a stopped process loses the
 * lock after 5 s, and a second connection of it that waits for the lock would then keep it for another 5 s. Throws
 * LOCK_TIMEOUT.
 */
export async function transactOnLedger<R>(
  db: Db,
  work: (trx: Trx, position: number) => Promise<R>,
  waitMs = WAIT_MS,
): Promise<R> {
  const run = () => transact(db, async (trx) => work(trx, await lockLedger(trx)));
  if (engineOf(db) === 'sqlite') return run();
  const ended = Promise.withResolvers<void>();
  const before = newest.get(db);
  newest.set(db, before === undefined ? ended.promise : before.then(() => ended.promise));
  try {
    if (before !== undefined) await within(before, waitMs);
    return await run();
  } finally {
    ended.resolve();
  }
}

/** Throws LOCK_TIMEOUT if the promise takes longer. */
async function within(promise: Promise<void>, ms: number): Promise<void> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    const waited = `another change of the ledger took longer than ${ms / 1_000} s`;
    late.reject(new AppError('LOCK_TIMEOUT', waited));
  }, ms);
  try {
    await Promise.race([promise, late.promise]);
  } finally {
    clearTimeout(timer);
  }
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
