/**
 * A note beside a SQLite file of how far it has come. A file that is behind its note has lost its tail: an older one
 * was put in its place, or its log is gone. PostgreSQL looks after its own files, and has none.
 */
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { BESIDE } from './files.ts';
import { sqliteFile } from './open.ts';
import type { Tail } from './tail.ts';

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

/**
 * Notes it in place of what was noted before, which a reader sees whole or not at all. Without a sync: what is noted is
 * committed already, so that a note which a power loss takes back is only less than it could be. Throws what the file
 * system throws.
 */
export function writeHint(databaseUrl: string, { position, seq, received_at }: Hint): void {
  const path = hintPath(databaseUrl);
  writeFileSync(`${path}.new`, `${JSON.stringify({ position, seq, received_at })}\n`, { mode: 0o600 });
  renameSync(`${path}.new`, path);
}

/** Forgets it: the next `serve` begins a new one. */
export function removeHint(databaseUrl: string): void {
  rmSync(hintPath(databaseUrl), { force: true });
}
