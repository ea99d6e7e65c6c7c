/**
 * The PostgreSQL driver for Kysely. Unlike Kysely's own, it limits every wait, prepares statements once per connection,
 * never reuses a failed connection, and has one error code for failures to reach the server.
 */
import { createHash } from 'node:crypto';
import {
  type CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type Driver,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  type QueryResult,
} from 'kysely';
import type { Pool, PoolClient, QueryConfig, QueryResult as Result } from 'pg';
import { AppError, codeOf } from '../errors.ts';
import { isOfPostgres, isPreparedElsewhere, isStalePlan, rolledBack } from './errors.ts';
import { assertOutsideTransaction, transactionOptions } from './transaction.ts';

/** Connections per thread: eight to send, one to apply, one for users. A sidecar uses at most twenty. */
const CONNECTIONS = 10;
/** The provider waits 15 s for an acknowledgement. It gets a 503 well before that. */
const CONNECT_WITHIN_MS = 3_000;
/**
 * After so long without a response, the query is considered lost. Longer than any limit below, and short enough that
 * the provider gets a 503 even for a delivery whose single statement has no such limits.
 */
const SILENT_MS = 12_000;
/** Without a time limit: a statement of a migration may take hours. */
const SILENT_UNLIMITED_MS = 24 * 3_600_000;

/**
 * Set inside each transaction, because a proxy may give every transaction another connection. The server ends a holder
 * of a lock that hangs after 5 s, before those that wait for the lock give up.
 */
const begin = (limits: { lockMs: number; statementMs: number }): string =>
  [
    'begin isolation level read committed',
    'set local idle_in_transaction_session_timeout = 5000',
    `set local lock_timeout = ${limits.lockMs}`,
    `set local statement_timeout = ${limits.statementMs}`,
    // A statement is planned once per connection. A plan made while the outbox is empty would scan it, also when it has
    // filled, until the server has counted its rows. ANALYZE doesn't help: there is nothing to count yet.
    'set local enable_seqscan = off',
    // Up to PostgreSQL 17 a plan that needs a scan then costs so much that the server would compile it first.
    'set local jit = off',
  ].join('; ');
const BEGIN_LIMITED = begin({ lockMs: 8_000, statementMs: 10_000 });
const BEGIN_UNLIMITED = begin({ lockMs: 0, statementMs: 0 });

/** More than the service has fixed statements. Bounds the statements of varying length. */
const STATEMENTS_PREPARED = 500;

export function openPostgres(databaseUrl: string): Dialect {
  return {
    createAdapter: () => new PostgresAdapter(),
    createDriver: () => new PostgresDriver(databaseUrl),
    createIntrospector: (db) => new PostgresIntrospector(db),
    createQueryCompiler: () => new PostgresQueryCompiler(),
  };
}

/** Loads the library at the first use, which saves a thread on SQLite about 10 MiB. */
async function createPool(databaseUrl: string): Promise<Pool> {
  const { Pool, types } = await import('pg');
  const pool = new Pool({
    connectionString: databaseUrl,
    max: CONNECTIONS,
    connectionTimeoutMillis: CONNECT_WITHIN_MS,
    query_timeout: SILENT_MS,
    keepAlive: true,
    types: {
      // Positions, counts and seqs are far below 2^53; the library would return them as text.
      getTypeParser: (oid: number, format?: 'text' | 'binary') =>
        oid === types.builtins.INT8 ? Number : types.getTypeParser(oid, format as 'text'),
    },
  });
  // An idle connection broke. The pool has already removed it.
  pool.on('error', () => {});
  // A connection that breaks between two statements fails the next one. Without a listener, its error ends the process.
  pool.on('connect', (client) => client.on('error', () => {}));
  return pool;
}

class PostgresDriver implements Driver {
  readonly #databaseUrl: string;
  /** Created at the first use. */
  #pool: Pool | null = null;
  readonly #names = new StatementNames();
  /** Connections that were checked to commit durably. */
  readonly #durable = new WeakSet<PoolClient>();

  constructor(databaseUrl: string) {
    this.#databaseUrl = databaseUrl;
  }

  async init(): Promise<void> {
    this.#pool = await createPool(this.#databaseUrl);
  }

  async acquireConnection(): Promise<Connection> {
    assertOutsideTransaction();
    const client = await (this.#pool as Pool).connect().catch((error: unknown) => {
      throw reached(error);
    });
    const connection = new Connection(client, this.#names);
    if (this.#durable.has(client)) return connection;
    try {
      await connection.assertDurable();
    } catch (error) {
      client.release(true);
      throw error;
    }
    this.#durable.add(client);
    return connection;
  }

  async beginTransaction(connection: DatabaseConnection): Promise<void> {
    await (connection as Connection).begin();
  }

  async commitTransaction(connection: DatabaseConnection): Promise<void> {
    await (connection as Connection).end('commit');
  }

  async rollbackTransaction(connection: DatabaseConnection): Promise<void> {
    await (connection as Connection).end('rollback');
  }

  async releaseConnection(connection: DatabaseConnection): Promise<void> {
    (connection as Connection).release();
  }

  async destroy(): Promise<void> {
    await this.#pool?.end();
  }
}

class Connection implements DatabaseConnection {
  readonly #client: PoolClient;
  readonly #names: StatementNames;
  #inTransaction = false;
  #broken = false;
  #silentMs = SILENT_MS;

  constructor(client: PoolClient, names: StatementNames) {
    this.#client = client;
    this.#names = names;
  }

  async begin(): Promise<void> {
    const { isTimeLimited } = transactionOptions();
    this.#silentMs = isTimeLimited ? SILENT_MS : SILENT_UNLIMITED_MS;
    await this.#run(() => this.#client.query(isTimeLimited ? BEGIN_LIMITED : BEGIN_UNLIMITED));
    this.#inTransaction = true;
  }

  async end(how: 'commit' | 'rollback'): Promise<void> {
    this.#inTransaction = false;
    this.#silentMs = SILENT_MS;
    try {
      const { command } = await this.#run(() => this.#client.query(how));
      // A transaction in which a statement failed is rolled back by its commit, which then succeeds.
      if (how === 'commit' && command !== 'COMMIT') throw rolledBack();
    } catch (error) {
      // The server ended the transaction with the connection, so report the error that caused the rollback.
      if (how === 'commit' || !this.#broken) throw error;
    }
  }

  release(): void {
    this.#client.release(this.#broken);
  }

  async executeQuery<R>({ sql, parameters }: CompiledQuery): Promise<QueryResult<R>> {
    const query = () =>
      this.#run(() => {
        // The library has this option, but its type lacks it.
        const limit = { query_timeout: this.#silentMs };
        const text: QueryConfig = { ...this.#names.of(sql), values: parameters as unknown[], ...limit };
        return this.#client.query(text);
      });
    let result: Result;
    try {
      result = await query();
    } catch (error) {
      if (isStalePlan(error)) this.#names.forget();
      else if (isPreparedElsewhere(error)) this.#names.giveUp();
      else throw error;
      // Nothing more succeeds in this transaction. It is retried as a whole.
      if (this.#inTransaction) throw error;
      result = await query();
    }
    const { command, rowCount, rows } = result;
    if (command === 'SELECT') return { rows };
    return { rows, numAffectedRows: BigInt(rowCount ?? 0) };
  }

  async *streamQuery<R>(query: CompiledQuery): AsyncIterableIterator<QueryResult<R>> {
    yield await this.executeQuery<R>(query);
  }

  /** Throws unless a commit is on the server's disk when it returns, as the server itself says. */
  async assertDurable(): Promise<void> {
    const settings = "current_setting('fsync') as fsync, current_setting('synchronous_commit') as commit";
    const { rows } = await this.#run(() => this.#client.query(`select ${settings}`));
    const { fsync, commit } = rows[0] as { fsync: string; commit: string };
    if (fsync !== 'on' || commit === 'off') {
      const is = `the database is not durable: fsync=${fsync}, synchronous_commit=${commit}`;
      const needs = 'it needs fsync=on, and synchronous_commit on, local or stronger';
      throw new AppError('NOT_DURABLE', `${is}; ${needs}`);
    }
  }

  async #run(query: () => Promise<Result>): Promise<Result> {
    try {
      return await query();
    } catch (error) {
      // An error that is no response of the server leaves the connection's state unknown; a fatal response ended it.
      this.#broken ||= !isOfPostgres(error) || error.severity === 'FATAL';
      throw reached(error);
    }
  }
}

/** Names of prepared statements, derived from their text: others may have used a proxy's connection. */
class StatementNames {
  readonly #names = new Map<string, string>();
  #generation = 1;
  #most = STATEMENTS_PREPARED;

  of(text: string): { text: string; name?: string } {
    let name = this.#names.get(text);
    if (name === undefined && this.#names.size < this.#most) {
      name = `s${this.#generation}_${createHash('sha256').update(text).digest('base64url')}`;
      this.#names.set(text, name);
    }
    return name === undefined ? { text } : { text, name };
  }

  /** Stops preparing: behind a proxy that gives each transaction another connection, nothing stays prepared. */
  giveUp(): void {
    this.#names.clear();
    this.#most = 0;
  }

  /** A newer release added a column, so statements must be prepared again under another name. */
  forget(): void {
    this.#names.clear();
    this.#generation += 1;
  }
}

/** Returns the server's own error, or CONNECTION_LOST if it did not respond. */
function reached(error: unknown): unknown {
  if (isOfPostgres(error)) return error;
  // A host with several addresses fails with one error for all of them, which has a code and no message.
  const reason = error instanceof Error ? error.message || codeOf(error) : '';
  const lost = `the database server cannot be reached: ${reason || 'no response'}`;
  return new AppError('CONNECTION_LOST', lost, { cause: error });
}
