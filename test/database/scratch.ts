/** A separate database for each test, with the current schema, on the test's engine. */
import { readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Test } from 'tap';
import { migrate } from '../../src/database/migrate.ts';
import { openDatabase, sqlitePath } from '../../src/database/open.ts';
import type { Db } from '../../src/database/tables.ts';
import { engineOf, newDatabaseUrl, postgres } from '../support/engine.ts';
import { temporaryFolder } from '../support/memory.ts';
import { type Databases, EMPTY, execute, MIGRATED_AT, TEMPLATE } from '../support/postgres.ts';

/** The address of a database file that does not exist yet. */
export function scratchUrl(t: Test): string {
  return `sqlite:${realpathSync(t.testdir())}/sidecar.db`;
}

export function open(t: Test, url: string): Db {
  const db = openDatabase(url);
  t.teardown(() => db.destroy());
  return db;
}

/** A new, migrated sandbox database. A test that changes the schema uses `alterable`. */
export async function scratch(t: Test): Promise<{ db: Db; url: string }> {
  if (engineOf(t) === 'postgres') return onPostgres(t);
  const url = await newDatabaseUrl(t);
  migratedFile ??= makeMigratedFile();
  writeFileSync(sqlitePath(url), await migratedFile);
  return { db: open(t, url), url };
}

/** The bytes of a new database. Writing them takes a tenth of the time of migrating. */
let migratedFile: Promise<Buffer> | undefined;

async function makeMigratedFile(): Promise<Buffer> {
  const folder = temporaryFolder('scratch');
  const path = join(folder, 'sidecar.db');
  const db = openDatabase(`sqlite:${path}`);
  await migrate(db, 'sandbox', MIGRATED_AT);
  await db.destroy();
  const bytes = readFileSync(path);
  rmSync(folder, { recursive: true });
  return bytes;
}

/** The same for a test that changes the schema. */
export async function alterable(t: Test): Promise<{ db: Db; url: string }> {
  if (engineOf(t) === 'sqlite') return scratch(t);
  const url = await (await postgres()).create(TEMPLATE);
  return { db: open(t, url), url };
}

/** Databases of earlier tests, as good as new: emptying one is faster than creating one. */
const emptied = new Map<Databases, string[]>();

async function onPostgres(t: Test): Promise<{ db: Db; url: string }> {
  const server = await postgres();
  const free = emptied.get(server) ?? [];
  emptied.set(server, free);
  const url = free.pop() ?? (await server.create(TEMPLATE));
  // Runs last, when the test has closed what it opened.
  t.teardown(async () => {
    await execute(url, EMPTY);
    free.push(url);
  });
  return { db: open(t, url), url };
}
