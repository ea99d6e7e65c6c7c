/** The file of a new, migrated sandbox database, which all test files of a run share. */
import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { migrate } from '../../src/database/migrate.ts';
import { openDatabase } from '../../src/database/open.ts';
import { keptFolder } from '../support/kept.ts';
import { temporaryFolder } from '../support/memory.ts';
import { MIGRATED_AT } from '../support/postgres.ts';
import { isRunByTap, nameInRun } from '../support/shared.ts';

const NAME = 'sidecar.db';

/** Returns the bytes of the file. Migrating takes ten times as long as copying it. */
export async function readMigrated(): Promise<Buffer> {
  if (isRunByTap) return readFileSync(join(await keptFolder(nameInRun('migrated'), makeMigrated), NAME));
  const folder = temporaryFolder('scratch');
  await makeMigrated(folder);
  const bytes = readFileSync(join(folder, NAME));
  rmSync(folder, { recursive: true });
  return bytes;
}

async function makeMigrated(folder: string): Promise<void> {
  mkdirSync(folder, { recursive: true });
  const db = openDatabase(`sqlite:${join(folder, NAME)}`);
  await migrate(db, 'sandbox', MIGRATED_AT);
  await db.destroy();
}
