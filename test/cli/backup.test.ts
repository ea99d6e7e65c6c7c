import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import BetterSqlite3 from 'better-sqlite3';
import t, { type Test } from 'tap';
import { readDataKeys } from '../../src/config.ts';
import { migrate } from '../../src/database/migrate.ts';
import { holdServeLock, openDatabase, sqlitePath } from '../../src/database/open.ts';
import type { Db } from '../../src/database/tables.ts';
import { writeMark } from '../../src/inbox/data-loss.ts';
import { backUp } from '../../src/operations/backup.ts';
import { copyToPrepared } from '../../src/operations/restore.ts';
import { createEncryptor } from '../../src/security/encryption.ts';
import { deductionOf, deliver } from '../api/deliver.ts';
import { open } from '../database/scratch.ts';
import { acceptChange } from '../employment/stage.ts';
import { onSqlite } from '../support/engine.ts';
import { commandsWith, environment, jsonOf, type Variables, withFixtures } from './harness.ts';

const OTHER_KEY = `k1:${Buffer.alloc(32, 'o').toString('base64')}`;
const NEXT_KEY = `k2:${Buffer.alloc(32, 'n').toString('base64')}`;

/** The command line of a served database, a folder for its backups, and a second place to restore to. */
async function stage(t: Test) {
  const served = await withFixtures(t);
  const url = served.env.DATABASE_URL as string;
  const folder = join(dirname(sqlitePath(url)), 'backups');
  mkdirSync(folder);
  const file = join(folder, 'backup.db');
  const elsewhere: Variables = { ...served.env, DATABASE_URL: `sqlite:${folder}/elsewhere/sidecar.db` };
  return {
    ...{ ...served, url, path: sqlitePath(url), folder, file, elsewhere },
    there: commandsWith(t, elsewhere),
    backUpFirst: async () => t.match(await served.cli('backup', file), { code: 0 }),
    /** The same commands with changed variables. */
    withEnv: (more: Variables) => commandsWith(t, { ...served.env, ...more }),
  };
}

const test = onSqlite.with(stage);

/** Calls `work` with the database of a file. */
function inFile<R>(path: string, work: (handle: BetterSqlite3.Database) => R): R {
  const handle = new BetterSqlite3(path);
  try {
    return work(handle);
  } finally {
    handle.close();
  }
}

const mode = (path: string) => statSync(path).mode & 0o777;

test('a backup is one complete file for its owner only and reports its newest event', async (t, {
  cli,
  withEnv,
  folder,
  file,
}) => {
  const ran = await cli('backup', file, '--json');
  t.equal(ran.code, 0, ran.stderr);
  const copied = { file, bytes: statSync(file).size, environment: 'sandbox', ms: Number };
  t.match(jsonOf(ran), { ...copied, position: 12, event_id: 'msg_fixture0000000000016' });
  t.equal(mode(file), 0o600);
  t.strictSame(readdirSync(folder), ['backup.db'], 'no other file');
  const verified = await withEnv({ DATABASE_URL: `sqlite:${file}` }).json('verify');
  t.match(verified, { clean: true, position: 12 });
});

test('a backup and a restore are recorded with the heads of the chain', async (t, {
  db,
  url,
  json,
  file,
}) => {
  const newestRecord = (of: Db) =>
    of.selectFrom('audit_records').selectAll().orderBy('record_id', 'desc').executeTakeFirstOrThrow();
  const { audit_head } = await json('backup', file);
  const backup = await newestRecord(db);
  t.match(backup, { action: 'database.back-up', actor_kind: 'cli' });
  t.match(JSON.parse(backup.details), { file, audit_head });
  await db.destroy();
  const heads = { backup_head: audit_head, replaced_head: `${backup.record_id}:${backup.hash}` };
  t.match(await json('restore', file, '--yes'), heads);
  const record = await newestRecord(open(t, url));
  t.match(record, { action: 'database.restore', record_id: backup.record_id, actor_kind: 'cli' });
  t.strictSame(JSON.parse(record.details), heads);
  t.match(await json('verify'), { clean: true });
});

test('a backup whose record cannot be written succeeds and reports it', async (t, { cli, path, file }) => {
  const other = new BetterSqlite3(path);
  t.teardown(() => other.close());
  other.exec('BEGIN IMMEDIATE');
  const ran = await cli('backup', file, '--json');
  t.match(ran, { code: 0, stderr: /its audit record could not be written \(LOCK_TIMEOUT\)/ });
  t.match(jsonOf(ran), { file, recorded: false });
});

test('a backup replaces a file only with --yes and leaves nothing when it fails', async (t, world) => {
  const { db, path, folder, file, cli, json, backUpFirst, withEnv } = world;
  await backUpFirst();
  const before = readFileSync(file);
  t.match(await cli('backup', file), { code: 2, stderr: /backup\.db exists, [\s\S]*add --yes/ });
  t.strictSame(readFileSync(file), before);
  t.match(await cli('backup', path, '--yes'), { code: 2, stderr: /is the database itself/ });
  const nowhere = await cli('backup', join(folder, 'none', 'b.db'));
  t.match(nowhere, { code: 1, stderr: /does not exist/ });
  const live = await withEnv({ BENEFITS_ENVIRONMENT: 'live' }).cli('backup', join(folder, 'live.db'));
  t.match(live, { code: 1, stderr: /belongs to sandbox/ });
  const on = { copied: () => {}, signal: AbortSignal.abort(), environment: 'sandbox' } as const;
  await t.rejects(backUp(path, join(folder, 'b.db'), on), { name: 'AbortError' });
  t.strictSame(readdirSync(folder), ['backup.db']);

  await deliver(db, [deductionOf('later', { id: 'd-later' })]);
  writeFileSync(`${file}-wal`, 'a log of the earlier file');
  t.match(await json('backup', file, '--yes'), { event_id: 'later', position: 13 });
  t.strictSame(readdirSync(folder), ['backup.db'], 'no log that belongs to another file');
});

test('a backup never replaces the database of a sidecar or the files next to it', async (t, world) => {
  const { path, file, cli, withEnv } = world;
  const auxiliary = { code: 2, stderr: /the name of an auxiliary file of a database/ };
  for (const end of ['wal', 'shm', 'journal', 'hint', 'serve', 'restoring', 'restoring-compact'])
    t.match(await cli('backup', `${path}-${end}`, '--yes'), auxiliary, end);
  t.match(await withEnv({ DATABASE_URL: `sqlite:${file}` }).cli('migrate'), { code: 0 });
  const bytes = readFileSync(file);
  const release = holdServeLock(`sqlite:${file}`);
  const refused = { code: 1, stderr: /is a database that a sidecar serves or served/ };
  t.match(await cli('backup', file, '--yes'), refused, 'a served database');
  symlinkSync(file, `${file}.link`);
  t.match(await cli('backup', `${file}.link`, '--yes'), refused, 'by another name');
  release();
  t.match(await cli('backup', file, '--yes'), refused, 'a stopped database');
  t.strictSame(readFileSync(file), bytes);
});

t.test("on PostgreSQL the command names the engine's tools and no password", async (t) => {
  const env = { ...environment(t), DATABASE_URL: 'postgres://sidecar:s3cret-word@db.example:5432/benefits' };
  const address = "--dbname='postgres://sidecar@db.example:5432/benefits'";
  for (const [command, tool] of [
    ['backup', `pg_dump --format=custom --file='b.dump' ${address}`],
    ['restore', /pg_restore .* 'b\.dump'/],
  ] as const) {
    const ran = await commandsWith(t, env).cli(command, 'b.dump');
    t.match(ran, { code: 1, stdout: '', stderr: tool });
    t.notMatch(ran.stderr, /s3cret/);
  }
});

test('a backup restores where no database exists and reports from when to replay', async (t, world) => {
  const { file, backUpFirst, elsewhere, there } = world;
  await backUpFirst();
  const newest = { event_id: 'msg_fixture0000000000016', received_at: '2026-01-15T00:00:00.000Z' };
  t.match(await there.json('restore', file), {
    ...{ kept: null, replaced: null, restored: { position: 12, ...newest } },
    ...{ replay_from: '2026-01-13T20:00:00.000Z', migrations_due: 0 },
  });
  const path = sqlitePath(elsewhere.DATABASE_URL as string);
  t.equal(mode(path), 0o600);
  t.match(await there.cli('verify'), { code: 0 });
  t.ok(existsSync(file), 'the backup stays');
  chmodSync(file, 0o644);
  const on = { copied: () => {}, signal: new AbortController().signal };
  t.equal(mode(await copyToPrepared(file, path, on)), 0o600, 'nor can others read the copy that is prepared');
});

test('a restored file has no free pages', async (t, world) => {
  const { file, path, backUpFirst, elsewhere, there } = world;
  const freePages = (of: string) => inFile(of, (handle) => handle.pragma('freelist_count', { simple: true }));
  inFile(path, (handle) =>
    handle.exec('create table dropped as select randomblob(100000) as bytes; drop table dropped'),
  );
  await backUpFirst();
  t.ok(Number(freePages(file)) > 10);
  t.match(await there.cli('restore', file), { code: 0 });
  t.equal(freePages(sqlitePath(elsewhere.DATABASE_URL as string)), 0);
});

test('a replaced database is kept with the commits of its log', async (t, world) => {
  const { db, file, url, path, cli, json, backUpFirst, withEnv } = world;
  await backUpFirst();
  await deliver(db, [deductionOf('later', { id: 'd-later' })]);
  writeMark(url, { position: 13, seq: 17, received_at: null });

  const stderr =
    /has later, .* \(position 13\)\. The backup has msg_fixture\d+, .* \(position 12\)[\s\S]*--yes/;
  t.match(await cli('restore', file), { code: 2, stderr });
  const inUse = await cli('restore', file, '--yes');
  t.match(inUse, { code: 1, stderr: /another process has .* open/ }, 'by this test');
  t.equal((await db.selectFrom('inbox').select('seq').execute()).length, 17, 'nothing changed');
  await db.destroy();

  const { kept, ...rest } = await json('restore', file, '--yes');
  t.match(rest, { restored: { event_id: 'msg_fixture0000000000016' }, replaced: { event_id: 'later' } });
  t.notOk(existsSync(`${path}-hint`), 'the high-water mark starts over');
  t.notOk(existsSync(`${path}-restoring`));
  t.match(await json('verify'), { clean: true, position: 12 });
  const keptFile = withEnv({ DATABASE_URL: `sqlite:${kept}` });
  t.match(await keptFile.json('verify'), { clean: true, position: 13 });
});

test('an invalid backup replaces nothing', async (t, world) => {
  const { env, db, folder, file, backUpFirst, elsewhere, there } = world;
  const accepting = { db, encryptor: createEncryptor(readDataKeys(env)), sharedNow: async () => new Date() };
  const body = { employee_id: 'e-1', termination_date: '2026-08-01' };
  await acceptChange(accepting, { kind: 'termination', body, effectiveOn: null, payGroup: null }, null);
  await backUpFirst();
  const refused = async (given: Variables, from: string, why: RegExp) => {
    t.match(await commandsWith(t, given).cli('restore', from), { code: 1, stderr: why }, `${why}`);
    const left = readdirSync(join(folder, 'elsewhere'));
    t.equal(left.join(), left.includes('sidecar.db-serve') ? 'sidecar.db-serve' : '');
  };
  const copy = (name: string, change: (bytes: Buffer) => void): string => {
    const bytes = readFileSync(file);
    change(bytes);
    writeFileSync(join(folder, name), bytes);
    return join(folder, name);
  };
  const altered = (name: string, statement: string): string => {
    const path = copy(name, () => {});
    inFile(path, (handle) => handle.exec(statement));
    return path;
  };
  await refused({ ...elsewhere, BENEFITS_ENVIRONMENT: 'live' }, file, /belongs to sandbox/);
  await refused({ ...elsewhere, DATA_KEYS: NEXT_KEY }, file, /2 values encrypted with key k1/);
  await refused({ ...elsewhere, DATA_KEYS: OTHER_KEY }, file, /cannot be decrypted/);
  const text = copy('text.db', (bytes) => bytes.write('no database at all'));
  await refused(elsewhere, text, /not a SQLite database/);
  const cut = copy('cut.db', (bytes) => bytes.fill(0, bytes.length / 2));
  await refused(elsewhere, cut, /damaged/);
  await refused(elsewhere, altered('other.db', 'drop table instance'), /not a benefits-sidecar database/);
  const newer = "insert into migrations values (999, '0999_later', 'x', '2030-01-01T00:00:00.000Z')";
  await refused(elsewhere, altered('newer.db', newer), /start the newer release/);
  await refused(elsewhere, join(folder, 'none.db'), /there is no file/);
  const spy = 'create trigger spy after insert on inbox begin delete from tokens; end';
  await refused(elsewhere, altered('trigger.db', spy), /its schema was altered: trigger spy was added/);
  const view = 'alter table tokens rename to x; create view tokens as select * from x';
  await refused(elsewhere, altered('view.db', view), /its schema was altered: table tokens is missing/);
  const endless = 'with recursive n as (select 1 as one union all select 1 from n) select one from n';
  for (const table of ['migrations', 'instance']) {
    const replaced = `drop table ${table}; create view ${table} as ${endless}`;
    await refused(elsewhere, altered(`${table}.db`, replaced), /not a benefits-sidecar database/);
  }

  const given = commandsWith(t, { ...elsewhere, DATA_KEYS: NEXT_KEY });
  t.match(await given.cli('restore', file, '--without-keys'), { code: 0 }, 'unless --without-keys is set');
  const release = holdServeLock(elsewhere.DATABASE_URL as string);
  t.match(await there.cli('restore', file, '--yes'), {
    code: 1,
    stderr: /a sidecar is running on this database/,
  });
  release();
});

test('a file whose kind or name rules it out as a backup is rejected unchanged', async (t, world) => {
  const { url, folder, file, backUpFirst, elsewhere, there } = world;
  await backUpFirst();
  const path = sqlitePath(elsewhere.DATABASE_URL as string);
  mkdirSync(dirname(path));
  execFileSync('mkfifo', [join(folder, 'pipe')]);
  for (const none of ['pipe', 'elsewhere'])
    t.match(await there.cli('restore', join(folder, none)), { code: 1, stderr: /there is no file/ }, none);
  for (const end of ['restoring', 'restoring-compact']) {
    copyFileSync(file, `${path}-${end}`);
    const ran = await there.cli('restore', `${path}-${end}`);
    t.match(ran, { code: 2, stderr: /a name that this command uses/ }, end);
    t.strictSame(readFileSync(`${path}-${end}`), readFileSync(file));
  }
  const release = holdServeLock(url);
  t.match(await there.cli('restore', sqlitePath(url)), {
    code: 1,
    stderr: /is the database of a running sidecar/,
  });
  release();
  t.notOk(existsSync(path));
});

test('the copied files of a stopped service restore together with their log', async (t, {
  path,
  folder,
  there,
}) => {
  // As after a crash: the newest commits are only in the log.
  for (const end of ['', '-wal']) writeFileSync(join(folder, `cold.db${end}`), readFileSync(`${path}${end}`));
  t.match(await there.json('restore', join(folder, 'cold.db')), { restored: { position: 12 } });
  t.match(await there.cli('verify'), { code: 0 });
});

t.test('the next start migrates a restored backup of an earlier release', async (t) => {
  const emptied = environment(t);
  const folder = t.testdir();
  const older = openDatabase(`sqlite:${folder}/older.db`);
  const released = new URL('../../db/', import.meta.url);
  cpSync(released, join(folder, 'db'), { recursive: true });
  const newest = globSync('*.sql', { cwd: join(folder, 'db') })
    .sort()
    .at(-1) as string;
  rmSync(join(folder, 'db', newest));
  await migrate(older, 'sandbox', new Date(), { folder: pathToFileURL(`${folder}/db/`) });
  await older.destroy();
  const env = { ...emptied, DATABASE_URL: `sqlite:${folder}/sidecar.db` };
  const restored = await commandsWith(t, env).json('restore', `${folder}/older.db`);
  t.match(restored, { migrations_due: 1, replay_from: null });
});
