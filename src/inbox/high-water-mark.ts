/**
 * A note beside a SQLite file of how far it has come. A file that is behind its note has lost its tail: an older one
 * was put in its place, or its log is gone. PostgreSQL looks after its own files, and has none.
 */
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { codeOf } from '../database/errors.ts';
import { BESIDE } from '../database/files.ts';
import { sqliteFile } from '../database/open.ts';
import type { Tail } from '../database/tail.ts';

export type Hint = Pick<Tail, 'position' | 'seq' | 'received_at'>;

function hintPath(databaseUrl: string): string {
  return `${sqliteFile(databaseUrl)}${BESIDE.hint}`;
}

/** What was noted last; null when there is no note, or it can't be read: a hint is never needed. */
export function readHint(databaseUrl: string): Hint | null {
  try {
    const noted = JSON.parse(readFileSync(hintPath(databaseUrl), 'utf8')) as Partial<Hint> | null;
    const { position, seq, received_at = null } = noted ?? {};
    return isCount(position) && isCount(seq) && isInstant(received_at)
      ? { position, seq, received_at }
      : null;
  } catch {
    return null;
  }
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

function isInstant(value: unknown): value is string | null {
  return value === null || (typeof value === 'string' && !Number.isNaN(Date.parse(value)));
}

/** Longer than any mark: writing one over another leaves nothing of the one before. */
const BYTES = 128;

/**
 * Returns a function that saves the high-water mark over the one before, in one write within one disk sector. It is not
 * synced: what it counts is committed already, so a power loss can only leave an older mark. The function throws what
 * the file system throws.
 */
export function hintWriter(databaseUrl: string): (hint: Hint) => void {
  const path = hintPath(databaseUrl);
  return ({ position, seq, received_at }) => {
    const text = `${JSON.stringify({ position, seq, received_at }).padEnd(BYTES - 1)}\n`;
    try {
      // Renaming a new file over the old one would make most file systems flush it, which every commit would wait for.
      writeFileSync(path, text, { flag: 'r+' });
    } catch (error) {
      if (codeOf(error) !== 'ENOENT') throw error;
      writeFileSync(`${path}.new`, text, { mode: 0o600 });
      renameSync(`${path}.new`, path);
    }
  };
}

/** Saves one mark. */
export function writeHint(databaseUrl: string, hint: Hint): void {
  hintWriter(databaseUrl)(hint);
}

/** Forgets it: the next `serve` begins a new one. */
export function removeHint(databaseUrl: string): void {
  rmSync(hintPath(databaseUrl), { force: true });
}
