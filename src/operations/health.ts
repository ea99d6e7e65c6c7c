import type { Clock } from '../clock.ts';
import { type NotReady, notReadyReason } from '../database/errors.ts';
import { probeCommit } from '../database/instance.ts';
import type { Db } from '../database/tables.ts';

/** How long a result is reused: readyz is public, and each check is a commit. */
const REUSED_MS = 1_000;

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
      result = probeCommit(db, now().toISOString()).then(() => null, notReadyReason);
    }
    return result;
  };
}
