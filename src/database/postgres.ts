/**
 * PostgreSQL behind Kysely. What differs from Kysely's own driver: every wait has a limit, statements are prepared
 * once a connection, a connection that failed is not used again, and failures to reach the server have one code.
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
import { NO_TIME_LIMIT } from './engine.ts';
import {
  ConnectionLost,
  isOfPostgres,
  isPreparedElsewhere,
  isStalePlan,
  NotDurable,
  RolledBack,
} from './errors.ts';
import { assertOutsideTransaction } from './transaction.ts';

/**
 * Connections of one thread. The receiving one needs two that store and a few for the rest; the private one eight that
 * send, one that applies and one for people. With both, a sidecar takes at most twenty of the server's.
 */
const CONNECTIONS = 10;
/** The provider waits 15 s for an acknowledgement: it hears "come back" well before that. */
const CONNECT_WITHIN_MS = 3_000;
/**
 * A server or a network that says nothing for so long has lost the query: longer than any limit below, and short
 * enough that the provider hears "come back" also of a delivery whose one statement has no such limits.
 */
const SILENT_MS = 12_000;
/** A statement of a migration may work for hours before it answers. */
const SILENT_MIGRATING_MS = 24 * 3_600_000;

/**
 * Set inside each transaction, so that a proxy which gives every transaction another connection changes nothing.
 * A holder of a lock that stops in the middle is thrown out after 5 s, and who waits for the lock has it by then.
 */
const LIMITS = { idle_in_transaction_session_timeout: 5_000, lock_timeout: 8_000, statement_timeout: 10_000 };
const BEGIN = [
  'begin isolation level read committed',
  ...Object.entries(LIMITS).map(([name, ms]) => `set local ${name} = ${ms}`),
  // A statement is planned once a connection. Planned while the tables are empty it would read them whole, and go on
  // to when they are not, until the server has counted them: a minute in which applying falls behind.
  'set local enable_seqscan = off',
  // Up to PostgreSQL 17 a plan that can't do without is priced so high that it would be compiled first.
  'set local jit = off',
].join('; ');

/** Texts that are prepared; more than the service has. The bound is for texts of varying length. */
const STATEMENTS_PREPARED = 500;

export function openPostgres(databaseUrl: string): Dialect {
  return {
    createAdapter: () => new PostgresAdapter(),
    createDriver: () => new PostgresDriver(databaseUrl),
    createIntrospector: (db) => new PostgresIntrospector(db),
    createQueryCompiler: () => new PostgresQueryCompiler(),
  };
}

/** The library is loaded here and not before: a thread that works on SQLite is spared some ten MiB. */
async function createPool(databaseUrl: string): Promise<Pool> {
  const { Pool, types } = await import('pg');
  const pool = new Pool({
    connectionString: databaseUrl,
    max: CONNECTIONS,
    connectionTimeoutMillis: CONNECT_WITHIN_MS,
    query_timeout: SILENT_MS,
    keepAlive: true,
    types: {
      // Positions, counts and seqs are far below 2^53; the library would answer them as text.
      getTypeParser: (oid: number, format?: 'text' | 'binary') =>
        oid === types.builtins.INT8 ? Number : types.getTypeParser(oid, format as 'text'),
    },
  });
  // An idle connection broke. The pool has already removed it.
  pool.on('error', () => {});
  // One that broke between two statements of a transaction: the next one fails. Unheard, it would end the process.
  pool.on('connect', (client) => client.on('error', () => {}));
  return pool;
}

class PostgresDriver implements Driver {
  readonly #databaseUrl: string;
  /** Made at the first use. */
  #pool: Pool | null = null;
  readonly #names = new StatementNames();
  /** Those that were found to commit durably. */
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
    await this.#run(() => this.#client.query(BEGIN));
    this.#inTransaction = true;
  }

  async end(how: 'commit' | 'rollback'): Promise<void> {
    this.#inTransaction = false;
    this.#silentMs = SILENT_MS;
    try {
      const { command } = await this.#run(() => this.#client.query(how));
      // A transaction in which a statement failed is rolled back by its commit, which then succeeds.
      if (how === 'commit' && command !== 'COMMIT') throw new RolledBack();
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
        // The type of the library does not know the option that the library has.
        const limit = { query_timeout: this.#silentMs };
        const text: QueryConfig = { ...this.#names.of(sql), values: parameters as unknown[], ...limit };
        return this.#client.query(text);
      });
    if (sql === NO_TIME_LIMIT) this.#silentMs = SILENT_MIGRATING_MS;
    let result: Result;
    try {
      result = await query();
    } catch (error) {
      if (isStalePlan(error)) this.#names.forget();
      else if (isPreparedElsewhere(error)) this.#names.giveUp();
      else throw error;
      // In a transaction nothing more succeeds: it is tried again as a whole.
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
    const { rows } = await this.#run(() =>
      this.#client.query(
        "select current_setting('fsync') as fsync, current_setting('synchronous_commit') as commit",
      ),
    );
    const { fsync, commit } = rows[0] as { fsync: string; commit: string };
    if (fsync !== 'on' || commit === 'off') {
      throw new NotDurable(
        `the database is not durable: fsync=${fsync}, synchronous_commit=${commit}; it needs fsync=on, and synchronous_commit on, local or stronger`,
      );
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

/**
 * Names of prepared statements, made from the text: behind a proxy a connection may have been another thread's or
 * process's before, and what is prepared there under a name must be the same statement.
 */
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

  /** Behind a proxy that gives each transaction another connection nothing stays prepared: no more names. */
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

/** The server's own error, or that it could not be reached. */
function reached(error: unknown): unknown {
  return isOfPostgres(error) ? error : new ConnectionLost(error);
}
