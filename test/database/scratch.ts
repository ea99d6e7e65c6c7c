/** A separate database for each test, with the current schema, on the engine of this run. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import type { Test } from 'tap';
import { migrate } from '../../src/database/migrate.ts';
import { openDatabase, sqlitePath } from '../../src/database/open.ts';
import type { Db } from '../../src/database/tables.ts';
import { engineOfTests, newDatabaseUrl } from '../support/engine.ts';

/** The address of a database file that does not exist yet. */
export function scratchUrl(t: Test): string {
  return `sqlite:${t.testdir()}/sidecar.db`;
}

/** Opens the database and closes it when the test ends. */
export function open(t: Test, url: string): Db {
  const db = openDatabase(url);
  t.teardown(() => db.destroy());
  return db;
}

/** A new, migrated sandbox database. A test that changes the schema needs its own database instead. */
export async function scratch(t: Test): Promise<{ db: Db; url: string }> {
  if (engineOfTests() === 'postgres') return onPostgres(t);
  const url = await newDatabaseUrl(t);
  migratedFile ??= makeMigratedFile();
  writeFileSync(sqlitePath(url), await migratedFile);
  return { db: open(t, url), url };
}

const MIGRATED_AT = new Date('2026-01-31T09:30:00.000Z');

/** The bytes of a new database. Writing them takes a tenth of the time of migrating. */
let migratedFile: Promise<Buffer> | undefined;

async function makeMigratedFile(): Promise<Buffer> {
  const folder = mkdtempSync(join(tmpdir(), 'benefits-sidecar-scratch-'));
  const path = join(folder, 'sidecar.db');
  const db = openDatabase(`sqlite:${path}`);
  await migrate(db, 'sandbox', MIGRATED_AT);
  await db.destroy();
  const bytes = readFileSync(path);
  rmSync(folder, { recursive: true });
  return bytes;
}

/** Emptied databases of earlier tests. Creating one takes PostgreSQL twenty times as long as emptying one. */
const emptied: string[] = [];

async function onPostgres(t: Test): Promise<{ db: Db; url: string }> {
  const used = emptied.pop();
  const url = used ?? (await newDatabaseUrl(t));
  // Runs last, after the test has closed what it opened.
  t.teardown(async () => {
    await run(url, EMPTY);
    emptied.push(url);
  });
  const db = open(t, url);
  if (used === undefined) {
    await migrate(db, 'sandbox', MIGRATED_AT);
    await run(url, KEEP);
  }
  return { db, url };
}

/** Saves the rows that the migrations create. */
const KEEP = `do $$
declare kept text;
begin
  create schema as_new;
  for kept in select tablename from pg_tables where schemaname = 'public' loop
    execute format('create table as_new.%I as table public.%I', kept, kept);
  end loop;
end $$`;

/** Fails on a lock that a test left behind. Runs without triggers, because the ledger rejects deletions. */
const EMPTY = `do $$
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

async function run(url: string, text: string): Promise<void> {
  const client = new Client(url);
  await client.connect();
  try {
    await client.query(text);
  } finally {
    await client.end();
  }
}
