import { existsSync } from 'node:fs';
import { isDatabaseUrl, readDatabaseUrl, readEnvironment } from '../config.ts';
import { engineOfUrl } from '../database/engine.ts';
import { checkSchema, migrate, SchemaRefused } from '../database/migrate.ts';
import { holdServeLock, openDatabase, sqlitePath } from '../database/open.ts';
import type { Db } from '../database/tables.ts';
import { assertEmpty, copyDatabase, countRows } from '../operations/copy.ts';
import type { Context } from './context.ts';
import { CommandFailed, WrongUsage } from './failure.ts';
import { printable } from './output.ts';
import { showProgress } from './progress.ts';
import { nameOfDatabase } from './where.ts';

type Options = { from: string; to?: string; json?: true };

/**
 * Moves everything from a SQLite file to an empty PostgreSQL database while nothing serves either: all or nothing,
 * counts and contents compared before it is committed. The file stays as it is.
 */
export async function copy({ env, out, now }: Context, { from, to, json }: Options): Promise<number> {
  const environment = readEnvironment(env);
  const target = to ?? readDatabaseUrl(env);
  const path = sqliteFile(from);
  if (!isDatabaseUrl(target) || engineOfUrl(target) !== 'postgres') {
    throw new WrongUsage('--to (or DATABASE_URL) must be postgres://user:password@host:5432/database');
  }
  const name = nameOfDatabase(target);
  // Nothing may come in meanwhile that the copy would not have.
  const release = holdServeLock(from);
  const opened: Db[] = [];
  const open = (url: string): Db => {
    const db = openDatabase(url);
    opened.push(db);
    return db;
  };
  try {
    const [source, destination] = [open(from), open(target)];
    await saying('the file of --from', checkSchema(source, environment));
    // Before it is migrated: the target that was given by mistake may be one that an older release serves.
    await assertEmpty(destination);
    await saying('the target', migrate(destination, environment, now()));
    const progress = await showProgress(out, 'rows', await countRows(source));
    const copied = await copyDatabase(source, destination, progress.set).finally(progress.end);
    const summary = { from: path, to: name, ...copied };
    if (json) out.json(summary);
    else {
      out.print(`${copied.rows} rows of ${copied.tables} tables copied to ${printable(name)} and compared`);
      out.note(
        `set DATABASE_URL to it and start; ${printable(path)} is as it was: keep it until you have a backup`,
      );
    }
    return 0;
  } finally {
    await Promise.all(opened.map((db) => db.destroy()));
    release();
  }
}

/** Says which of the two databases was refused. */
async function saying<R>(which: string, checked: Promise<R>): Promise<R> {
  try {
    return await checked;
  } catch (error) {
    if (!(error instanceof SchemaRefused)) throw error;
    throw new CommandFailed(`${which}: ${error.message}`, { cause: error });
  }
}

/** The path, of a file that exists: opening would make an empty one. */
function sqliteFile(from: string): string {
  if (!isDatabaseUrl(from) || engineOfUrl(from) !== 'sqlite') {
    throw new WrongUsage('--from must be sqlite: and the path of a file, such as sqlite:./data/sidecar.db');
  }
  const path = sqlitePath(from);
  if (!existsSync(path)) throw new WrongUsage(`--from: there is no database at ${path}`);
  return path;
}
