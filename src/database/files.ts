/** Putting files in place so that a crash leaves the old one or the new one, whole. */
import { closeSync, copyFileSync, fsyncSync, linkSync, openSync, renameSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { codeOf } from './errors.ts';

/** The suffixes of the files next to a database. */
export const BESIDE = {
  log: '-wal',
  memory: '-shm',
  journal: '-journal',
  lock: '-serve',
  hint: '-hint',
  prepared: '-restoring',
  compact: '-restoring-compact',
} as const;
/** What SQLite itself keeps there. */
const OF_SQLITE = [BESIDE.log, BESIDE.memory, BESIDE.journal] as const;

/** Whether a path is named so: to replace it harms the database as much as to replace the database itself. */
export function isNamedBeside(path: string): boolean {
  return Object.values(BESIDE).some((end) => path.endsWith(end));
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

/** Gives a file a second name, which stays when the first one is given to another file. */
export function keepAs(path: string, kept: string): void {
  try {
    linkSync(path, kept);
  } catch (error) {
    // Some file systems have one name a file.
    if (!['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS'].includes(codeOf(error))) throw error;
    copyFileSync(path, kept);
    syncFile(kept);
  }
  syncFile(dirname(kept));
}

/** Removes SQLite's files next to a removed database, because the next database would use them. */
export function removeBeside(path: string): void {
  for (const end of OF_SQLITE) rmSync(`${path}${end}`, { force: true });
}
