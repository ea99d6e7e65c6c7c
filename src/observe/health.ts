import type { Clock } from '../clock.ts';
import type { Db } from '../database/tables.ts';
import { transact } from '../database/transaction.ts';

/** An answer is used again for this long: readyz is public, and each look costs a commit. */
const REUSED_MS = 1_000;

/**
 * "This process can commit": asks the database by committing a write, which a full disk refuses. Never throws.
 */
export function createReadiness(db: Db, now: Clock): () => Promise<boolean> {
  let askedAt = Number.NEGATIVE_INFINITY;
  let answer: Promise<boolean> = Promise.resolve(false);
  return () => {
    const age = now().getTime() - askedAt;
    if (age < 0 || age > REUSED_MS) {
      askedAt = now().getTime();
      const probed_at = now().toISOString();
      answer = transact(db, (trx) => trx.updateTable('instance').set({ probed_at }).execute()).then(
        () => true,
        () => false,
      );
    }
    return answer;
  };
}
