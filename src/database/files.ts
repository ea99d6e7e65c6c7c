/** Replaces files so that a crash leaves either the old one or the new one, complete. */
import { closeSync, copyFileSync, fsyncSync, linkSync, openSync, renameSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { codeOf } from '../errors.ts';

/** The suffixes of the files next to a database. */
export const SUFFIX = {
  log: '-wal',
  memory: '-shm',
  journal: '-journal',
  lock: '-serve',
  highWaterMark: '-hint',
  prepared: '-restoring',
  compact: '-restoring-compact',
} as const;

/** Returns whether a path has such a suffix. Replacing such a file can damage a database. */
export function hasReservedSuffix(path: string): boolean {
  return Object.values(SUFFIX).some((end) => path.endsWith(end));
}

export function syncFile(path: string): void {
  const opened = openSync(path, 'r');
  try {
    fsyncSync(opened);
  } finally {
    closeSync(opened);
  }
}

/** Renames a synced file within its folder, replacing the target. Durable when it returns. */
export function moveInto(from: string, to: string): void {
  renameSync(from, to);
  syncFile(dirname(to));
}

/** Gives a file a second name, which it keeps when another file takes the first one. */
export function keepAs(path: string, kept: string): void {
  try {
    linkSync(path, kept);
  } catch (error) {
    // Some file systems have no hard links.
    if (!['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS'].includes(codeOf(error))) throw error;
    copyFileSync(path, kept);
    syncFile(kept);
  }
  syncFile(dirname(kept));
}

/** Removes SQLite's files next to a removed database, because the next database would use them. */
export function removeWithSuffixes(path: string): void {
  for (const end of [SUFFIX.log, SUFFIX.memory, SUFFIX.journal]) rmSync(`${path}${end}`, { force: true });
}
