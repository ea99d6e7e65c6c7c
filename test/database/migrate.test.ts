import { appendFileSync, cpSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import BetterSqlite3 from 'better-sqlite3';
import type { Test } from 'tap';
import { checkSchema, migrate } from '../../src/database/migrate.ts';
import { openDatabase, sqlitePath } from '../../src/database/open.ts';
import { transact } from '../../src/database/transaction.ts';
import { engineOf, newDatabaseUrl, onEitherEngine, onSqlite, tablesOf } from '../support/engine.ts';
import { startChild } from './child.ts';
import { open, scratch } from './scratch.ts';

const NOW = new Date('2026-01-31T09:30:00.000Z');
const RELEASED = new URL('../../db/', import.meta.url);
/** A migration of the next release. */
const NEXT = 'CREATE TABLE next (\n  one INTEGER\n);\n';

/** A copy of the released migrations to change, and a database with them applied. */
async function copied(t: Test, name?: string) {
  const db = open(t, name === undefined ? await newDatabaseUrl(t) : await anotherUrl(t, name));
  await migrate(db, 'sandbox', NOW);
  const path = join(t.testdirName, 'db');
  // On PostgreSQL nothing else clears the table of an earlier test.
  rmSync(path, { recursive: true, force: true });
  cpSync(RELEASED, path, { recursive: true });
  const applied = await db.selectFrom('migrations').select('number').execute();
  const number = String(applied.length + 1).padStart(4, '0');
  const write = (text = NEXT) => writeFileSync(join(path, `${number}_next.sql`), text);
  return { db, path, folder: pathToFileURL(`${path}/`), write };
}

const test = onEitherEngine.with(copied);

/** The address of a second database, without tables. */
function anotherUrl(t: Test, name: string): Promise<string> | string {
  return engineOf(t) === 'sqlite' ? `sqlite:${t.testdirName}/${name}.db` : newDatabaseUrl(t);
}

onEitherEngine('a new database gets the whole schema, and migrating again changes nothing', async (t) => {
  const db = open(t, await newDatabaseUrl(t));
  const applied = await migrate(db, 'live', NOW);
  t.equal(applied[0], '0001_database');
  const rows = () => db.selectFrom('migrations').selectAll().orderBy('number').execute();
  const before = await rows();
  t.equal(before.length, applied.length);
  const first = { number: 1, name: '0001_database', hash: /^[0-9a-f]{64}$/, applied_at: NOW.toISOString() };
  t.match(before[0], first);
  t.strictSame(await migrate(db, 'live', new Date()), []);
  t.strictSame(await rows(), before);
  t.strictSame(await db.selectFrom('instance').selectAll().execute(), [
    {
      id: 1,
      environment: 'live',
      created_at: NOW.toISOString(),
      time_zone: 'UTC',
      probed_at: null,
      clock_warning: null,
    },
  ]);
  await t.resolves(checkSchema(db, 'live'));
});

onEitherEngine('a start without migrations rejects an outdated database', async (t) => {
  const db = open(t, await newDatabaseUrl(t));
  await t.rejects(checkSchema(db, 'sandbox'), { code: 'SCHEMA_REFUSED', message: /0001_database.*migrate/ });

  const { db: behind, folder, write } = await copied(t);
  write();
  const message = /lacks 1 migration\(s\) of this release, from \d+_next/;
  await t.rejects(checkSchema(behind, 'sandbox', folder), { message });
  t.notOk((await tablesOf(behind)).includes('next'));
});

onEitherEngine('a database of another program is rejected and not changed', async (t) => {
  for (const name of ['users', 'migrations']) {
    const db = open(t, await anotherUrl(t, name));
    await transact(db, (trx) => trx.schema.createTable(name).addColumn('id', 'integer').execute());
    const rejection = { code: 'SCHEMA_REFUSED', message: /tables of another program.*check DATABASE_URL/ };
    await t.rejects(migrate(db, 'sandbox', NOW), rejection);
    await t.rejects(checkSchema(db, 'sandbox'), rejection);
    t.strictSame(await tablesOf(db), [name]);
  }
});

test('a failed migration rolls back all pending migrations', async (t, { db, folder, write }) => {
  const before = await tablesOf(db);
  write(`${NEXT}INSERT INTO nowhere VALUES (1);\n`);
  await t.rejects(migrate(db, 'sandbox', NOW, { folder }), { message: /nowhere/ });
  t.strictSame(await tablesOf(db), before);

  const fresh = open(t, await anotherUrl(t, 'fresh'));
  await t.rejects(migrate(fresh, 'sandbox', NOW, { folder }), { message: /nowhere/ });
  t.strictSame(await tablesOf(fresh), [], 'a first start leaves nothing either');

  write();
  t.match(await migrate(db, 'sandbox', NOW, { folder }), [/_next$/], 'the corrected migration is applied');
});

test('a migration that was edited after it was applied is rejected', async (t, { db, path, folder }) => {
  appendFileSync(join(path, '0001_database.sql'), '-- a harmless remark\n');
  const refusal = { code: 'SCHEMA_REFUSED', message: /0001_database differs from the file that was applied/ };
  await t.rejects(migrate(db, 'sandbox', NOW, { folder }), refusal);
  await t.rejects(checkSchema(db, 'sandbox', folder), refusal);
});

test('a database newer than the code is rejected', async (t, { db, path, folder, write }) => {
  write();
  await migrate(db, 'sandbox', NOW, { folder });
  const refusal = { code: 'SCHEMA_REFUSED', message: /_next, which this release does not know: .*newer/ };
  await t.rejects(migrate(db, 'sandbox', NOW), refusal);
  await t.rejects(checkSchema(db, 'sandbox'), refusal);
  rmSync(path, { recursive: true });
});

test('a database of another environment or time zone is not even migrated', async (t, {
  db,
  folder,
  write,
}) => {
  write();
  await t.rejects(migrate(db, 'live', NOW, { folder }), { code: 'SCHEMA_REFUSED', message: /ENVIRONMENT/ });
  const timeZone = 'America/New_York';
  const refusal = { code: 'SCHEMA_REFUSED', message: /TIME_ZONE/ };
  await t.rejects(migrate(db, 'sandbox', NOW, { folder, timeZone }), refusal);
  t.notOk((await tablesOf(db)).includes('next'));
});

onEitherEngine('processes that start at the same time on a new database migrate it once', async (t) => {
  const url = await newDatabaseUrl(t);
  const children = [1, 2, 3].map(() => startChild(t, 'child-migrates.ts', url));
  for (const child of children) t.equal(await child.line(), 'ready');
  for (const child of children) child.process.stdin!.write('go');
  const applied = await Promise.all(children.map((child) => child.line()));
  t.strictSame(await Promise.all(children.map((child) => child.end())), [0, 0, 0]);
  const rows = await open(t, url).selectFrom('migrations').select('name').orderBy('number').execute();
  const all = JSON.stringify(rows.map(({ name }) => name));
  t.strictSame(applied.sort(), [all, '[]', '[]'].sort(), 'one process applied all migrations');
});

onEitherEngine('a migration killed at any statement leaves the old schema', async (t) => {
  const { db: whole } = await scratch(t);
  const schema = await tablesOf(whole);
  for (const dieBefore of ['2', '20', 'commit']) {
    const url = await anotherUrl(t, `killed-${dieBefore}`);
    const child = startChild(t, 'child-migrates.ts', url, dieBefore);
    t.equal(await child.line(), 'ready');
    child.process.stdin!.write('go');
    t.equal(await child.end(), 'SIGKILL', `killed before ${dieBefore}`);
    const db = openDatabase(url);
    t.strictSame(await tablesOf(db), [], 'nothing between');
    t.equal((await migrate(db, 'sandbox', NOW)).length > 0, true);
    t.strictSame(await tablesOf(db), schema);
    await db.destroy();
  }
});

onSqlite('CHECK constraints build no temporary tree', async (t) => {
  const { url } = await scratch(t);
  const handle = new BetterSqlite3(sqlitePath(url));
  t.teardown(() => handle.close());
  const columnsOf = handle.prepare<[string], string>('select name from pragma_table_info(?)').pluck();
  const builds = (table: string): boolean => {
    const values = columnsOf.all(table).map(() => 'null');
    const program = handle.prepare<[], { opcode: string }>(`explain insert into ${table} values (${values})`);
    return program.all().some(({ opcode }) => opcode === 'OpenEphemeral');
  };
  const listed = "select name from sqlite_schema where type = 'table' and name not like 'sqlite_%'";
  const tables = handle.prepare<[], string>(listed).pluck().all();
  t.ok(tables.length > 20, 'all tables are checked');
  t.strictSame(tables.filter(builds), []);
});

onEitherEngine('a row without its parent is rejected', async (t) => {
  const { db } = await scratch(t);
  const chunk = { census_id: 'none', chunk: 0, ciphertext: Buffer.alloc(1) };
  const inserting = transact(db, (trx) => trx.insertInto('census_chunks').values(chunk).execute());
  const code = engineOf(t) === 'sqlite' ? 'SQLITE_CONSTRAINT_FOREIGNKEY' : '23503';
  await t.rejects(inserting, { code });
});
