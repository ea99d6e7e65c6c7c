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
import { EachRow } from './bulk.ts';
import { isBusy, isFatal, rolledBack } from './errors.ts';
import { FileGuard } from './file-guard.ts';
import { openReader, openWriter } from './handle.ts';
import { assertOutsideTransaction } from './transaction.ts';

/** How long to wait for the write lock before the caller must retry. This is our limit, not SQLite's. */
const LOCK_WAIT_MS = 3_000;
/** The pause between two attempts to take the lock. The API thread holds it for at most 50 ms. */
const LOCK_RETRY_MS = 2;
/** More than the service has fixed statements, which are about 80. Bounds the statements of varying length. */
const STATEMENTS_KEPT = 300;

/**
 * Opens the file twice: one handle writes, one only reads, so that a read never waits for a transaction. `onFatal` is
 * called once, for the first error of any statement after which the file must not be used (`isFatal`).
 */
export function openSqlite(
  path: string,
  onFatal: (error: unknown) => void = () => {},
): { dialect: Dialect; writer: BetterSqlite3.Database } {
  const writer = openWriter(path);
  const reader = openReader(path);
  const dialect: Dialect = {
    createAdapter: () => new TwoHandleAdapter(),
    createDriver: () => new ImmediateDriver(writer, reader, new FileGuard(path, reader), onFatal),
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

class ImmediateDriver implements Driver {
  readonly #writer: BetterSqlite3.Database;
  readonly #reader: BetterSqlite3.Database;
  readonly #writing: StatementRunner;
  readonly #reading: StatementRunner;
  readonly #guard: FileGuard;
  /** The first fatal error: nothing is written after it. */
  #fatal: { error: unknown } | null = null;
  /** Settles when the previous transaction has ended, because the writing handle runs one at a time. */
  #last: Promise<void> = Promise.resolve();

  constructor(
    writer: BetterSqlite3.Database,
    reader: BetterSqlite3.Database,
    guard: FileGuard,
    onFatal: (error: unknown) => void,
  ) {
    const failed = (error: unknown): void => {
      if (this.#fatal !== null || !isFatal(error)) return;
      this.#fatal = { error };
      onFatal(error);
    };
    this.#writer = writer;
    this.#reader = reader;
    this.#guard = guard;
    this.#writing = new StatementRunner(writer, failed);
    this.#reading = new StatementRunner(reader, failed);
  }

  async init(): Promise<void> {}

  async acquireConnection(): Promise<DatabaseConnection> {
    assertOutsideTransaction();
    return new Connection(this.#reading);
  }

  async beginTransaction(connection: DatabaseConnection): Promise<void> {
    // The limit belongs to the caller and starts here, so that a queued call does not wait for each one before it.
    const deadline = performance.now() + LOCK_WAIT_MS;
    const before = this.#last;
    const mine = Promise.withResolvers<void>();
    this.#last = mine.promise;
    await before;
    try {
      await this.#beginImmediate(deadline);
    } catch (error) {
      mine.resolve();
      throw error;
    }
    (connection as Connection).write(this.#writing, mine.resolve);
  }

  async commitTransaction(connection: DatabaseConnection): Promise<void> {
    await this.#end(connection as Connection, 'commit');
  }

  async rollbackTransaction(connection: DatabaseConnection): Promise<void> {
    // Kysely also rolls back when the begin itself failed, or SQLite already did it (a full disk does).
    if (this.#writer.inTransaction && (connection as Connection).writes) {
      await this.#end(connection as Connection, 'rollback');
    } else {
      (connection as Connection).read(this.#reading);
    }
  }

  async releaseConnection(): Promise<void> {}

  async destroy(): Promise<void> {
    await this.#last;
    this.#guard.close();
    this.#reader.close();
    this.#writer.close();
  }

  async #beginImmediate(deadline: number): Promise<void> {
    for (;;) {
      if (this.#fatal !== null) throw this.#fatal.error;
      try {
        this.#writing.run('begin immediate', []);
        return;
      } catch (error) {
        if (!isBusy(error)) throw error;
        if (performance.now() > deadline) {
          throw new AppError(
            'LOCK_TIMEOUT',
            `another connection held the database's write lock for ${LOCK_WAIT_MS} ms; nothing was written`,
          );
        }
        await delay(LOCK_RETRY_MS);
      }
    }
  }

  async #end(connection: Connection, how: 'commit' | 'rollback'): Promise<void> {
    try {
      if (!this.#writer.inTransaction) throw rolledBack();
      if (how === 'commit') this.#writing.watch(() => this.#guard.assertLog());
      this.#writing.run(how, []);
      // Nothing is acknowledged that is in a damaged log.
      if (how === 'commit') this.#writing.watch(() => this.#guard.assertCommitted());
    } catch (error) {
      if (this.#writer.inTransaction) this.#writing.run('rollback', []);
      throw error;
    } finally {
      connection.read(this.#reading);
    }
  }
}

/** Reads on the reading handle until a transaction begins on it, then does everything on the writing one. */
class Connection implements DatabaseConnection {
  #runner: StatementRunner;
  #release: (() => void) | null = null;

  constructor(reading: StatementRunner) {
    this.#runner = reading;
  }

  get writes(): boolean {
    return this.#release !== null;
  }

  write(writing: StatementRunner, release: () => void): void {
    this.#runner = writing;
    this.#release = release;
  }

  read(reading: StatementRunner): void {
    this.#runner = reading;
    this.#release?.();
    this.#release = null;
  }

  async executeQuery<R>(query: CompiledQuery): Promise<QueryResult<R>> {
    // SQLite rolls a transaction back on some errors, such as a full disk. If the work caught the error and continued,
    // each further statement would commit alone.
    if (this.writes && !this.#runner.inTransaction) throw rolledBack();
    return this.#runner.run(query.sql, query.parameters);
  }

  async *streamQuery<R>(query: CompiledQuery): AsyncIterableIterator<QueryResult<R>> {
    yield await this.executeQuery<R>(query);
  }
}

/** Runs statements on one handle and keeps the most recently used ones prepared. */
class StatementRunner {
  readonly #handle: BetterSqlite3.Database;
  readonly #prepared = new Map<string, BetterSqlite3.Statement>();

  readonly #failed: (error: unknown) => void;

  constructor(handle: BetterSqlite3.Database, failed: (error: unknown) => void) {
    this.#handle = handle;
    this.#failed = failed;
  }

  get inTransaction(): boolean {
    return this.#handle.inTransaction;
  }

  run<R>(sql: string, parameters: readonly unknown[]): QueryResult<R> {
    return this.watch(() => this.#run(sql, parameters));
  }

  /** Returns what `work` returns, and reports what it throws. */
  watch<R>(work: () => R): R {
    try {
      return work();
    } catch (error) {
      this.#failed(error);
      throw error;
    }
  }

  #run<R>(sql: string, parameters: readonly unknown[]): QueryResult<R> {
    const statement = this.#prepare(sql);
    const [first] = parameters;
    if (first instanceof EachRow) return runForEach(statement, first);
    if (statement.reader) return { rows: statement.all(parameters) as R[] };
    const { changes, lastInsertRowid } = statement.run(parameters);
    return { rows: [], numAffectedRows: BigInt(changes), insertId: BigInt(lastInsertRowid) };
  }

  #prepare(sql: string): BetterSqlite3.Statement {
    let statement = this.#prepared.get(sql);
    if (statement === undefined) {
      statement = this.#handle.prepare(sql);
      if (this.#prepared.size >= STATEMENTS_KEPT) {
        this.#prepared.delete(this.#prepared.keys().next().value as string);
      }
    } else {
      this.#prepared.delete(sql);
    }
    this.#prepared.set(sql, statement);
    return statement;
  }
}

function runForEach<R>(statement: BetterSqlite3.Statement, { rows }: EachRow): QueryResult<R> {
  let changed = 0;
  // Spread, the driver binds them a tenth faster than as an array.
  for (const row of rows) changed += statement.run(...row).changes;
  return { rows: [], numAffectedRows: BigInt(changed) };
}
