/** The one row of `instance`. */
import type { Db } from './tables.ts';
import { transact } from './transaction.ts';

export async function databaseCreatedAt(db: Db): Promise<string> {
  return (await db.selectFrom('instance').select('created_at').executeTakeFirstOrThrow()).created_at;
}

/** Commits a write, which a full or read-only disk refuses. */
export async function probeCommit(db: Db, probed_at: string): Promise<void> {
  await transact(db, (trx) => trx.updateTable('instance').set({ probed_at }).execute());
}

/** Returns the time of the latest `probeCommit`, or null. */
export async function latestProbe(db: Db): Promise<string | null> {
  return (await db.selectFrom('instance').select('probed_at').executeTakeFirstOrThrow()).probed_at;
}

/** Returns why the clock of the sidecar that serves this SQLite file may be wrong, or null. */
export async function readClockWarning(db: Db): Promise<string | null> {
  const row = db.selectFrom('instance').select('clock_warning');
  return (await row.executeTakeFirstOrThrow()).clock_warning;
}

export async function storeClockWarning(db: Db, clock_warning: string | null): Promise<void> {
  await transact(db, (trx) => trx.updateTable('instance').set({ clock_warning }).execute());
}
