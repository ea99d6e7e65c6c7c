import { existsSync, realpathSync, rmSync, statSync } from 'node:fs';
import { readDatabaseUrl, readEnvironment, readRetention } from '../config.ts';
import { engineOfUrl } from '../database/engine.ts';
import { AlreadyServed, holdServeLock, isServed, sqliteFile } from '../database/open.ts';
import { readTail, replayFrom, type Tail } from '../database/tail.ts';
import { whatToReplay } from '../inbox/data-loss.ts';
import { removeHint } from '../inbox/high-water-mark.ts';
import { withFile } from '../operations/backup.ts';
import {
  compact,
  copyBeside,
  dropPrepared,
  isThere,
  keptName,
  preparedNames,
  replaceDatabase,
} from '../operations/restore.ts';
import { isAnyDropped } from '../operations/retention.ts';
import type { Context } from './context.ts';
import { CommandFailed, ifStopped, WrongUsage } from './failure.ts';
import { printable } from './output.ts';
import { showProgress } from './progress.ts';
import { type Checked, checkBackup } from './restore-check.ts';
import { megabytes } from './size.ts';
import { printPairs } from './table.ts';
import { restoreWith } from './where.ts';

type Options = { force?: true; withoutKeys?: true; json?: true };

/**
 * Puts a backup in the place of the database, which nobody serves: checked first, and in one step. What it replaces is
 * kept beside it. Says from when to replay. 1 on PostgreSQL, whose own tools do it: it says how.
 */
export async function restore(context: Context, file: string, options: Options): Promise<number> {
  const url = readDatabaseUrl(context.env);
  readEnvironment(context.env);
  if (engineOfUrl(url) === 'postgres') throw new CommandFailed(restoreWith(url, file));
  const path = sqliteFile(url);
  assertBackup(file, path);
  const release = notServed(url);
  try {
    const restored = await replace(context, file, path, options);
    removeHint(url);
    tell(context, restored, options);
    return 0;
  } finally {
    dropPrepared(path);
    // Taking the lock made an empty file where there was none.
    if (existsSync(path) && !isThere(path)) rmSync(path);
    release();
  }
}

/** Before anything is touched: what the file can't be, by its name and kind. */
function assertBackup(file: string, path: string): void {
  if (!existsSync(file) || !statSync(file).isFile()) {
    throw new CommandFailed(`there is no file ${file}: check the path`);
  }
  const source = realpathSync(file);
  if (source === path) throw new WrongUsage(`${file} is the database itself: name a backup`);
  if (preparedNames(path).includes(source)) {
    throw new WrongUsage(`${file} has a name that restoring uses itself, and overwrites: rename it`);
  }
  if (isServed(`sqlite:${source}`)) {
    throw new CommandFailed(`${file} is being served: make a backup of it, and restore that`);
  }
}

function notServed(url: string): () => void {
  try {
    return holdServeLock(url);
  } catch (error) {
    if (!(error instanceof AlreadyServed)) throw error;
    throw new CommandFailed('the database is being served: stop "serve", then restore', { cause: error });
  }
}

type Restored = Checked & { path: string; kept: string | null; replaced: Tail | null; bytes: number };

async function replace(context: Context, file: string, path: string, options: Options): Promise<Restored> {
  const { out, stopped, now } = context;
  const signal = stopped();
  const progress = await showProgress(out, 'MB', megabytes(statSync(file).size));
  const copied = (bytes: number): void => progress.set(megabytes(bytes));
  const prepared = await copyBeside(file, path, { copied, signal })
    .catch(ifStopped(signal, 'stopped before the end: nothing was replaced'))
    .finally(progress.end);
  const checked = await checkBackup(context, file, prepared, options.withoutKeys === true);
  const isReplacing = isThere(path);
  const replaced = isReplacing ? await tailOf(path) : null;
  if (isReplacing && !options.force) {
    throw new CommandFailed(
      `there is a database at ${path} already: its newest is ${inWords(replaced)}; that of ${file} is ${inWords(checked.tail)}. Replace it with --force: it is kept beside the new one`,
    );
  }
  compact(path, isAnyDropped(readRetention(context.env)));
  const kept = isReplacing ? keptName(path, now()) : null;
  replaceDatabase(path, kept);
  return { ...checked, path, kept, replaced, bytes: statSync(path).size };
}

/** How far the database is that is to be replaced; null when it can't be read, which may be why. */
function tailOf(path: string): Promise<Tail | null> {
  return withFile(path, readTail).catch(() => null);
}

function inWords(tail: Tail | null): string {
  if (tail === null) return 'not readable';
  const { position, event_id, received_at } = tail;
  const event = event_id === null ? 'no event' : `event ${event_id} of ${received_at}`;
  return `${event}, position ${position}`;
}

function tell({ out }: Context, restored: Restored, { json }: Options): void {
  const { path, kept, replaced, tail, due, bytes } = restored;
  const replay_from = replayFrom(tail.received_at);
  if (json) {
    out.json({ file: path, bytes, kept, replaced, restored: tail, migrations_due: due, replay_from });
    return;
  }
  printPairs(out, {
    database: path,
    size: `${megabytes(bytes)} MB`,
    position: tail.position,
    'newest event': tail.event_id,
    'received at': tail.received_at,
    'kept as': kept,
    'its newest event': replaced?.event_id,
  });
  if (due > 0)
    out.note(
      `it lacks ${due} of this release's migrations: the next "serve" brings them, or "benefits-sidecar migrate"`,
    );
  out.note(
    `now start, and ${printable(whatToReplay(tail.received_at))} in the provider's portal: what came since is not here. What is here already is stored once`,
  );
}
