/** Replaces a SQLite database with a backup, which is first copied next to it and checked. */
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
import { keepAs, moveInto, removeWithSuffixes, SUFFIX, syncFile } from '../database/files.ts';
import { AppError, codeOf } from '../errors.ts';
import { foldLog } from './backup.ts';

const CHUNK_BYTES = 1024 * 1024;

/**
 * Copies a backup next to the database, along with the backup's own log if it has one, as copied files of a stopped
 * service do. Returns the path. Overwrites the remains of an earlier restore. The caller holds the serve lock.
 */
export async function copyToPrepared(
  file: string,
  path: string,
  { copied, signal }: { copied: (bytes: number) => void; signal: AbortSignal },
): Promise<string> {
  const [prepared] = preparedNames(path);
  removeWithSuffixes(prepared);
  let bytes = 0;
  for (const end of ['', SUFFIX.log]) {
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

/** Returns the paths that `copyToPrepared` and `compact` write. No other file may have them. */
export function preparedNames(path: string): readonly [prepared: string, compact: string] {
  return [`${path}${SUFFIX.prepared}`, `${path}${SUFFIX.compact}`];
}

export function dropPrepared(path: string): void {
  for (const prepared of preparedNames(path)) {
    rmSync(prepared, { force: true });
    removeWithSuffixes(prepared);
  }
}

/**
 * Rewrites the prepared file without its free space, which also drops deleted data that remained there. Needs the file's
 * size again on the disk.
 */
export function compact(path: string): void {
  const [prepared, compacted] = preparedNames(path);
  rmSync(compacted, { force: true });
  // SQLite writes into an empty file; its own would be readable by others.
  closeSync(openSync(compacted, 'wx', 0o600));
  const handle = new BetterSqlite3(prepared, { fileMustExist: true });
  try {
    handle.prepare('VACUUM INTO ?').run(compacted);
  } finally {
    handle.close();
  }
  removeWithSuffixes(prepared);
  renameSync(compacted, prepared);
}

/** Returns whether there is a database. Opening a missing one leaves an empty file, which does not count. */
export function isThere(path: string): boolean {
  return existsSync(path) && statSync(path).size > 0;
}

export function keptName(path: string, now: Date): string {
  return `${path}.replaced-${now.toISOString().replaceAll(/[-:.]/g, '')}`;
}

/**
 * Replaces the database with the prepared file, and keeps the old one as `kept`, if there is one. A complete database
 * exists even if the process dies at any point: the log of the old one is folded into its file, it gets its second
 * name, and one rename replaces it. Throws RESTORE_REFUSED if another process has the old one open.
 */
export function replaceDatabase(path: string, kept: string | null): void {
  const [prepared] = preparedNames(path);
  foldLog(prepared);
  syncFile(prepared);
  if (kept !== null) {
    closeOld(path, kept);
    keepAs(path, kept);
  }
  removeWithSuffixes(path);
  moveInto(prepared, path);
}

function closeOld(path: string, kept: string): void {
  try {
    foldLog(path);
  } catch (error) {
    if (/^SQLITE_(BUSY|LOCKED)/.test(codeOf(error))) {
      throw new AppError('RESTORE_REFUSED', `another process has ${path} open: stop it, then restore again`);
    }
    // The file can't be read, which may be why it is replaced. Keep its log as it is.
    for (const end of [SUFFIX.log, SUFFIX.journal]) {
      if (existsSync(`${path}${end}`)) keepAs(`${path}${end}`, `${kept}${end}`);
    }
  }
}
