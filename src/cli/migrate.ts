import { readDatabaseUrl, readEnvironment } from '../config.ts';
import { migrate as applyMigrations } from '../database/migrate.ts';
import { openDatabase } from '../database/open.ts';
import type { Context } from './context.ts';

/** Brings the schema up to this release, making the database where there is none; prints what was applied. */
export async function migrate({ env, out, now }: Context, { json }: { json?: true }): Promise<number> {
  const url = readDatabaseUrl(env);
  const environment = readEnvironment(env);
  const db = openDatabase(url);
  try {
    const applied = await applyMigrations(db, environment, now());
    if (json) out.json({ environment, applied });
    else if (applied.length === 0) out.note(`nothing to do: the ${environment} database is up to date`);
    else out.print(applied.join('\n'));
    return 0;
  } finally {
    await db.destroy();
  }
}
