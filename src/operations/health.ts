import type { Clock } from '../clock.ts';
import { ConnectionLost, codeOf, LockTimeout } from '../database/errors.ts';
import type { Db } from '../database/tables.ts';
import { probeCommit } from '../database/transaction.ts';

/** An answer is used again for this long: readyz is public, and each look costs a commit. */
const REUSED_MS = 1_000;

/** Why a process can't commit. */
export type NotReady = 'locked' | 'disk-full' | 'unreachable' | 'read-only' | 'failed';

/**
 * "This process can commit": asks the database by committing a write, which a full disk refuses. Null when it can,
 * else why not. Never throws.
 */
export function createReadiness(db: Db, now: Clock): () => Promise<NotReady | null> {
  let askedAt = Number.NEGATIVE_INFINITY;
  let answer: Promise<NotReady | null> = Promise.resolve('failed');
  return () => {
    const age = now().getTime() - askedAt;
    if (age < 0 || age > REUSED_MS) {
      askedAt = now().getTime();
      answer = probeCommit(db, now().toISOString()).then(() => null, reasonOf);
    }
    return answer;
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
  if (error instanceof LockTimeout) return 'locked';
  if (error instanceof ConnectionLost) return 'unreachable';
  return CODES.find(([code]) => code.test(codeOf(error)))?.[1] ?? 'failed';
}
