import type { Clock } from '../clock.ts';
import type { Db } from '../database/tables.ts';
import { probeCommit } from '../database/transaction.ts';
import { codeOf, isAppError } from '../errors.ts';

/** How long a result is reused: readyz is public, and each check is a commit. */
const REUSED_MS = 1_000;

/** Why a process can't commit. */
export type NotReady = 'locked' | 'disk-full' | 'unreachable' | 'read-only' | 'failed';

/**
 * Returns a function that checks whether this process can commit, by committing a write, which fails on a full disk. It
 * resolves to null or the reason, and never rejects.
 */
export function createReadiness(db: Db, now: Clock): () => Promise<NotReady | null> {
  let checkedAt = Number.NEGATIVE_INFINITY;
  let result: Promise<NotReady | null> = Promise.resolve('failed');
  return () => {
    const age = now().getTime() - checkedAt;
    if (age < 0 || age > REUSED_MS) {
      checkedAt = now().getTime();
      result = probeCommit(db, now().toISOString()).then(() => null, reasonOf);
    }
    return result;
  };
}

/** The engines' own codes. Any other is reported as failed, and the caller logs its code. */
const CODES: readonly (readonly [RegExp, NotReady])[] = [
  [/^SQLITE_(BUSY|LOCKED)/, 'locked'],
  // A full disk also shows as a failure of the shared memory next to the log.
  [/^(SQLITE_FULL|SQLITE_IOERR_SHM(SIZE|OPEN|MAP)|53100)$/, 'disk-full'],
  [/^(SQLITE_READONLY.*|25006)$/, 'read-only'],
  [/^(57P0[123]|53300)$/, 'unreachable'],
];

/** Returns why the process cannot commit, from an error of the engine. */
export function reasonOf(error: unknown): NotReady {
  if (isAppError(error, 'LOCK_TIMEOUT')) return 'locked';
  if (isAppError(error, 'CONNECTION_LOST')) return 'unreachable';
  return CODES.find(([code]) => code.test(codeOf(error)))?.[1] ?? 'failed';
}
