import { AsyncLocalStorage } from 'node:async_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import { AppError } from '../errors.ts';
import { engineOf } from './engine.ts';
import { isWorthAnotherTry } from './errors.ts';
import type { Db, Trx } from './tables.ts';
import { setTimeZone, timeZoneOf } from './time-zone.ts';

/**
 * `isTimeLimited`: whether PostgreSQL limits the time of a statement and of a wait for a lock. `isSnapshot`: the transaction
 * only reads, and sees nothing that is committed after its start.
 */
type TransactionOptions = { isTimeLimited: boolean; isSnapshot?: boolean };

const TIME_LIMITED: TransactionOptions = { isTimeLimited: true };
const SNAPSHOT: TransactionOptions = { isTimeLimited: true, isSnapshot: true };

/** The options of the transaction that is being started, for the driver: Kysely passes none of ours. */
const starting = new AsyncLocalStorage<TransactionOptions>();

export function transactionOptions(): TransactionOptions {
  return starting.getStore() ?? TIME_LIMITED;
}

/** The work inside a transaction, and whether the transaction is still open: work that it started may outlive it. */
const inside = new AsyncLocalStorage<{ open: boolean }>();

const AGAIN_AFTER_MS = 50;

let retried = 0;

/**
 * Runs `work` in one transaction, which on SQLite holds the write lock from its start, and commits when it returns.
 * `work` must do nothing slow, such as a network call, and await all that uses the database. It runs a second time after
 * a conflict with another transaction, such as a deadlock. Throws what `work` or the engine throws, after rolling back,
 * and LOCK_TIMEOUT if SQLite's lock is not available.
 */
export async function transact<R>(db: Db, work: (trx: Trx) => Promise<R>, options = TIME_LIMITED) {
  try {
    return await once(db, work, options);
  } catch (error) {
    if (!isWorthAnotherTry(error)) throw error;
    retried += 1;
    // Lets the transactions that wait for its locks take them. An immediate retry would take them again.
    await delay(AGAIN_AFTER_MS);
    return once(db, work, options);
  }
}

/** Returns how often `transact` ran its work again. No caller notices that, so the fault tests look here. */
export function transactionsRetried(): number {
  return retried;
}

/**
 * Waits until everything that was read is as durable as a commit. After PostgreSQL gave up waiting for its standby, rows are
 * visible that only the primary has. Call it before confirming what an earlier request wrote.
 */
export async function confirmDurable(db: Db): Promise<void> {
  if (engineOf(db) === 'postgres') await transact(db, async () => {});
}

async function once<R>(db: Db, work: (trx: Trx) => Promise<R>, options: TransactionOptions): Promise<R> {
  const transaction = { open: true };
  try {
    return await starting.run(options, () =>
      db.transaction().execute((trx) => {
        setTimeZone(trx, timeZoneOf(db));
        return inside.run(transaction, () => work(trx));
      }),
    );
  } finally {
    transaction.open = false;
  }
}

/**
 * Yields what `read` yields, from one snapshot of the database. It holds no lock, and may last as long as a client takes to
 * receive a file. Until its end SQLite's log cannot start over, and PostgreSQL keeps old row versions.
 */
export async function* fromSnapshot<T>(
  db: Db,
  read: (trx: Trx) => AsyncIterable<T>,
): AsyncGenerator<T, void, undefined> {
  const trx = await starting.run(SNAPSHOT, () => db.startTransaction().execute());
  try {
    setTimeZone(trx, timeZoneOf(db));
    yield* read(trx);
  } finally {
    await trx.rollback().execute();
  }
}

/** Throws when called inside the work of a transaction, where only its `trx` may be used. */
export function assertOutsideTransaction(): void {
  if (!inside.getStore()?.open) return;
  const how = 'the database was used inside a transaction: use its trx instead';
  throw new AppError('USED_OUTSIDE_TRANSACTION', how);
}
