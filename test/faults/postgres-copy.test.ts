/** Copying a SQLite file to PostgreSQL: everything is copied, or nothing. */
import { AsyncLocalStorage } from 'node:async_hooks';
import { randomBytes } from 'node:crypto';
import { copyFileSync, existsSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { sql } from 'kysely';
import { Client } from 'pg';
import t, { type Test } from 'tap';
import { isUnavailable } from '../../src/database/errors.ts';
import { migrate } from '../../src/database/migrate.ts';
import { holdServeLock, openDatabase, sqlitePath } from '../../src/database/open.ts';
import type { Db } from '../../src/database/tables.ts';
import { transact } from '../../src/database/transaction.ts';
import { copyDatabase } from '../../src/operations/copy.ts';
import { deductionOf, deliver, receive } from '../api/deliver.ts';
import { execute, start as startExecutable } from '../cli/executable.ts';
import { DATA_KEY, environment, here, jsonOf, type Ran, type Variables } from '../cli/harness.ts';
import { open } from '../database/scratch.ts';
import { owe } from '../outbox/parts.ts';
import { contentOfTables, type Filled, fill } from '../postgres/filled.ts';
import { ACTING } from '../support/audit.ts';
import { tablesOf, useOwnPostgres } from '../support/engine.ts';
import { eventually } from '../support/eventually.ts';
import { deliver as post } from '../support/load.ts';
import { temporaryFolder } from '../support/memory.ts';
import { makeKeys, variablesFor } from '../support/settings.ts';
import { serve } from '../support/sidecar.ts';

const server = await useOwnPostgres();
t.setTimeout(300_000);

const MADE_AT = new Date('2026-01-01T00:00:00.000Z');
/** The password of the user who copies. No output may contain it. */
const PASSWORD = `canary-password-${randomBytes(12).toString('hex')}`;
const USER = 'copier';
/** The DATABASE_URL is a file that does not exist. */
const ENVIRONMENT = environment(t);
/** The tables that a migration fills with one row each. */
const OF_ONE_ROW = [
  ...['instance', 'audit_head', 'ledger_head', 'notification_head'],
  ...['circuit_breaker', 'payroll_head', 'retention'],
];

/** A server with the user who copies. */
async function asServer<R>(work: (client: Client) => Promise<R>, database = 'postgres'): Promise<R> {
  const client = new Client(server.url(database));
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

/** An empty database owned by that user. */
async function target(): Promise<string> {
  const url = new URL(await server.create());
  await asServer((client) => client.query(`alter database ${url.pathname.slice(1)} owner to ${USER}`));
  [url.username, url.password] = [USER, PASSWORD];
  return url.href;
}

/** The database at an address, with all permissions. */
function within<R>(url: string, work: (client: Client) => Promise<R>): Promise<R> {
  return asServer(work, new URL(url).pathname.slice(1));
}

type Source = Filled & { url: string; db: Db; tables: string[] };

/** Filled once; each test gets a copy of the file. */
const template = (async () => {
  const folder = temporaryFolder('copy');
  t.teardown(() => rmSync(folder, { recursive: true }));
  const path = join(folder, 'template.db');
  const db = openDatabase(`sqlite:${path}`);
  await migrate(db, 'sandbox', MADE_AT);
  const known = await fill(db);
  await db.destroy();
  return { ...known, path };
})();

/** A file with rows in every table. */
async function filled(t: Test): Promise<Source> {
  const { path, ...known } = await template;
  const url = `sqlite:${t.testdir()}/source.db`;
  copyFileSync(path, sqlitePath(url));
  const db = open(t, url);
  const tables = (await tablesOf(db)).filter((name) => name !== 'migrations');
  return { ...known, url, db, tables };
}

/** Runs the command in this process and checks that its output does not contain the password. */
async function copy(
  t: Test,
  from: string,
  to: string,
  { env = {}, argv = [], isTTY = false }: { env?: Variables; argv?: string[]; isTTY?: boolean } = {},
): Promise<Ran> {
  const words = ['copy', '--from', from, '--to', to, ...argv];
  const ran = await here(t, { ...ENVIRONMENT, ...env }, words, { isTTY });
  t.notOk(`${ran.stdout}${ran.stderr}`.includes(PASSWORD), 'the password is not shown');
  return ran;
}

/** Asserts that every table is empty except for its one row, if the migrations create it. */
async function isEmpty(t: Test, url: string): Promise<void> {
  const db = openDatabase(url);
  try {
    const names = (await tablesOf(db)).filter((name) => name !== 'migrations');
    const content = await contentOfTables(db, names);
    for (const [name, rows] of content)
      t.equal(rows.length, OF_ONE_ROW.includes(name) ? 1 : 0, `rows of ${name}`);
    t.match(content.get('ledger_head'), [/"position",0/], 'with the rows that the migrations create');
  } finally {
    await db.destroy();
  }
}

const isOfCopy = (row: string) => row.includes('"database.copy"');

/** Leaves out the record of the copy, and the head that it moved. */
function withoutCopy(content: Map<string, string[]>): Map<string, string[]> {
  const records = content.get('audit_records')?.filter((row) => !isOfCopy(row)) ?? [];
  return new Map([...content, ['audit_records', records], ['audit_head', []]]);
}

t.before(() => asServer((client) => client.query(`create role ${USER} login password '${PASSWORD}'`)));

t.test('everything is copied, the file is unchanged, and a sidecar continues from there', async (t) => {
  const source = await filled(t);
  const before = await contentOfTables(source.db, source.tables);
  t.ok((before.get('deduction_versions')?.length ?? 0) > 250, 'more than one batch');
  t.ok((before.get('census_chunks')?.length ?? 0) > 2);
  const rows = [...before.values()].reduce((sum, { length }) => sum + length, 0);

  const url = await target();
  const ran = await copy(t, source.url, url, { argv: ['--json'] });
  t.match(ran, { code: 0, stderr: '' });
  t.match(jsonOf(ran), { from: sqlitePath(source.url), tables: source.tables.length, rows });
  t.match(jsonOf(ran).to, /^test_[\d_]+ at 127\.0\.0\.1:\d+$/);
  const db = open(t, url);
  const copied = await contentOfTables(db, source.tables);
  t.equal(copied.get('audit_records')?.filter(isOfCopy).length, 1, 'the copy is recorded');
  t.strictSame(withoutCopy(copied), withoutCopy(before), 'every table, row by row');
  t.strictSame(await contentOfTables(source.db, source.tables), before, 'the file is unchanged');

  await t.test('numbers continue after the highest', async (t) => {
    const highest = async () => {
      const { rows } = await sql<Record<'seq' | 'request' | 'conflict' | 'position', number>>`
        select (select max(seq) from inbox) as seq, (select max(seq) from outbox) as request,
          (select max(conflict_id) from event_conflicts) as conflict, position from ledger_head`.execute(db);
      return rows[0]!;
    };
    const last = await highest();
    await receive(db, [deductionOf('evt-apple-1', { id: 'ded-apple', description: 'a third body' })]);
    await owe(db, 'r-next', 'e-next');
    await deliver(db, [deductionOf('evt-next', { id: 'ded-next' })]);
    const next = await highest();
    t.ok(next.seq > last.seq && next.request > last.request && next.conflict > last.conflict);
    // The event that was pending came first.
    t.equal(next.position, last.position + 2);
  });

  await t.test('a sidecar serves it to the same clients', async (t) => {
    const keys = { ...makeKeys(), dataKey: DATA_KEY };
    const variables = { ...variablesFor(url, 'http://127.0.0.1:9', keys), API_TOKEN: undefined };
    const sidecar = await serve(t, variables);
    const fields = { id: 'ded-apple', employee_id: 'apple' };
    const body = deductionOf('evt-served', fields, '2026-05-01T00:00:00Z').body.toString();
    for (const what of ['received', 'the same again'])
      t.equal((await post(sidecar.port, keys.webhookSecret, { id: 'evt-served', body })).status, 204, what);
    const feed = `${sidecar.api}/v1/deduction-versions?cursor=${source.position}`;
    const ask = async () => {
      const answer = await fetch(feed, { headers: { authorization: `Bearer ${source.token}` } });
      return ((await answer.json()) as { data: Record<string, unknown>[] }).data;
    };
    const data = await eventually('it is applied', ask, { length: 3 });
    const positions = data.map(({ position }) => position).join();
    t.equal(positions, [1, 2, 3].map((nth) => source.position + nth).join(), 'the feed continues');
    t.match(data[2], { deduction_id: 'ded-apple', version: 5 }, 'the history of a deduction continues');
  });

  await t.test('copying again is rejected', async (t) => {
    const stderr = /the target is not empty: its table audit_records has rows/;
    t.match(await copy(t, source.url, url), { code: 1, stdout: '', stderr });
  });
});

async function migrated(t: Test, url: string): Promise<Db> {
  const db = open(t, url);
  await migrate(db, 'sandbox', MADE_AT);
  return db;
}

t.test('an impossible copy is rejected with the reason, and source and target are unchanged', async (t) => {
  const source = await filled(t);
  const before = await contentOfTables(source.db, source.tables);
  const url = await target();
  const refused = async (code: number, stderr: RegExp, from: string, to: string, env: Variables = {}) =>
    t.match(await copy(t, from, to, { env }), { code, stderr }, String(stderr));

  const live = { BENEFITS_ENVIRONMENT: 'live' };
  const file = /: the database of --from: the database belongs to sandbox, but BENEFITS_ENVIRONMENT is live/;
  await refused(1, file, source.url, url, live);
  const ofLive = await target();
  await migrate(open(t, ofLive), 'live', MADE_AT);
  const other = /: the target: the database belongs to live, but BENEFITS_ENVIRONMENT is sandbox/;
  await refused(1, other, source.url, ofLive);
  await isEmpty(t, ofLive);

  const release = holdServeLock(source.url);
  await refused(1, /another process already serves .*source\.db: stop it/, source.url, url);
  release();

  const folder = dirname(sqlitePath(source.url));
  const older = await target();
  const inUse = await migrated(t, older);
  await deliver(inUse, [deductionOf('evt-1', {})]);
  const migrations = () => inUse.selectFrom('migrations').select('number').orderBy('number').execute();
  const [last] = (await migrations()).slice(-1);
  await transact(inUse, (trx) => trx.deleteFrom('migrations').where('number', '=', last!.number).execute());
  const left = await migrations();
  await within(older, (client) => client.query('drop table payroll_codes, pay_schedules'));
  await refused(1, /the target is not empty: its table deduction_versions has rows/, source.url, older);
  t.strictSame(await migrations(), left, 'a target in use by an older release is not migrated');

  writeFileSync(`${folder}/text`, 'this is not a database, however long it may be');
  const missing = `sqlite:${folder}/missing.db`;
  await refused(2, /--from: there is no database at .*missing\.db/, missing, url);
  t.notOk(existsSync(sqlitePath(missing)), 'no file is created');
  await refused(1, /is not a database/, `sqlite:${folder}/text`, url);
  await refused(1, /is not a database/, `sqlite:${folder}/text`, url); // The lock is released.

  for (const wrong of [url, sqlitePath(source.url), 'sqlite::memory:', 'postgres://', ''])
    await refused(2, /--from must be sqlite: and the path of a file/, wrong, url);
  for (const wrong of [source.url, 'mysql://a:b@c/d', `postgres://${USER}:${PASSWORD}@[broken/x`, ''])
    await refused(2, /--to \(or DATABASE_URL\) must be postgres:/, source.url, wrong);

  const at = (changes: { port?: string; password?: string; pathname?: string }) =>
    Object.assign(new URL(url), changes).href;
  await refused(1, /the database server cannot be reached/, source.url, at({ port: '1' }));
  await refused(1, /\n {4}at /, source.url, at({ port: '1' }), { LOG_LEVEL: 'debug' });
  await refused(1, /refused the user or the password/, source.url, at({ password: `${PASSWORD}-wrong` }));
  await refused(1, /does not exist on the server/, source.url, at({ pathname: '/nowhere' }));

  t.strictSame(await contentOfTables(source.db, source.tables), before, 'the file is unchanged');
  const copied = await copy(t, source.url, url, { isTTY: true });
  t.match(copied, {
    code: 0,
    stdout: /^Copied \d+ rows of \d+ tables to test_[\d_]+ at .* and compared them\n$/,
  });
  t.match(copied.stderr, /rows #+ \d+\/\d+/);
  t.match(copied.stderr, /Set DATABASE_URL to the new database and start/);
});

t.test('an interrupted copy leaves an empty target and can be repeated', async (t) => {
  const source = await filled(t);
  const url = await target();
  await migrated(t, url);
  /** Executes a statement before each row of a table that is copied near the end. */
  const interfere = (statements: string): Promise<unknown> =>
    within(url, (client) =>
      client.query(`
        create or replace function interfere() returns trigger language plpgsql security definer as
          $$ begin ${statements} return new; end $$;
        create or replace trigger interfere before insert on tokens for each row execute function interfere()`),
    );

  const failures = {
    'perform pg_terminate_backend(pg_backend_pid());': /ended the connection/,
    "if new.revoked_at is null then raise exception 'no % here', new.name; end if;":
      /: the target refuses a row of table tokens \(P0001\): nothing was copied\n$/,
    "new.name := new.name || ' ';":
      /table tokens does not contain what was written \(3 of 3 rows\): nothing was copied/,
    'if new.revoked_at is null then return null; end if;':
      /does not contain what was written \(1 of 3 rows\)/,
  };
  for (const [statements, stderr] of Object.entries(failures)) {
    await interfere(statements);
    t.match(await copy(t, source.url, url), { code: 1, stdout: '', stderr }, statements);
    await isEmpty(t, url);
  }

  await t.test('because the process is killed', async (t) => {
    await interfere('perform pg_advisory_xact_lock(4711);');
    await within(url, async (client) => {
      await client.query('select pg_advisory_lock(4711)');
      const { child, ended } = startExecutable(t, ENVIRONMENT, ['copy', '--from', source.url, '--to', url]);
      const waiting = "select pid from pg_locks where locktype = 'advisory' and not granted";
      await eventually('the copy is in progress', () => client.query(waiting), { rowCount: 1 });
      child.kill('SIGKILL');
      t.match(await ended, { signal: 'SIGKILL', stdout: '' });
    });
    await isEmpty(t, url);
  });

  await within(url, (client) => client.query('drop function interfere() cascade'));
  const ran = await execute(t, ENVIRONMENT, ['copy', '--from', source.url, '--to', url]);
  t.match(ran, { code: 0, stdout: /Copied \d+ rows of \d+ tables/ });
  t.notOk(`${ran.stdout}${ran.stderr}`.includes(PASSWORD));
  t.strictSame(
    withoutCopy(await contentOfTables(open(t, url), source.tables)),
    withoutCopy(await contentOfTables(source.db, source.tables)),
  );
});

t.test('writes to the source or the target wait until the copy ends', async (t) => {
  const source = await filled(t);
  const url = await target();
  const db = await migrated(t, url);
  const writers = [open(t, source.url), open(t, url)];
  const writing: Promise<void>[] = [];
  // As another process would, outside any transaction of this one.
  const outside = AsyncLocalStorage.snapshot();
  const late = deductionOf('evt-late', { id: 'ded-late' });
  const before = await contentOfTables(source.db, ['inbox']);
  /** A wait has a limit, after which a provider delivers again. */
  const untilStored = async (one: Db): Promise<void> => {
    for (let isStored = false; !isStored; )
      isStored = await receive(one, [late]).then(
        () => true,
        (error) => {
          if (!isUnavailable(error)) throw error;
          return false;
        },
      );
  };
  const copied = await copyDatabase(source.db, db, ACTING, () => {
    if (writing.length === 0) outside(() => writing.push(...writers.map(untilStored)));
  });
  t.equal(copied.tables, source.tables.length);
  await Promise.all(writing);
  for (const one of writers) {
    const inbox = await one.selectFrom('inbox').select('event_id').orderBy('seq').execute();
    const expected = (before.get('inbox')?.length ?? 0) + 1;
    t.equal(inbox.length, expected, 'source and target each have one of the two events');
    t.equal(inbox.at(-1)?.event_id, 'evt-late');
  }
});
