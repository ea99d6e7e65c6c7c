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
import type { ClientBase, Pool, PoolClient, QueryConfig, QueryResult as Result } from 'pg';
import { AppError, isAppError } from '../errors.ts';
import {
  connectionLost,
  endsConnection,
  hasFailedBefore,
  isOfPostgres,
  isPreparedElsewhere,
  isReadOnly,
  isStalePlan,
  mayHaveCommitted,
  notReplicated,
  rolledBack,
} from './errors.ts';
import {
  CONNECT_WITHIN_MS,
  joinRetirement,
  KEPT_ALIVE,
  type Retirement,
  readServer,
  type Server,
} from './postgres-connections.ts';
import { assertOutsideTransaction, transactionOptions } from './transaction.ts';

/** Connections per thread: eight to send, one to apply, one for users. A sidecar uses at most twenty. */
const CONNECTIONS = 10;
/**
 * A page on new connections takes 60 to 260 ms instead of 15 to 60, because each connection reads the catalog and plans its
 * statements. The library's default of 10 s is less than people read a page.
 */
const IDLE_MS = 10 * 60_000;
/** A query without a response for so long is lost. Longer than any limit below; the provider still gets its 503. */
const SILENT_MS = 12_000;
/** Without a time limit: a statement of a migration may take hours. */
const SILENT_UNLIMITED_MS = 24 * 3_600_000;

/**
 * Set inside each transaction, because a proxy may give every transaction another connection. The server ends a
 * transaction that hangs after 5 s, before the transactions that wait for its locks give up.
 */
const begin = (limits: Limits, hasTransactionTimeout: boolean): string =>
  [
    `begin isolation level ${limits.isolation}`,
    // Each wait has its own limit. One for the whole would end a migration.
    ...(hasTransactionTimeout ? ['set local transaction_timeout = 0'] : []),
    `set local idle_in_transaction_session_timeout = ${limits.idleMs}`,
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
type Limits = { isolation: string; idleMs: number; lockMs: number; statementMs: number };
const LIMITED: Limits = {
  ...{ isolation: 'read committed', idleMs: 5_000 },
  ...{ lockMs: 8_000, statementMs: 10_000 },
};
const UNLIMITED: Limits = { ...LIMITED, lockMs: 0, statementMs: 0 };
/** A snapshot is idle while its reader is slow, and locks nothing. Longer than a connection without traffic is kept. */
const SNAPSHOT: Limits = { ...LIMITED, isolation: 'repeatable read', idleMs: 6 * 60_000 };

/**
 * Commits. What a transaction has read may not be on a synchronous standby yet, such as the first delivery of a duplicate. A
 * commit waits for the standby only if it writes to the log, so a transaction that changed nothing writes a message there.
 */
const COMMIT_SYNCHRONOUS =
  "select pg_logical_emit_message(true, 'benefits_sidecar', '') where txid_current_if_assigned() is null; commit";
/** The function of the server that waits for standbys. Its notice is translated. */
const WAIT_FOR_STANDBY = 'SyncRepWaitForLSN';

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

/** A server as its connection found it, and what the server reported on the connection besides results. */
type Facts = Server & {
  /** The error by which the server ended the connection while no statement ran. */
  ended: unknown;
  /** The server gave up waiting for a synchronous standby: the commit is on its own disk only. */
  isUnreplicated: boolean;
};

/** Loads the library at the first use, which saves a thread on SQLite about 10 MiB. */
async function poolFactory(databaseUrl: string) {
  const { Pool, types } = await import('pg');
  const factsOf = new WeakMap<ClientBase, Facts>();
  const onConnect = async (client: ClientBase): Promise<void> => {
    const facts: Facts = { ...(await readServer(client)), ended: null, isUnreplicated: false };
    client.on('notice', ({ routine }) => {
      facts.isUnreplicated ||= routine === WAIT_FOR_STANDBY;
    });
    // Without a listener, it ends the process. It breaks the next statement.
    client.on('error', (error) => {
      facts.ended ??= error;
    });
    factsOf.set(client, facts);
  };
  const create = (): Pool => {
    const pool = new Pool({
      connectionString: databaseUrl,
      max: CONNECTIONS,
      connectionTimeoutMillis: CONNECT_WITHIN_MS,
      idleTimeoutMillis: IDLE_MS,
      query_timeout: SILENT_MS,
      ...KEPT_ALIVE,
      onConnect,
      types: {
        // Positions, counts and seqs are far below 2^53; the library would return them as text.
        getTypeParser: (oid: number, format?: 'text' | 'binary') =>
          oid === types.builtins.INT8 ? Number : types.getTypeParser(oid, format as 'text'),
      },
    });
    // Without a listener, it ends the process. The pool has already removed the broken idle connection.
    pool.on('error', () => {});
    return pool;
  };
  return { create, factsOf: (client: PoolClient) => factsOf.get(client) as Facts };
}

function createDriver(databaseUrl: string): Driver {
  let pools: Awaited<ReturnType<typeof poolFactory>>;
  let pool: Pool;
  let retirement: Retirement;
  const names = createStatementNames();
  return {
    async init() {
      pools = await poolFactory(databaseUrl);
      pool = pools.create();
      retirement = joinRetirement(databaseUrl, () => {
        const retired = pool;
        pool = pools.create();
        void retired.end().catch(() => {});
      });
    },
    async acquireConnection() {
      assertOutsideTransaction();
      const from = pool;
      const client = await from.connect().catch((error: unknown) => {
        throw reached(error);
      });
      return createConnection(client, {
        names,
        facts: pools.factsOf(client),
        isRetired: () => pool !== from,
        retire: retirement.announce,
      });
    },
    beginTransaction: (connection) => (connection as PostgresConnection).begin(),
    commitTransaction: (connection) => (connection as PostgresConnection).commit(),
    rollbackTransaction: (connection) => (connection as PostgresConnection).rollback(),
    releaseConnection: async (connection) => (connection as PostgresConnection).release(),
    async destroy() {
      retirement.leave();
      await pool.end();
    },
  };
}

type PostgresConnection = ReturnType<typeof createConnection>;

type ConnectionParts = {
  names: ReturnType<typeof createStatementNames>;
  facts: Facts;
  /** Whether another connection has shown since that the server takes no writes. */
  isRetired: () => boolean;
  retire: () => void;
};

function createConnection(client: PoolClient, { names, facts, isRetired, retire }: ConnectionParts) {
  let inTransaction = false;
  /** It is closed on release, and no statement is sent on it. */
  let broken = false;
  let silentMs = SILENT_MS;

  const run = async (query: QueryConfig | string): Promise<Result> => {
    if (isRetired()) {
      broken = true;
      throw new AppError('CONNECTION_LOST', 'the database server stopped taking writes: try again');
    }
    const result = await client.query(query).catch((error: unknown) => {
      const cause = isOfPostgres(error) ? error : (facts.ended ?? error);
      // An error that is no response of the server leaves the connection's state unknown.
      broken ||= !isOfPostgres(cause) || endsConnection(cause);
      if (isReadOnly(cause)) retire();
      throw reached(cause);
    });
    if (facts.isUnreplicated) {
      broken = true;
      throw notReplicated();
    }
    return result;
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
      const { isTimeLimited, isSnapshot = false } = transactionOptions();
      silentMs = isTimeLimited ? SILENT_MS : SILENT_UNLIMITED_MS;
      const limits = isSnapshot ? SNAPSHOT : isTimeLimited ? LIMITED : UNLIMITED;
      await run(begin(limits, facts.hasTransactionTimeout));
      inTransaction = true;
    },
    async commit(): Promise<void> {
      if (broken) throw rolledBack();
      try {
        const results = await run(facts.isSynchronous ? COMMIT_SYNCHRONOUS : 'commit');
        const { command } = [results].flat().at(-1) as Result;
        // A transaction in which a statement failed is rolled back by its commit, which then succeeds.
        if (command !== 'COMMIT') throw rolledBack();
        inTransaction = false;
        silentMs = SILENT_MS;
      } catch (error) {
        if (hasFailedBefore(error)) throw rolledBack();
        if (mayHaveCommitted(error)) throw connectionLost(error);
        throw error;
      }
    },
    async rollback(): Promise<void> {
      inTransaction = false;
      silentMs = SILENT_MS;
      // The server ends the transaction with the connection. A silent one would cost its time limit again.
      if (broken) return;
      await run('rollback').catch((error: unknown) => {
        // Report the error that caused the rollback.
        if (!broken) throw error;
      });
    },
    release(): void {
      client.release(broken);
    },
    executeQuery,
    async *streamQuery<R>(query: CompiledQuery): AsyncIterableIterator<QueryResult<R>> {
      yield await executeQuery<R>(query);
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

/** Returns this program's or the server's own error, or CONNECTION_LOST if the server did not respond. */
function reached(error: unknown): unknown {
  return isAppError(error) || isOfPostgres(error) ? error : connectionLost(error);
}
