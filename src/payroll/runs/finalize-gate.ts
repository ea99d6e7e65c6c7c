/** Finalizing with the readiness of the run in front: a failed check stops it, unless a person gives a reason. */
import type { Db } from '../../database/tables.ts';
import type { Question } from '../findings.ts';
import { type Finalized, finalizeRun } from './finalize.ts';
import { readinessOf } from './readiness.ts';

export type Asked = {
  /** The ETag of the lines that were reviewed; null: whatever they are. */
  ifMatch: string | null;
  /** Identifies the request, so that a repeat returns the run. */
  idempotencyKey?: string | null;
  /** Why the run is to stand although a check fails. Kept with the run, with the names of those checks. */
  force: { reason: string } | null;
  /** The run's employer goes before one that it names. Its `now` is when the run is finalized. */
  question: Question;
};

/**
 * Finalizes an open run if it is ready, or by force. What is asked is the very lines that are going to stand, once
 * they are computed: no second computation, and none that could differ. Throws `RunRefused`.
 */
export function finalizeChecked(
  db: Db,
  runId: string,
  { ifMatch, idempotencyKey = null, force, question }: Asked,
): Promise<Finalized> {
  const finalizing = {
    ifMatch,
    idempotencyKey,
    forceReason: force?.reason ?? null,
    now: question.now.toISOString(),
  };
  return finalizeRun(db, runId, finalizing, (basis, summary) =>
    readinessOf(db, { runId, basis, summary }, question),
  );
}
