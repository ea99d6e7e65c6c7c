/** A database of its own for each test: a real file, at this code's schema. */
import type { Test } from 'tap';
import { migrate } from '../../src/database/migrate.ts';
import { openDatabase } from '../../src/database/open.ts';
import type { Db } from '../../src/database/tables.ts';

/** The address of a database file that does not exist yet. */
export function scratchUrl(t: Test): string {
  return `sqlite:${t.testdir()}/sidecar.db`;
}

/** Opens it, and closes it when the test ends. */
export function open(t: Test, url: string): Db {
  const db = openDatabase(url);
  t.teardown(() => db.destroy());
  return db;
}

/** A new, migrated sandbox database. */
export async function scratch(t: Test): Promise<{ db: Db; url: string }> {
  const url = scratchUrl(t);
  const db = open(t, url);
  await migrate(db, 'sandbox', new Date('2026-01-31T09:30:00.000Z'));
  return { db, url };
}
