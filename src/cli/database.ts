import { existsSync } from 'node:fs';
import { readDatabaseUrl, readEnvironment } from '../config.ts';
import { engineOfUrl } from '../database/engine.ts';
import type { Db } from '../database/tables.ts';
import type { Context } from './context.ts';
import { CommandFailed } from './failure.ts';

/**
 * Opens the configured database for one command, also beside a running `serve`, and closes it again. Throws when
 * there is none, so that a command started in the wrong folder leaves no empty one behind, and `SchemaRefused`
 * when it is not the one that this release and configuration expect.
 */
export async function withDatabase<R>({ env }: Context, work: (db: Db) => Promise<R>): Promise<R> {
  const url = readDatabaseUrl(env);
  const environment = readEnvironment(env);
  const [{ openDatabase, sqlitePath }, { checkSchema }] = await Promise.all([
    import('../database/open.ts'),
    import('../database/migrate.ts'),
  ]);
  if (engineOfUrl(url) === 'sqlite' && !existsSync(sqlitePath(url))) {
    throw new CommandFailed(
      `there is no database at ${sqlitePath(url)}: check DATABASE_URL, or run "benefits-sidecar migrate" to make it`,
    );
  }
  const db = openDatabase(url);
  try {
    await checkSchema(db, environment);
    return await work(db);
  } finally {
    await db.destroy();
  }
}
