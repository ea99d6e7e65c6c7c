/** The command that restores a backup. */
import { existsSync, realpathSync, rmSync, statSync } from 'node:fs';
import type { Command } from 'commander';
import { readDatabaseUrl, readDataKeys, readEnvironment, readRetention } from '../../config.ts';
import { engineOfUrl, tableExists } from '../../database/engine.ts';
import { countDue } from '../../database/migrate.ts';
import { holdServeLock, isServed, sqliteFile } from '../../database/open.ts';
import { assertSchemaUnaltered } from '../../database/schema-check.ts';
import type { Db } from '../../database/tables.ts';
import { AppError, codeOf, isAppError } from '../../errors.ts';
import { whatToReplay } from '../../inbox/data-loss.ts';
import { removeMark } from '../../inbox/high-water-mark.ts';
import { type Newest, readNewest, replayFrom } from '../../inbox/newest.ts';
import { assertWhole, withFile } from '../../operations/backup.ts';
import {
  compact,
  copyToPrepared,
  dropPrepared,
  isThere,
  keptName,
  preparedNames,
  replaceDatabase,
} from '../../operations/restore.ts';
import { isAnyDropped } from '../../operations/retention.ts';
import { ENCRYPTED_COLUMNS } from '../../operations/verify.ts';
import { keysInUse } from '../../security/rotation.ts';
import { jsonOption } from '../arguments.ts';
import type { Act, Context } from '../context.ts';
import { checkDataKeys } from '../doctor/database.ts';
import { ifStopped } from '../failure.ts';
import { megabytes, printable, printPairs, showProgress } from '../output.ts';
import { restoreWith } from './backup.ts';

export function addRestoreCommand(program: Command, act: Act): void {
  program
    .command('restore')
    .description('replace the database with a backup, while nothing serves it')
    .argument('<file>', 'what "benefits-sidecar backup" made')
    .option('--force', 'even if a database exists; it is kept next to the new one')
    .option('--without-keys', 'also when DATA_KEYS lacks a key: what is sealed with it stays unreadable')
    .addOption(jsonOption())
    .action(act(restore));
}

type Options = { force?: true; withoutKeys?: true; json?: true };

/**
 * Checks a backup and replaces the database with it in one step, while `serve` is stopped. Keeps the replaced file
 * next to it and prints from when to replay. For PostgreSQL it fails and names the tool to use.
 */
export async function restore(context: Context, file: string, options: Options): Promise<number> {
  const url = readDatabaseUrl(context.env);
  readEnvironment(context.env);
  if (engineOfUrl(url) === 'postgres') throw new AppError('COMMAND_FAILED', restoreWith(url, file));
  const path = sqliteFile(url);
  assertBackup(file, path);
  const release = notServed(url);
  try {
    const restored = await replace(context, file, path, options);
    removeMark(url);
    printRestored(context, restored, options);
    return 0;
  } finally {
    dropPrepared(path);
    // Taking the lock created an empty file if there was none.
    if (existsSync(path) && !isThere(path)) rmSync(path);
    release();
  }
}

/** Throws if the name or the kind of the file rules it out as a backup. */
function assertBackup(file: string, path: string): void {
  if (!existsSync(file) || !statSync(file).isFile()) {
    throw new AppError('COMMAND_FAILED', `there is no file ${file}: check the path`);
  }
  const source = realpathSync(file);
  if (source === path) throw new AppError('WRONG_USAGE', `${file} is the database itself: name a backup`);
  if (preparedNames(path).includes(source)) {
    throw new AppError(
      'WRONG_USAGE',
      `${file} has a name that restoring uses itself, and overwrites: rename it`,
    );
  }
  if (isServed(`sqlite:${source}`)) {
    throw new AppError('COMMAND_FAILED', `${file} is being served: make a backup of it, and restore that`);
  }
}

function notServed(url: string): () => void {
  try {
    return holdServeLock(url);
  } catch (error) {
    if (!isAppError(error, 'ALREADY_SERVED')) throw error;
    throw new AppError('COMMAND_FAILED', 'the database is being served: stop "serve", then restore', {
      cause: error,
    });
  }
}

type Restored = Checked & { path: string; kept: string | null; replaced: Newest | null; bytes: number };

async function replace(context: Context, file: string, path: string, options: Options): Promise<Restored> {
  const { out, stopped, now } = context;
  const signal = stopped();
  const progress = await showProgress(out, 'MB', megabytes(statSync(file).size));
  const copied = (bytes: number): void => progress.set(megabytes(bytes));
  const prepared = await copyToPrepared(file, path, { copied, signal })
    .catch(ifStopped(signal, 'stopped before the end: nothing was replaced'))
    .finally(progress.end);
  const checked = await checkBackup(context, file, prepared, options.withoutKeys === true);
  const isReplacing = isThere(path);
  const replaced = isReplacing ? await newestOf(path) : null;
  if (isReplacing && !options.force) {
    throw new AppError(
      'COMMAND_FAILED',
      `there is a database at ${path} already: its newest is ${inWords(replaced)}; that of ${file} is ${inWords(checked.newest)}. Replace it with --force: it is kept beside the new one`,
    );
  }
  compact(path, isAnyDropped(readRetention(context.env)));
  const kept = isReplacing ? keptName(path, now()) : null;
  replaceDatabase(path, kept);
  return { ...checked, path, kept, replaced, bytes: statSync(path).size };
}

/** Returns the newest event of the database that is replaced, or null if it is unreadable. */
function newestOf(path: string): Promise<Newest | null> {
  return withFile(path, readNewest).catch(() => null);
}

function inWords(newest: Newest | null): string {
  if (newest === null) return 'not readable';
  const { position, event_id, received_at } = newest;
  const event = event_id === null ? 'no event' : `event ${event_id} of ${received_at}`;
  return `${event}, position ${position}`;
}

function printRestored({ out }: Context, restored: Restored, { json }: Options): void {
  const { path, kept, replaced, newest, due, bytes } = restored;
  const replay_from = replayFrom(newest.received_at);
  if (json) {
    out.json({ file: path, bytes, kept, replaced, restored: newest, migrations_due: due, replay_from });
    return;
  }
  printPairs(out, {
    database: path,
    size: `${megabytes(bytes)} MB`,
    position: newest.position,
    'newest event': newest.event_id,
    'received at': newest.received_at,
    'kept as': kept,
    'its newest event': replaced?.event_id,
  });
  if (due > 0)
    out.note(
      `it lacks ${due} of this release's migrations: the next "serve" brings them, or "benefits-sidecar migrate"`,
    );
  out.note(
    `now start, and ${printable(whatToReplay(newest.received_at))} in the provider's portal: what came since is not here. What is here already is stored once`,
  );
}

/** `due`: migrations that the next start applies. */
type Checked = { newest: Newest; due: number };

/**
 * Checks the copy of a backup: a complete database of this program and environment, of this release or an older
 * one, whose encrypted values DATA_KEYS opens. Throws COMMAND_FAILED, which names the backup.
 */
async function checkBackup(
  { env }: Context,
  file: string,
  prepared: string,
  withoutKeys: boolean,
): Promise<Checked> {
  try {
    return await withFile(prepared, async (db, handle) => {
      assertWhole(handle, 'integrity_check');
      const due = await countDue(db, readEnvironment(env));
      await assertSchemaUnaltered(db);
      if (!withoutKeys) await checkKeys(db, env, due);
      return { newest: await readNewest(db), due };
    });
  } catch (error) {
    const why = reasonOf(error);
    if (why === null) throw error;
    throw new AppError('COMMAND_FAILED', `${file} cannot be restored, and nothing was replaced: ${why}`, {
      cause: error,
    });
  }
}

function reasonOf(error: unknown): string | null {
  if (isAppError(error, 'SCHEMA_REFUSED', 'BACKUP_FAILED', 'DATA_KEY_MISSING')) return error.message;
  const code = codeOf(error);
  if (code === 'SQLITE_NOTADB') return 'it is no SQLite database';
  return /^SQLITE_(CORRUPT|IOERR)/.test(code) ? `it is damaged (${code})` : null;
}

const WITHOUT =
  'add that key to DATA_KEYS after the first one, or give up the data encrypted with it by --without-keys';

async function checkKeys(db: Db, env: Context['env'], due: number): Promise<void> {
  const given = new Set(readDataKeys(env).map(({ id }) => id));
  const there = await Promise.all(ENCRYPTED_COLUMNS.map(({ table }) => tableExists(db, table)));
  const inUse = await keysInUse(
    db,
    ENCRYPTED_COLUMNS.filter((_, index) => there[index]),
  );
  for (const [id, values] of inUse) {
    if (given.has(id)) continue;
    const count = [...values.values()].reduce((sum, one) => sum + one, 0);
    throw new AppError('DATA_KEY_MISSING', `${count} of its values are sealed with key ${id}: ${WITHOUT}`);
  }
  // The key under the same id may differ. Tables of an older release may lack the columns that this reads.
  if (due > 0) return;
  const wrong = (await checkDataKeys(db, env)).find(({ result }) => result === 'fail');
  if (wrong !== undefined) throw new AppError('DATA_KEY_MISSING', `${wrong.message}: ${WITHOUT}`);
}
