/** Whether a run can be finalized: the checks of the ledger, and those of the run itself. */
import type { Db } from '../database/tables.ts';
import { rememberedAcceptances } from '../payroll/runs/acceptances.ts';
import { type Basis, resolveBasis } from '../payroll/runs/basis.ts';
import type { StatedRun } from '../payroll/runs/body.ts';
import { summarize } from '../payroll/runs/store.ts';
import type { Summary } from '../payroll/runs/summary.ts';
import type { Question } from './findings.ts';
import { type ReadinessReport, reportOf } from './report.ts';
import { RUN_CHECKS } from './run-checks.ts';

/** A run as it was computed. `runId` is its own, null for one that is stored nowhere. */
export type Computed = { runId: string | null; basis: Basis; summary: Summary };

/** Computes a run and answers its readiness. Throws `RunRefused`. */
export async function readinessOfRun(
  db: Db,
  run: StatedRun,
  runId: string | null,
  question: Question,
): Promise<ReadinessReport> {
  const basis = await resolveBasis(db, runId, run);
  return readinessOf(db, { runId, basis, summary: await summarize(db, basis) }, question);
}

/** Reports the readiness of a run that is computed already. Its ETag is that of the lines and of the failures. */
export async function readinessOf(
  db: Db,
  computed: Computed,
  { now, overdueMs, silentAfterMs }: Question,
): Promise<ReadinessReport> {
  const { employer_id, employee_ids } = computed.basis.run;
  const employees = employee_ids === null ? undefined : new Set(employee_ids);
  const question = { ...computed, now, overdueMs, silentAfterMs, employerId: employer_id, employees };
  const accepted = await rememberedAcceptances(db, employer_id);
  const report = await reportOf(db, RUN_CHECKS, question, accepted);
  return { ...report, etag: `${computed.summary.etag}.${report.etag}` };
}
