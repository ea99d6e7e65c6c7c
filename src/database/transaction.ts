import { AsyncLocalStorage } from 'node:async_hooks';
import { UsedOutsideTransaction } from './errors.ts';
import type { Db, Trx } from './tables.ts';

const inside = new AsyncLocalStorage<true>();

/**
 * Runs `work` in one transaction that holds the write lock from its start, and commits when it returns.
 * Nothing slow belongs in `work`: no network call, no timer. What it starts and does not await must not touch
 * the database. Throws what `work` or the engine throws, after rolling back; `LockTimeout` when the lock was
 * not to be had.
 */
export function transact<R>(db: Db, work: (trx: Trx) => Promise<R>): Promise<R> {
  return db.transaction().execute((trx) => inside.run(true, () => work(trx)));
}

/** Throws when called inside the work of a transaction, where only its `trx` may be used. */
export function assertOutsideTransaction(): void {
  if (inside.getStore()) throw new UsedOutsideTransaction();
}
