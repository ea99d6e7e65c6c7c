/** The commands that back up a database and restore a backup. */
import { existsSync, realpathSync, rmSync, statSync } from 'node:fs';
import { basename, dirname, resolve } from 'node:path';
import { readDatabaseUrl, readDataKeys, readEnvironment } from '../../config.ts';
import { engineOfUrl, tableExists } from '../../database/engine.ts';
import { hasReservedSuffix, SUFFIX } from '../../database/files.ts';
import { countDue } from '../../database/migrate.ts';
import {
  databaseExists,
  holdServeLock,
  isServed,
  openDatabase,
  sqliteFile,
  sqlitePath,
} from '../../database/open.ts';
import { assertSchemaUnaltered } from '../../database/schema-check.ts';
import type { Db } from '../../database/tables.ts';
import { transact } from '../../database/transaction.ts';
import { AppError, codeOf, isAppError } from '../../errors.ts';
import { type Newest, readNewest, removeMark, replayFrom, whatToReplay } from '../../inbox/data-loss.ts';
import { assertWhole, backUp, withFile } from '../../operations/backup.ts';
import {
  compact,
  copyToPrepared,
  dropPrepared,
  isThere,
  keptName,
  preparedNames,
  replaceDatabase,
} from '../../operations/restore.ts';
import { ENCRYPTED_COLUMNS } from '../../operations/verify.ts';
import { isSendingOff } from '../../outbox/pilot.ts';
import { type Details, record } from '../../security/audit.ts';
import { headText, readHead } from '../../security/audit-chain.ts';
import { keysInUse } from '../../security/encrypted-columns.ts';
import { actingIn, type Command, type Context, confirm } from '../command.ts';
import { checkDataKeys } from '../doctor/database.ts';
import { failed, ifStopped, wrongUsage } from '../failure.ts';
import { counted, megabytes, printable, printPairs, printResult, withProgress } from '../output.ts';

export function addBackupCommand(program: Command): void {
  program
    .subcommand('backup', 'Back up a SQLite database to one file, also while the sidecar runs.')
    .records('database.back-up')
    .examples('backup /backups/sidecar.db', 'backup /backups/latest.db --yes')
    .argument('<file>', 'The file to create; it appears when it is complete')
    .confirmed()
    .json()
    .doesOnMachine(async (context, file: string) => {
      // Does not delay a running `serve`. The file appears once it is complete and checked.
      const { out, env, stopped } = context;
      const url = readDatabaseUrl(env);
      const environment = readEnvironment(env);
      if (engineOfUrl(url) === 'postgres') throw failed(dumpWith(url, file));
      const path = sqliteFile(url);
      // Opening a missing file would create it.
      if (!databaseExists(path))
        throw failed(`there is no database at ${sqlitePath(url)}: check DATABASE_URL`);
      const target = targetOf(file, path);
      if (existsSync(target)) {
        const effect = `${file} exists, last changed ${statSync(target).mtime.toISOString()}.`;
        await confirm(context, [effect], 'Replace it?');
      }
      const began = performance.now();
      const signal = stopped();
      const { bytes, newest, head } = await withProgress(out, 'MB', null, ({ set }) =>
        backUp(path, target, { copied: (bytes) => set(megabytes(bytes)), signal, environment }),
      ).catch(ifStopped(signal, 'stopped before the end: no backup was created'));
      const ms = Math.round(performance.now() - began);
      const audit_head = headText(head);
      const unrecorded = await recordBackup(context, url, { file: target, bytes, audit_head });
      const recorded = unrecorded === null;
      printResult(out, { file: target, bytes, environment, ...newest, audit_head, recorded, ms }, () => {
        const size = `${megabytes(bytes)} MB`;
        const contents = { size, environment, ...pairsOf(newest), 'audit head': audit_head };
        printPairs(out, { file: target, ...contents, duration: `${(ms / 1_000).toFixed(1)} s` });
        out.note('Censuses and requests in it cannot be read without DATA_KEYS: store those elsewhere.');
      });
      if (!recorded)
        out.note(`The backup is complete, but its audit record could not be written (${unrecorded}).`);
    });
}

/** Records a backup in the database that was backed up. Returns the code of the error if that fails. */
async function recordBackup(context: Context, url: string, details: Details): Promise<string | null> {
  const db = openDatabase(url);
  try {
    const made = { action: 'database.back-up', resource: null, details } as const;
    await transact(db, (trx) => record(trx, actingIn(context), made));
    return null;
  } catch (error) {
    return codeOf(error) || 'INTERNAL';
  } finally {
    await db.destroy();
  }
}

function pairsOf({ position, event_id, received_at }: Newest) {
  return { position, 'newest event': event_id, received: received_at };
}

/** Returns the path of the backup with its folder resolved, so it can be compared with the path of the database. */
function targetOf(file: string, path: string): string {
  const folder = dirname(resolve(file));
  if (!existsSync(folder)) throw failed(`the folder ${folder} does not exist: create it`);
  const target = resolve(realpathSync(folder), basename(file));
  if (target === path || (existsSync(target) && realpathSync(target) === path)) {
    throw wrongUsage(`${file} is the database itself: choose another file`);
  }
  if (hasReservedSuffix(target)) {
    throw wrongUsage(`${file} has the name of an auxiliary file of a database: choose another file`);
  }
  if (!existsSync(target)) return target;
  // Only a database that is or was served has a lock file.
  if (existsSync(`${realpathSync(target)}${SUFFIX.lock}`)) {
    throw failed(`${file} is a database that a sidecar serves or served: choose another file`);
  }
  return target;
}

function dumpWith(databaseUrl: string, file: string): string {
  const dump = `pg_dump --format=custom --file=${quoted(file)} ${databaseOption(databaseUrl)}`;
  return `use PostgreSQL's own tool, which also works while sidecars run: PGPASSWORD=… ${dump}`;
}

function restoreWith(databaseUrl: string, file: string): string {
  const restore = `pg_restore --no-owner --exit-on-error ${databaseOption(databaseUrl)} ${quoted(file)}`;
  return `use PostgreSQL's own tool. Stop all sidecars, create an empty database, then run PGPASSWORD=… ${restore}`;
}

/** Returns the option that names a database, without its password. */
function databaseOption(databaseUrl: string): string {
  const url = new URL(databaseUrl);
  url.password = '';
  return `--dbname=${quoted(url.href)}`;
}

/** Quotes text for a shell. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

export function addRestoreCommand(program: Command): void {
  program
    .subcommand('restore', 'Restore a backup while the sidecar is stopped, and keep the replaced database.')
    .records('database.restore')
    .examples('restore /backups/sidecar.db', 'restore /backups/sidecar.db --yes')
    .argument('<file>', 'A file that "benefits-sidecar backup" created')
    .option('--without-keys', 'Also if DATA_KEYS lacks a key, without which its data stays unreadable')
    .confirmed()
    .json()
    .doesOnMachine(async (context, file: string, options: { withoutKeys?: true }) => {
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
    });
}

/** Throws if the name or the kind of the file rules it out as a backup. */
function assertBackup(file: string, path: string): void {
  const isFile = existsSync(file) && statSync(file).isFile();
  if (!isFile) throw failed(`there is no file ${file}: check the path`);
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

async function replace(context: Context, file: string, path: string, withoutKeys: boolean) {
  const { out, stopped, now } = context;
  const signal = stopped();
  const prepared = await withProgress(out, 'MB', megabytes(statSync(file).size), ({ set }) =>
    copyToPrepared(file, path, { copied: (bytes) => set(megabytes(bytes)), signal }),
  ).catch(ifStopped(signal, 'stopped before the end: nothing was replaced'));
  const checked = await checkBackup(context, file, prepared, withoutKeys);
  const isReplacing = isThere(path);
  // Null if the database that is replaced is unreadable.
  const replaced = isReplacing ? await withFile(path, readNewest).catch(() => null) : null;
  const replacedHead = isReplacing ? await withFile(path, readHead).catch(() => null) : null;
  if (isReplacing) {
    const effects = [
      `The database ${path} has ${inWords(replaced)}. The backup has ${inWords(checked.newest)}.`,
      'Newer data is not in the backup. The replaced database is kept next to the new one.',
    ];
    await confirm(context, effects, 'Replace the database?');
  }
  const heads = {
    backup_head: headText(checked.head),
    replaced_head: replacedHead && headText(replacedHead),
  };
  // The tables of an older release may lack columns: its restore is not recorded.
  if (checked.due === 0) {
    await withFile(prepared, (restored) =>
      transact(restored, (trx) =>
        record(trx, actingIn(context), { action: 'database.restore', resource: null, details: heads }),
      ),
    );
  }
  compact(path);
  const kept = isReplacing ? keptName(path, now()) : null;
  replaceDatabase(path, kept);
  return { ...checked, ...heads, path, kept, replaced, bytes: statSync(path).size };
}

function inWords(newest: Newest | null): string {
  if (newest === null) return 'unreadable contents';
  const { position, event_id, received_at } = newest;
  const event = event_id === null ? 'no event' : `${event_id}, received ${received_at}, as newest event`;
  return `${event} (position ${position})`;
}

function printRestored({ out }: Context, restored: Awaited<ReturnType<typeof replace>>): void {
  const { path, kept, replaced, newest, due, isPilot, bytes, backup_head, replaced_head } = restored;
  const replay_from = replayFrom(newest.received_at);
  const result = {
    file: path,
    bytes,
    kept,
    replaced,
    restored: newest,
    migrations_due: due,
    replay_from,
    backup_head,
    replaced_head,
  };
  printResult(out, result, () => {
    const contents = { size: `${megabytes(bytes)} MB`, ...pairsOf(newest) };
    const before = { 'replaced database': kept, 'its newest event': replaced?.event_id };
    printPairs(out, { database: path, ...contents, ...before });
    if (due > 0)
      out.note(
        `The backup is from an older release. "benefits-sidecar serve" or "benefits-sidecar migrate" applies ${counted(due, 'migration')}.`,
      );
    if (isPilot)
      out.note(
        'The backup is from a pilot: nothing is sent until "benefits-sidecar sending on", and changes that are reported before then are never sent.',
      );
    out.note(
      `Start the sidecar, then ${printable(whatToReplay(newest.received_at))} in the provider's portal. Duplicates have no effect.`,
    );
  });
}

/**
 * Checks the copy of a backup: a complete database of this program and environment, of this release or an older
 * one, whose encrypted values DATA_KEYS opens. Throws COMMAND_FAILED, which names the backup. `due` migrations are
 * applied by the next start.
 */
async function checkBackup({ env }: Context, file: string, prepared: string, withoutKeys: boolean) {
  try {
    return await withFile(prepared, async (db, handle) => {
      assertWhole(handle, 'integrity_check');
      const due = await countDue(db, readEnvironment(env));
      await assertSchemaUnaltered(db);
      if (!withoutKeys) await checkKeys(db, env, due);
      const isPilot = due === 0 && (await isSendingOff(db));
      return { newest: await readNewest(db), head: await readHead(db), due, isPilot };
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
  const known = new Set(readDataKeys(env).map(({ id }) => id));
  const there = await Promise.all(ENCRYPTED_COLUMNS.map(({ table }) => tableExists(db, table)));
  const columns = ENCRYPTED_COLUMNS.filter((_, index) => there[index]);
  const inUse = await keysInUse(db, columns);
  for (const [id, values] of inUse) {
    if (known.has(id)) continue;
    const count = [...values.values()].reduce((sum, count) => sum + count, 0);
    throw new AppError('DATA_KEY_MISSING', `${counted(count, 'value')} encrypted with key ${id}: ${WITHOUT}`);
  }
  // The key under the same id may differ. Tables of an older release may lack the columns that this reads.
  if (due > 0) return;
  const { result, message } = await checkDataKeys(db, env);
  if (result === 'fail') throw new AppError('DATA_KEY_MISSING', `${message}: ${WITHOUT}`);
}
