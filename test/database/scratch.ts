/** A separate database for each test, with the current schema, on the test's engine. */
import { realpathSync, writeFileSync } from 'node:fs';
import type { Test } from 'tap';
import { openDatabase, sqlitePath } from '../../src/database/open.ts';
import type { LockTurns } from '../../src/database/sqlite.ts';
import type { Db } from '../../src/database/tables.ts';
import { engineOf, newDatabaseUrl, postgres } from '../support/engine.ts';
import { type Databases, EMPTY, execute, TEMPLATE } from '../support/postgres.ts';
import { readMigrated } from './migrated.ts';

/** The address of a database file that does not exist yet. */
export function scratchUrl(t: Test): string {
  return `sqlite:${realpathSync(t.testdir())}/sidecar.db`;
}

export function open(t: Test, url: string, turns?: LockTurns): Db {
  const db = openDatabase(url, undefined, turns);
  t.teardown(() => db.destroy());
  return db;
}

let migrated: Promise<Buffer> | undefined;

/** A new, migrated sandbox database. A test that changes the schema uses `alterable`. */
export async function scratch(t: Test): Promise<{ db: Db; url: string }> {
  if (engineOf(t) === 'postgres') return onPostgres(t);
  const url = await newDatabaseUrl(t);
  migrated ??= readMigrated();
  writeFileSync(sqlitePath(url), await migrated);
  return { db: open(t, url), url };
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
