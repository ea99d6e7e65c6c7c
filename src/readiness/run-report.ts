/** Whether a run can be finalized: the checks of the ledger and of the run itself. */
import type { Check, ReadinessReport } from '../checks.ts';
import type { Db } from '../database/tables.ts';
import type { LedgerQuestion } from '../ledger/checks.ts';
import type { RunQuestion } from '../payroll/checks/check.ts';
import { PAYROLL_CHECKS } from '../payroll/checks/list.ts';
import { beginComputation, type Computation } from '../payroll/compute/computation.ts';
import { computeInTurn } from '../payroll/compute/queue.ts';
import { type Accepting, acceptFindings } from '../payroll/lifecycle/accept-findings.ts';
import { rememberedAcceptances } from '../payroll/lifecycle/acceptances.ts';
import { type Finalized, type Finalizing, finalizeRun } from '../payroll/lifecycle/finalize.ts';
import { linesEtagOf } from '../payroll/lifecycle/reviewed.ts';
import { type Summary, summarize } from '../payroll/lifecycle/summary.ts';
import { approvalSeenBy } from '../payroll/records/approvals.ts';
import type { RequestedRun } from '../payroll/records/body.ts';
import { bodyOf, type StoredRun } from '../payroll/records/runs.ts';
import { COMMON_CHECKS, reportOf } from './report.ts';

/** The checks of a run, in the order of the report. */
export const RUN_CHECKS: readonly Check<Db, RunQuestion & LedgerQuestion>[] = [
  ...COMMON_CHECKS,
  ...PAYROLL_CHECKS,
];

export type CheckTexts = Pick<Check<Db>, 'title' | 'flag' | 'fixed' | 'isBlocking'>;

/** Each check that a report may contain, by its id. A run has every check. */
export const CHECK_TEXTS: ReadonlyMap<string, CheckTexts> = new Map(
  RUN_CHECKS.map((check) => [check.id, check]),
);

/** Returns the ids of no check, and of checks whose findings nobody can accept. */
export function notAcceptable(ids: readonly string[]): string[] {
  return ids.filter((id) => !CHECK_TEXTS.has(id) || CHECK_TEXTS.get(id)?.isBlocking === true);
}

/** Computes a run and returns its readiness. `runId` is null for a run that is not stored. Throws RUN_REFUSED. */
export async function readinessOfRun(
  db: Db,
  run: RequestedRun,
  runId: string | null,
  question: LedgerQuestion,
): Promise<ReadinessReport> {
  return computeInTurn(run.employer_id, async () => {
    const computation = await beginComputation(db, runId, run);
    return readinessOf(db, computation, await summarize(db, computation), question);
  });
}

/**
 * Returns the readiness of a computed run, for the employer and the employees of the run. Its ETag combines the ETags of the
 * lines and of the findings.
 */
export async function readinessOf(
  db: Db,
  computation: Computation,
  summary: Summary,
  asked: LedgerQuestion,
): Promise<ReadinessReport> {
  const { employer_id, employee_ids } = computation.run;
  const employees = employee_ids === null ? undefined : new Set(employee_ids);
  const question = { ...asked, computation, found: summary.found, employerId: employer_id, employees };
  const accepted = await rememberedAcceptances(db, employer_id, computation.runId);
  const report = await reportOf(db, RUN_CHECKS, question, accepted);
  return { ...report, etag: `${summary.etag}.${report.etag}` };
}

/** Returns the second approval of the lines and findings of a report as a person sees it. */
export function approvalOf(
  db: Db,
  { run_id: runId, employer_id: employerId }: StoredRun,
  { etag, failed, checked_at }: ReadinessReport,
  person: string | null,
) {
  const run = { runId, employerId, action: 'finalize', etag: linesEtagOf(etag) } as const;
  return approvalSeenBy(db, run, failed, person, checked_at);
}

/** Accepts findings of an open run, if its readiness report is still the reviewed one. Throws RUN_REFUSED. */
export function acceptChecked(db: Db, runId: string, accepting: Accepting, question: LedgerQuestion) {
  return acceptFindings(db, runId, accepting, (stored) =>
    readinessOfRun(db, bodyOf(stored), stored.run_id, question),
  );
}

type Finalization = Finalizing & { question: LedgerQuestion };

/** Finalizes an open run if the checks of the very lines that become final pass or are accepted. Throws RUN_REFUSED. */
export function finalizeChecked(
  db: Db,
  runId: string,
  { question, ...finalizing }: Finalization,
): Promise<Finalized> {
  return finalizeRun(db, runId, finalizing, (computation, summary) =>
    readinessOf(db, computation, summary, question),
  );
}
