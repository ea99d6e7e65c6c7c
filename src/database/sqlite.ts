/**
 * The SQLite driver for Kysely. It begins transactions immediate (a deferred one can fail at its first
 * write), never blocks the event loop for the write lock, and keeps prepared statements.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type BetterSqlite3 from 'better-sqlite3';
import {
  type CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type Driver,
  type QueryResult,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from 'kysely';
import { AppError } from '../errors.ts';
import { isBusy, isFatal, rolledBack } from './errors.ts';
import { createFileGuard, type FileGuard } from './file-guard.ts';
import { openReader, openWriter } from './handle.ts';
import { assertOutsideTransaction, transactionOptions } from './transaction.ts';

/** How long to wait for the write lock before the caller must retry. This is our limit, not SQLite's. */
const LOCK_WAIT_MS = 3_000;
/** The pause between two attempts to take the lock. The end of a transaction of this process ends the pause. */
const LOCK_RETRY_MS = 2;

/**
 * How threads share the write lock of a file. `waiting[0]` counts the transactions of the thread that comes first that wait
 * for the lock. Meanwhile, other threads begin no transaction, which could take the lock between two attempts. `ended[0]`
 * counts the transactions that ended, to wake those that wait.
 */
export type LockTurns = { waiting: Int32Array; ended: Int32Array; comesFirst: boolean };

/** Returns the turns of the thread that comes first. The other threads get its counts. */
export function createLockTurns(): LockTurns {
  const count = () => new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  return { waiting: count(), ended: count(), comesFirst: true };
}

/** Maximum number of statements kept. About 80 are fixed; the limit bounds the statements of varying length. */
const STATEMENTS_KEPT = 300;

/**
 * Opens the file twice: one handle writes, one only reads, so that a read never waits for the write lock. `onFatal` is
 * called once, for the first error of any statement after which the file must not be used (`isFatal`).
 */
export function openSqlite(
  path: string,
  onFatal: (error: unknown) => void = () => {},
  turns = createLockTurns(),
): { dialect: Dialect; writer: BetterSqlite3.Database } {
  const writer = openWriter(path);
  const reader = openReader(path);
  const dialect: Dialect = {
    createAdapter: () => new TwoHandleAdapter(),
    createDriver: () => {
      const openSnapshot = () => openReader(path);
      return createDriver({ writer, reader, openSnapshot }, createFileGuard(path, reader), onFatal, turns);
    },
    createIntrospector: (db) => new SqliteIntrospector(db),
    createQueryCompiler: () => new SqliteQueryCompiler(),
  };
  return { dialect, writer };
}

/** Without this, Kysely would queue every read after the open transaction. */
class TwoHandleAdapter extends SqliteAdapter {
  override get supportsMultipleConnections(): boolean {
    return true;
  }
}

type Handles = {
  readonly writer: BetterSqlite3.Database;
  readonly reader: BetterSqlite3.Database;
  /** Opens a handle of its own, on which a read transaction may last. */
  openSnapshot(): BetterSqlite3.Database;
};

function createDriver(
  { writer, reader, openSnapshot }: Handles,
  guard: FileGuard,
  onFatal: (error: unknown) => void,
  { waiting, ended, comesFirst }: LockTurns,
): Driver {
  /** The first fatal error: nothing is written after it. */
  let fatal: { error: unknown } | null = null;
  /** Settles when the previous transaction has ended, because the writing handle runs one at a time. */
  let last: Promise<void> = Promise.resolve();
  const failed = (error: unknown): void => {
    if (fatal !== null || !isFatal(error)) return;
    fatal = { error };
    onFatal(error);
  };
  const writing = createRunner(writer, failed);
  const reading = createRunner(reader, failed);

  /** Returns false if another connection has the write lock, or a thread that comes first waits for it. */
  const tryBegin = (): boolean => {
    if (fatal !== null) throw fatal.error;
    if (!comesFirst && Atomics.load(waiting, 0) > 0) return false;
    try {
      writing.run('begin immediate', []);
      return true;
    } catch (error) {
      if (isBusy(error)) return false;
      throw error;
    }
  };
  const beginImmediate = async (deadline: number): Promise<void> => {
    if (tryBegin()) return;
    if (comesFirst) Atomics.add(waiting, 0, 1);
    try {
      for (;;) {
        // Read before the attempt, so that no end is missed.
        const seen = Atomics.load(ended, 0);
        if (tryBegin()) return;
        if (performance.now() > deadline) {
          throw new AppError(
            'LOCK_TIMEOUT',
            `another connection held the database's write lock for ${LOCK_WAIT_MS} ms; nothing was written`,
          );
        }
        // The timer also keeps a process running that does nothing else.
        await Promise.race([Atomics.waitAsync(ended, 0, seen, LOCK_RETRY_MS).value, delay(LOCK_RETRY_MS)]);
      }
    } finally {
      if (comesFirst) Atomics.sub(waiting, 0, 1);
    }
  };
  const end = (connection: DatabaseConnection, how: 'commit' | 'rollback'): void => {
    try {
      if (!writer.inTransaction) throw rolledBack();
      if (how === 'commit') writing.watch(() => guard.assertLog());
      writing.run(how, []);
      // Nothing is acknowledged that is in a damaged log.
      if (how === 'commit') writing.watch(() => guard.assertCommitted());
    } catch (error) {
      if (writer.inTransaction) writing.run('rollback', []);
      throw error;
    } finally {
      (connection as SqliteConnection).endWriting();
      Atomics.add(ended, 0, 1);
      Atomics.notify(ended, 0);
    }
  };

  return {
    async init() {},
    async acquireConnection() {
      assertOutsideTransaction();
      return createConnection(reading, writing);
    },
    async beginTransaction(connection) {
      if (transactionOptions().isSnapshot) {
        const handle = openSnapshot();
        (connection as SqliteConnection).beginSnapshot(handle, createRunner(handle, failed));
        return;
      }
      // The limit belongs to the caller and starts here, so that a queued call does not wait for each one before it.
      const deadline = performance.now() + LOCK_WAIT_MS;
      const before = last;
      const mine = Promise.withResolvers<void>();
      last = mine.promise;
      await before;
      try {
        await beginImmediate(deadline);
      } catch (error) {
        mine.resolve();
        throw error;
      }
      (connection as SqliteConnection).beginWriting(mine.resolve);
    },
    async commitTransaction(connection) {
      end(connection, 'commit');
    },
    async rollbackTransaction(connection) {
      // Kysely also rolls back when the begin itself failed, or SQLite already did it (a full disk does).
      const { isWriting, endWriting, endSnapshot } = connection as SqliteConnection;
      endSnapshot();
      if (writer.inTransaction && isWriting()) end(connection, 'rollback');
      else endWriting();
    },
    async releaseConnection() {},
    async destroy() {
      await last;
      guard.close();
      reader.close();
      writer.close();
    },
  };
}

type SqliteConnection = ReturnType<typeof createConnection>;

/** Reads on the reading handle until a transaction begins on it, then does everything on the writing one. */
function createConnection(reading: Runner, writing: Runner) {
  /** Lets the next transaction begin. */
  let release: (() => void) | null = null;
  let snapshot: { handle: BetterSqlite3.Database; runner: Runner } | null = null;
  const executeQuery = async <R>(query: CompiledQuery): Promise<QueryResult<R>> => {
    if (snapshot !== null) return snapshot.runner.run(query.sql, query.parameters);
    if (release === null) {
      // An open transaction of this thread ends in this turn of the event loop. A read before its end would prolong its lock.
      if (writing.inTransaction()) await new Promise(setImmediate);
      return reading.run(query.sql, query.parameters);
    }
    // SQLite rolls a transaction back on some errors, such as a full disk. If the work caught the error and continued,
    // each further statement would commit alone.
    if (!writing.inTransaction()) throw rolledBack();
    return writing.run(query.sql, query.parameters);
  };
  return {
    isWriting: () => release !== null,
    beginWriting(whenEnded: () => void): void {
      release = whenEnded;
    },
    endWriting(): void {
      release?.();
      release = null;
    },
    beginSnapshot(handle: BetterSqlite3.Database, runner: Runner): void {
      snapshot = { handle, runner };
      runner.run('begin', []);
      // Only a read begins the transaction.
      runner.run('select count(*) from sqlite_schema', []);
    },
    endSnapshot(): void {
      snapshot?.handle.close();
      snapshot = null;
    },
    executeQuery,
    async *streamQuery<R>(query: CompiledQuery): AsyncIterableIterator<QueryResult<R>> {
      yield await executeQuery<R>(query);
    },
  };
}

type Runner = ReturnType<typeof createRunner>;

/** Runs statements on one handle and keeps the most recently used ones prepared. */
function createRunner(handle: BetterSqlite3.Database, failed: (error: unknown) => void) {
  const prepared = new Map<string, BetterSqlite3.Statement>();
  const prepare = (sql: string): BetterSqlite3.Statement => {
    let statement = prepared.get(sql);
    if (statement === undefined) {
      statement = handle.prepare(sql);
      if (prepared.size >= STATEMENTS_KEPT) prepared.delete(prepared.keys().next().value as string);
    } else {
      prepared.delete(sql);
    }
    prepared.set(sql, statement);
    return statement;
  };
  const watch = <R>(work: () => R): R => {
    try {
      return work();
    } catch (error) {
      failed(error);
      throw error;
    }
  };
  const run = <R>(sql: string, parameters: readonly unknown[]): QueryResult<R> => {
    const statement = prepare(sql);
    const [first] = parameters;
    if (Array.isArray(first)) {
      // The rows of bulk.ts. Spread, the driver binds their values a tenth faster than as an array.
      let changed = 0;
      for (const row of first) changed += statement.run(...row).changes;
      return { rows: [], numAffectedRows: BigInt(changed) };
    }
    if (statement.reader) return { rows: statement.all(parameters) as R[] };
    const { changes, lastInsertRowid } = statement.run(parameters);
    return { rows: [], numAffectedRows: BigInt(changes), insertId: BigInt(lastInsertRowid) };
  };
  return {
    watch,
    inTransaction: () => handle.inTransaction,
    run: <R>(sql: string, parameters: readonly unknown[]) => watch(() => run<R>(sql, parameters)),
  };
}
