import { AsyncLocalStorage } from 'node:async_hooks';
import { UsedOutsideTransaction } from './errors.ts';
import type { Db, Trx } from './tables.ts';

/** What runs inside a transaction, and whether that is still open: what it set off may outlive it. */
const inside = new AsyncLocalStorage<{ open: boolean }>();

/**
 * Runs `work` in one transaction that holds the write lock from its start, and commits when it returns.
 * Nothing slow belongs in `work`: no network call, no timer. What it starts and does not await must not touch
 * the database before the transaction has ended. Throws what `work` or the engine throws, after rolling back; `LockTimeout` when the lock was
 * not to be had.
 */
export async function transact<R>(db: Db, work: (trx: Trx) => Promise<R>): Promise<R> {
  const transaction = { open: true };
  try {
    return await db.transaction().execute((trx) => inside.run(transaction, () => work(trx)));
  } finally {
    transaction.open = false;
  }
}

/** Throws when called inside the work of a transaction, where only its `trx` may be used. */
export function assertOutsideTransaction(): void {
  if (inside.getStore()?.open) throw new UsedOutsideTransaction();
}
