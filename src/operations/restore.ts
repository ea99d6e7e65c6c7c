import {
  closeSync,
  createReadStream,
  createWriteStream,
  existsSync,
  openSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import { pipeline } from 'node:stream/promises';
import BetterSqlite3 from 'better-sqlite3';
import { codeOf } from '../database/errors.ts';
import { BESIDE, keepAs, moveInto, removeBeside, syncFile } from '../database/files.ts';
import { setShrinkable } from '../database/shrink.ts';
import { foldLog } from './backup.ts';

/** Replaces a SQLite database with a backup, which is first copied next to it and checked. */

/** Nothing was replaced. The message states why and what to do. */
export class RestoreRefused extends Error {
  readonly code = 'RESTORE_REFUSED';
}

/** Read and written at once. */
const CHUNK_BYTES = 1024 * 1024;

/**
 * Copies a backup beside the database, with the log that lies beside it, if somebody copied the files of a stopped
 * service. Answers the path. What an earlier restore left there is overwritten: the caller holds the serve lock.
 */
export async function copyBeside(
  file: string,
  path: string,
  { copied, signal }: { copied: (bytes: number) => void; signal: AbortSignal },
): Promise<string> {
  const [prepared] = preparedNames(path);
  removeBeside(prepared);
  let bytes = 0;
  for (const end of ['', BESIDE.log]) {
    if (!existsSync(`${file}${end}`)) continue;
    const reading = createReadStream(`${file}${end}`, { highWaterMark: CHUNK_BYTES });
    reading.on('data', (part) => {
      bytes += part.length;
      copied(bytes);
    });
    await pipeline(reading, createWriteStream(`${prepared}${end}`, { mode: 0o600 }), { signal });
  }
  return prepared;
}

/** What `copyBeside` and `compact` make, and what others should keep away from. */
export function preparedNames(path: string): readonly [prepared: string, compact: string] {
  return [`${path}${BESIDE.prepared}`, `${path}${BESIDE.compact}`];
}

/** Removes what `copyBeside` and `compact` made. */
export function dropPrepared(path: string): void {
  for (const prepared of preparedNames(path)) {
    rmSync(prepared, { force: true });
    removeBeside(prepared);
  }
}

/**
 * Writes what was prepared anew, without the room that was free in it. So this is also how a file is made smaller, and
 * how what lay in that room is left behind. Needs as much room once more while it works.
 * `mayShrink`: what is dropped from it later is given back to the disk (shrink.ts).
 */
export function compact(path: string, mayShrink: boolean): void {
  const [prepared, anew] = preparedNames(path);
  rmSync(anew, { force: true });
  // SQLite writes into an empty file; its own would be readable by others.
  closeSync(openSync(anew, 'wx', 0o600));
  const handle = new BetterSqlite3(prepared, { fileMustExist: true });
  try {
    if (mayShrink) setShrinkable(handle);
    handle.prepare('VACUUM INTO ?').run(anew);
  } finally {
    handle.close();
  }
  removeBeside(prepared);
  renameSync(anew, prepared);
}

/** Whether there is a database: an empty file is what opening one leaves. */
export function isThere(path: string): boolean {
  return existsSync(path) && statSync(path).size > 0;
}

/** Under which name a database is kept that is replaced now. */
export function keptName(path: string, now: Date): string {
  return `${path}.replaced-${now.toISOString().replaceAll(/[-:.]/g, '')}`;
}

/**
 * Puts the prepared file in the place of the database, which, if there is one, is kept under the name `kept`. Whenever the process dies,
 * the one or the other is there, whole: the old one is closed into a single file first, gets its second name, and gives
 * up the first one in one step. Throws `RestoreRefused` when another process has the old one open.
 */
export function replaceDatabase(path: string, kept: string | null): void {
  const [prepared] = preparedNames(path);
  foldLog(prepared);
  syncFile(prepared);
  if (kept !== null) {
    closeOld(path, kept);
    keepAs(path, kept);
  }
  removeBeside(path);
  moveInto(prepared, path);
}

function closeOld(path: string, kept: string): void {
  try {
    foldLog(path);
  } catch (error) {
    if (/^SQLITE_(BUSY|LOCKED)/.test(codeOf(error))) {
      throw new RestoreRefused(`another process has ${path} open: end it, and restore again`);
    }
    // The file can't be read, which may be why it is replaced. Keep its log as it is.
    for (const end of [BESIDE.log, BESIDE.journal]) {
      if (existsSync(`${path}${end}`)) keepAs(`${path}${end}`, `${kept}${end}`);
    }
  }
}
