/**
 * The PostgreSQL driver for Kysely. Unlike Kysely's own, it limits every wait, prepares statements once per connection,
 * never reuses a failed connection, and has one error code for failures to reach the server.
 */
import { createHash } from 'node:crypto';
import {
  type CompiledQuery,
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
/**
 * A page on new connections takes 60 to 260 ms instead of 15 to 60, because each connection reads the catalog and plans its
 * statements. The library's default of 10 s is less than people read a page.
 */
const IDLE_MS = 10 * 60_000;
/**
 * Options of a connection that may be idle. Load balancers and firewalls forget a silent connection, some after four minutes
 * (Azure) or six (AWS), without telling either side; the next query on it would wait until `SILENT_MS`. Linux alone would
 * first probe after two hours.
 */
export const KEPT_ALIVE = { keepAlive: true, keepAliveInitialDelayMillis: 60_000 };
/** The provider waits 15 s for an acknowledgement. It gets a 503 well before that. */
const CONNECT_WITHIN_MS = 3_000;
/** A query without a response for so long is lost. Longer than any limit below; the provider still gets its 503. */
const SILENT_MS = 12_000;
/** Without a time limit: a statement of a migration may take hours. */
const SILENT_UNLIMITED_MS = 24 * 3_600_000;

/**
 * Set inside each transaction, because a proxy may give every transaction another connection. The server ends a
 * transaction that hangs after 5 s, before the transactions that wait for its locks give up.
 */
const begin = (limits: { lockMs: number; statementMs: number }): string =>
  [
    'begin isolation level read committed',
    'set local idle_in_transaction_session_timeout = 5000',
    `set local lock_timeout = ${limits.lockMs}`,
    `set local statement_timeout = ${limits.statementMs}`,
    // A statement is planned once per connection. A plan made while the outbox is empty would scan it, also when it has
    // filled, until the server has counted its rows. ANALYZE doesn't help: there is nothing to count yet. Planning each
    // execution instead (plan_cache_mode = force_custom_plan) applied 0.70 to 0.79 as many events per second from an
    // empty database, in three alternating rounds of the benchmark.
    'set local enable_seqscan = off',
    // Up to PostgreSQL 17 a plan that needs a scan then costs so much that the server would compile it first.
    'set local jit = off',
  ].join('; ');
const BEGIN_LIMITED = begin({ lockMs: 8_000, statementMs: 10_000 });
const BEGIN_UNLIMITED = begin({ lockMs: 0, statementMs: 0 });

/** Maximum number of prepared statements per connection. It bounds the statements of varying length. */
const STATEMENTS_PREPARED = 500;

export function openPostgres(databaseUrl: string): Dialect {
  return {
    createAdapter: () => new PostgresAdapter(),
    createDriver: () => createDriver(databaseUrl),
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
    idleTimeoutMillis: IDLE_MS,
    query_timeout: SILENT_MS,
    ...KEPT_ALIVE,
    types: {
      // Positions, counts and seqs are far below 2^53; the library would return them as text.
      getTypeParser: (oid: number, format?: 'text' | 'binary') =>
        oid === types.builtins.INT8 ? Number : types.getTypeParser(oid, format as 'text'),
    },
  });
  // Without listeners, these errors end the process. The pool has already removed a broken idle connection, and one that
  // breaks between two statements fails the next one.
  pool.on('error', () => {});
  pool.on('connect', (client) => client.on('error', () => {}));
  return pool;
}

function createDriver(databaseUrl: string): Driver {
  let pool: Pool;
  const names = createStatementNames();
  /** Connections that were checked to commit durably. */
  const durable = new WeakSet<PoolClient>();
  return {
    async init() {
      pool = await createPool(databaseUrl);
    },
    async acquireConnection() {
      assertOutsideTransaction();
      const client = await pool.connect().catch((error: unknown) => {
        throw reached(error);
      });
      const connection = createConnection(client, names);
      if (durable.has(client)) return connection;
      try {
        await connection.assertDurable();
      } catch (error) {
        client.release(true);
        throw error;
      }
      durable.add(client);
      return connection;
    },
    beginTransaction: (connection) => (connection as PostgresConnection).begin(),
    commitTransaction: (connection) => (connection as PostgresConnection).end('commit'),
    rollbackTransaction: (connection) => (connection as PostgresConnection).end('rollback'),
    releaseConnection: async (connection) => (connection as PostgresConnection).release(),
    destroy: () => pool.end(),
  };
}

type PostgresConnection = ReturnType<typeof createConnection>;

function createConnection(client: PoolClient, names: ReturnType<typeof createStatementNames>) {
  let inTransaction = false;
  let broken = false;
  let silentMs = SILENT_MS;

  const run = async (query: QueryConfig | string): Promise<Result> => {
    try {
      return await client.query(query);
    } catch (error) {
      // An error that is no response of the server leaves the connection's state unknown; a fatal response ended it.
      broken ||= !isOfPostgres(error) || error.severity === 'FATAL';
      throw reached(error);
    }
  };
  const runPrepared = ({ sql, parameters }: CompiledQuery): Promise<Result> => {
    // The library has this option, but its type lacks it.
    const limit = { query_timeout: silentMs };
    return run({ ...names.of(sql), values: parameters as unknown[], ...limit });
  };
  const executeQuery = async <R>(query: CompiledQuery): Promise<QueryResult<R>> => {
    let result: Result;
    try {
      result = await runPrepared(query);
    } catch (error) {
      if (isStalePlan(error)) names.forget();
      else if (isPreparedElsewhere(error)) names.giveUp();
      else throw error;
      // Nothing more succeeds in this transaction. It is retried as a whole.
      if (inTransaction) throw error;
      result = await runPrepared(query);
    }
    const { command, rowCount, rows } = result;
    if (command === 'SELECT') return { rows };
    return { rows, numAffectedRows: BigInt(rowCount ?? 0) };
  };
  return {
    async begin(): Promise<void> {
      const { isTimeLimited } = transactionOptions();
      silentMs = isTimeLimited ? SILENT_MS : SILENT_UNLIMITED_MS;
      await run(isTimeLimited ? BEGIN_LIMITED : BEGIN_UNLIMITED);
      inTransaction = true;
    },
    async end(how: 'commit' | 'rollback'): Promise<void> {
      inTransaction = false;
      silentMs = SILENT_MS;
      try {
        const { command } = await run(how);
        // A transaction in which a statement failed is rolled back by its commit, which then succeeds.
        if (how === 'commit' && command !== 'COMMIT') throw rolledBack();
      } catch (error) {
        // The server ended the transaction with the connection, so report the error that caused the rollback.
        if (how === 'commit' || !broken) throw error;
      }
    },
    release(): void {
      client.release(broken);
    },
    executeQuery,
    async *streamQuery<R>(query: CompiledQuery): AsyncIterableIterator<QueryResult<R>> {
      yield await executeQuery<R>(query);
    },
    /** Throws unless a commit is on the server's disk when it returns, as the server itself reports. */
    async assertDurable(): Promise<void> {
      const settings = "current_setting('fsync') as fsync, current_setting('synchronous_commit') as commit";
      const { rows } = await run(`select ${settings}`);
      const { fsync, commit } = rows[0] as { fsync: string; commit: string };
      if (fsync === 'on' && commit !== 'off') return;
      const is = `the database is not durable: fsync=${fsync}, synchronous_commit=${commit}`;
      const needs = 'it needs fsync=on, and synchronous_commit on, local or stronger';
      throw new AppError('NOT_DURABLE', `${is}; ${needs}`);
    },
  };
}

/** Names of prepared statements, derived from their text: others may have used a proxy's connection. */
function createStatementNames() {
  const names = new Map<string, string>();
  let generation = 1;
  let most = STATEMENTS_PREPARED;
  return {
    of(text: string): { text: string; name?: string } {
      let name = names.get(text);
      if (name === undefined && names.size < most) {
        name = `s${generation}_${createHash('sha256').update(text).digest('base64url')}`;
        names.set(text, name);
      }
      return name === undefined ? { text } : { text, name };
    },
    /** Stops preparing: behind a proxy that gives each transaction another connection, nothing stays prepared. */
    giveUp(): void {
      names.clear();
      most = 0;
    },
    /** A newer release added a column, so statements must be prepared again under another name. */
    forget(): void {
      names.clear();
      generation += 1;
    },
  };
}

/** Returns the server's own error, or CONNECTION_LOST if it did not respond. */
function reached(error: unknown): unknown {
  if (isOfPostgres(error)) return error;
  // A host with several addresses fails with one error for all of them, which has a code and no message.
  const reason = error instanceof Error ? error.message || codeOf(error) : '';
  const lost = `the database server cannot be reached: ${reason || 'no response'}`;
  return new AppError('CONNECTION_LOST', lost, { cause: error });
}
