/** Views, previews and summaries of runs. */
import type { Db } from '../../database/tables.ts';
import { jsonColumn } from '../../formats/json-column.ts';
import { RULES_VERSION } from '../calculation/amounts.ts';
import {
  type Basis,
  type FrozenOutcome,
  frozenOutcomeOf,
  resolveBasis,
  type StoredBasis,
  storedBasisOf,
} from '../compute/basis.ts';
import { computeRun, type EmployeeLines } from '../compute/compute.ts';
import { createSummary, type Summary } from '../compute/summary.ts';
import { Totals } from '../compute/totals.ts';
import type { Run, StatedRun } from '../records/body.ts';
import { bodyOf, type StoredRun } from '../records/runs.ts';

/** The result of a run: computed now if it is open, otherwise as stored. */
export type RunView = Omit<Summary, 'notes'> & {
  run: Run;
  position: number;
  rulesVersion: string;
  /** The stored basis and results of a finalized or voided run; null for an open one. */
  frozen: { basis: StoredBasis; outcome: FrozenOutcome } | null;
};

const readTotals = jsonColumn('payroll_runs', 'totals', Totals);

export function totalsOf({ run_id, totals }: Pick<StoredRun, 'run_id' | 'totals'>): Totals {
  return readTotals(totals, run_id);
}

/** Returns the view of a stored run. Throws RUN_REFUSED if an open run can no longer be computed. */
export async function viewRun(db: Db, stored: StoredRun): Promise<RunView> {
  if (stored.state === 'open') return previewRun(db, stored.run_id, bodyOf(stored));
  const frozen = { basis: storedBasisOf(stored), outcome: frozenOutcomeOf(stored) };
  return {
    run: frozen.basis.run,
    position: stored.position as number,
    rulesVersion: stored.rules_version as string,
    totals: totalsOf(stored),
    etag: stored.etag as string,
    outcome: frozen.outcome,
    frozen,
  };
}

/** Computes a run without storing anything. Throws RUN_REFUSED. */
export async function previewRun(
  db: Db,
  runId: string | null,
  run: StatedRun,
  onPage?: OnPage,
): Promise<RunView> {
  const basis = await resolveBasis(db, runId, run);
  const summary = await summarize(db, basis, onPage);
  return { ...summary, run: basis.run, position: basis.position, rulesVersion: RULES_VERSION, frozen: null };
}

/** Receives each computed page, and the lines of its employees as JSON. */
type OnPage = (page: readonly EmployeeLines[], texts: readonly string[]) => void | Promise<void>;

export async function summarize(db: Db, basis: Basis, onPage: OnPage = () => {}): Promise<Summary> {
  const summary = createSummary(basis);
  for await (const page of computeRun(db, basis)) {
    const texts = page.map((employee) => summary.add(employee));
    await onPage(page, texts);
  }
  return summary.summary();
}
