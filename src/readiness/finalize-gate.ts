/** Finalizes a run after its readiness checks: a failed check stops it unless a person accepts what it found. */
import type { Db } from '../database/tables.ts';
import type { Acceptance } from '../payroll/runs/acceptances.ts';
import { type Finalized, finalizeRun } from '../payroll/runs/finalize.ts';
import type { Question } from './findings.ts';
import { readinessOf } from './run-report.ts';

export type Asked = {
  /** The ETag of the lines or of the readiness report that was reviewed; null: not checked. */
  ifMatch: string | null;
  /** Identifies the request, so that a repeat returns the run. */
  idempotencyKey?: string | null;
  /** The failed checks that a person accepts; null: none. */
  accept: Acceptance | null;
  /** The run's employer goes before one that it names. Its `now` is when the run is finalized. */
  question: Question;
};

/**
 * Finalizes an open run if it is ready or its failures are accepted. The checks see the very lines that become final.
 * Throws `RunRefused`.
 */
export function finalizeChecked(
  db: Db,
  runId: string,
  { ifMatch, idempotencyKey = null, accept, question }: Asked,
): Promise<Finalized> {
  const finalizing = { ifMatch, idempotencyKey, accept, now: question.now.toISOString() };
  return finalizeRun(db, runId, finalizing, (basis, summary) =>
    readinessOf(db, { runId, basis, summary }, question),
  );
}
