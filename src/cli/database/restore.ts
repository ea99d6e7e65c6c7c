/** The command that restores a backup. */
import { existsSync, realpathSync, rmSync, statSync } from 'node:fs';
import { readDatabaseUrl, readDataKeys, readEnvironment, readRetention } from '../../config.ts';
import { engineOfUrl, tableExists } from '../../database/engine.ts';
import { countDue } from '../../database/migrate.ts';
import { holdServeLock, isServed, sqliteFile } from '../../database/open.ts';
import { assertSchemaUnaltered } from '../../database/schema-check.ts';
import type { Db } from '../../database/tables.ts';
import { AppError, codeOf, isAppError } from '../../errors.ts';
import { type Newest, readNewest, removeMark, replayFrom, whatToReplay } from '../../inbox/data-loss.ts';
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
import { keysInUse } from '../../security/encrypted-columns.ts';
import { type Command, type Context, confirm } from '../command.ts';
import { checkDataKeys } from '../doctor/database.ts';
import { failed, ifStopped, wrongUsage } from '../failure.ts';
import { counted, megabytes, printable, printPairs, printResult, withProgress } from '../output.ts';
import { restoreWith } from './backup.ts';

export function addRestoreCommand(program: Command): void {
  program
    .subcommand('restore', 'Restore a backup while the sidecar is stopped, and keep the replaced database.')
    .examples('restore /backups/sidecar.db', 'restore /backups/sidecar.db --yes')
    .argument('<file>', 'A file that "benefits-sidecar backup" created')
    .option('--without-keys', 'Also if DATA_KEYS lacks a key, without which its data stays unreadable')
    .confirmed()
    .json()
    .does(restore);
}

/**
 * Checks a backup and replaces the database with it in one step, while `serve` is stopped. Keeps the replaced file
 * next to it and prints from when to replay. For PostgreSQL it fails and names the tool to use.
 */
async function restore(context: Context, file: string, options: { withoutKeys?: true }): Promise<void> {
  const url = readDatabaseUrl(context.env);
  readEnvironment(context.env);
  if (engineOfUrl(url) === 'postgres') throw failed(restoreWith(url, file));
  const path = sqliteFile(url);
  assertBackup(file, path);
  const release = notServed(url);
  try {
    const restored = await replace(context, file, path, options.withoutKeys === true);
    removeMark(url);
    printRestored(context, restored);
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
    throw failed(`there is no file ${file}: check the path`);
  }
  const source = realpathSync(file);
  if (source === path) throw wrongUsage(`${file} is the database itself: choose a backup`);
  if (preparedNames(path).includes(source)) {
    throw wrongUsage(`${file} has a name that this command uses for its own files: rename it`);
  }
  if (isServed(`sqlite:${source}`)) {
    throw failed(`${file} is the database of a running sidecar: restore a backup of it instead`);
  }
}

function notServed(url: string): () => void {
  try {
    return holdServeLock(url);
  } catch (error) {
    if (!isAppError(error, 'ALREADY_SERVED')) throw error;
    throw failed('a sidecar is running on this database: stop it, then restore', { cause: error });
  }
}

type Restored = Checked & { path: string; kept: string | null; replaced: Newest | null; bytes: number };

async function replace(
  context: Context,
  file: string,
  path: string,
  withoutKeys: boolean,
): Promise<Restored> {
  const { out, stopped, now } = context;
  const signal = stopped();
  const prepared = await withProgress(out, 'MB', megabytes(statSync(file).size), ({ set }) =>
    copyToPrepared(file, path, { copied: (bytes) => set(megabytes(bytes)), signal }),
  ).catch(ifStopped(signal, 'stopped before the end: nothing was replaced'));
  const checked = await checkBackup(context, file, prepared, withoutKeys);
  const isReplacing = isThere(path);
  const replaced = isReplacing ? await newestOf(path) : null;
  if (isReplacing) {
    const effects = [
      `The database ${path} has ${inWords(replaced)}. The backup has ${inWords(checked.newest)}.`,
      'Newer data is not in the backup. The replaced database is kept next to the new one.',
    ];
    await confirm(context, effects, 'Replace the database?');
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
  if (newest === null) return 'unreadable contents';
  const { position, event_id, received_at } = newest;
  const event = event_id === null ? 'no event' : `${event_id}, received ${received_at}, as newest event`;
  return `${event} (position ${position})`;
}

function printRestored({ out }: Context, restored: Restored): void {
  const { path, kept, replaced, newest, due, bytes } = restored;
  const replay_from = replayFrom(newest.received_at);
  const result = { file: path, bytes, kept, replaced, restored: newest, migrations_due: due, replay_from };
  printResult(out, result, () => {
    printPairs(out, {
      database: path,
      size: `${megabytes(bytes)} MB`,
      position: newest.position,
      'newest event': newest.event_id,
      received: newest.received_at,
      'replaced database': kept,
      'its newest event': replaced?.event_id,
    });
    if (due > 0)
      out.note(
        `The backup is from an older release. "benefits-sidecar serve" or "benefits-sidecar migrate" applies ${counted(due, 'migration')}.`,
      );
    out.note(
      `Start the sidecar, then ${printable(whatToReplay(newest.received_at))} in the provider's portal. Duplicates have no effect.`,
    );
  });
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
    throw failed(`${file} cannot be restored, and nothing was replaced: ${why}`, { cause: error });
  }
}

function reasonOf(error: unknown): string | null {
  if (isAppError(error, 'SCHEMA_REFUSED', 'BACKUP_FAILED', 'DATA_KEY_MISSING')) return error.message;
  const code = codeOf(error);
  if (code === 'SQLITE_NOTADB') return 'it is not a SQLite database';
  return /^SQLITE_(CORRUPT|IOERR)/.test(code) ? `it is damaged (${code})` : null;
}

const WITHOUT =
  'add that key to DATA_KEYS after the first one, or add --without-keys to lose the data encrypted with it';

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
    throw new AppError('DATA_KEY_MISSING', `${counted(count, 'value')} encrypted with key ${id}: ${WITHOUT}`);
  }
  // The key under the same id may differ. Tables of an older release may lack the columns that this reads.
  if (due > 0) return;
  const { result, message } = await checkDataKeys(db, env);
  if (result === 'fail') throw new AppError('DATA_KEY_MISSING', `${message}: ${WITHOUT}`);
}
