/** Connections to PostgreSQL: what a new one must lead to, and how all of a process end when the server takes no more writes. */
import { BroadcastChannel } from 'node:worker_threads';
import type { ClientBase } from 'pg';
import { AppError } from '../errors.ts';

/** The provider waits 15 s for an acknowledgement. It gets a 503 well before that. */
export const CONNECT_WITHIN_MS = 3_000;
/**
 * Options of a connection that may be idle. Load balancers and firewalls forget a silent connection, some after four minutes
 * (Azure) or six (AWS), without telling either side; the next query on it would wait until its time limit. Linux alone would
 * first probe after two hours.
 */
export const KEPT_ALIVE = { keepAlive: true, keepAliveInitialDelayMillis: 60_000 };

/** The properties of a server that the driver's statements depend on. */
export type Server = {
  /** PostgreSQL 17 and later limit the time of a whole transaction. */
  hasTransactionTimeout: boolean;
  /** Commits wait for standbys. */
  isSynchronous: boolean;
};

const READ_SETTINGS = `select pg_is_in_recovery() as "isStandby",
  current_setting('transaction_read_only') = 'on' as "isReadOnly", current_setting('server_encoding') as encoding,
  current_setting('fsync') as fsync, current_setting('synchronous_commit') as commit,
  current_setting('transaction_timeout', true) is not null as "hasTransactionTimeout",
  current_setting('synchronous_standby_names') <> '' as "isSynchronous"`;

type Settings = Server & {
  isStandby: boolean;
  isReadOnly: boolean;
  encoding: string;
  fsync: string;
  commit: string;
};

/**
 * Reads the server of a new connection, as the server itself reports it. Throws READ_ONLY if it refuses writes, such as a
 * demoted primary, NOT_UTF8, and NOT_DURABLE unless a commit is on its disk when it returns.
 */
export async function readServer(client: ClientBase): Promise<Server> {
  // The library has this option, but its type lacks it.
  const limit = { query_timeout: CONNECT_WITHIN_MS };
  const { rows } = await client.query<Settings>({ text: READ_SETTINGS, ...limit });
  const { isStandby, isReadOnly, encoding, fsync, commit, ...server } = rows[0] as Settings;
  if (isReadOnly) throw readOnly(isStandby);
  if (encoding !== 'UTF8') {
    const remedy = "create one with ENCODING 'UTF8' TEMPLATE template0, and set DATABASE_URL to it";
    throw new AppError('NOT_UTF8', `the encoding of the database is ${encoding}, not UTF8: ${remedy}`);
  }
  if (fsync === 'on' && commit !== 'off') return server;
  const is = `the database is not durable: fsync=${fsync}, synchronous_commit=${commit}`;
  const needs = 'it needs fsync=on, and synchronous_commit on, local or stronger';
  throw new AppError('NOT_DURABLE', `${is}; ${needs}`);
}

function readOnly(isStandby: boolean): AppError {
  const message = isStandby
    ? 'the database server is a standby: set DATABASE_URL to an address that leads to the primary'
    : 'the database is read-only: turn default_transaction_read_only off, or set DATABASE_URL to the primary';
  return new AppError('READ_ONLY', message);
}

/** The connections of one kind are retired at most once in this time. */
const RETIRE_EVERY_MS = 1_000;

export type Retirement = {
  /** Retires every connection of this process to the database, on all threads. */
  announce(): void;
  leave(): void;
};

/**
 * Joins the connections of this process that end together: when one of them shows that its server takes no writes, such as
 * after a switchover, the others may lead there too, where payroll would read old data. Then `retire` is called.
 */
export function joinRetirement(databaseUrl: string, retire: () => void): Retirement {
  // Only threads of this process receive from it.
  const channel = new BroadcastChannel(`retire ${databaseUrl}`);
  let last = Number.NEGATIVE_INFINITY;
  const retireOnce = (): boolean => {
    const now = performance.now();
    if (now - last < RETIRE_EVERY_MS) return false;
    last = now;
    retire();
    return true;
  };
  channel.onmessage = retireOnce;
  channel.unref();
  return {
    announce(): void {
      if (retireOnce()) channel.postMessage(null);
    },
    leave: () => channel.close(),
  };
}
