/** Computations of open runs that are kept while nothing changes, so that the parts of a review compute a run once. */
import type { Db } from '../database/tables.ts';
import { readPosition } from '../ledger/position.ts';
import { beginComputation, type Computation } from '../payroll/compute/computation.ts';
import { type EmployeeRow, employeeRow } from '../payroll/compute/employee-rows.ts';
import { type Summary, summarize } from '../payroll/compute/summary.ts';
import { bodyOf, type StoredRun } from '../payroll/records/runs.ts';
import { readPayrollRevision } from '../payroll/settings/lock.ts';

/** Employees of all kept reviews. A row takes about 500 bytes. */
const EMPLOYEES_KEPT_MAX = 100_000;
const REVIEWS_KEPT_MAX = 8;

type RunReview = {
  computation: Computation;
  summary: Summary;
  /** The employees in the run, with lines in it or in the previous run, by id. */
  employees: readonly EmployeeRow[];
};

type Kept = { review: Promise<RunReview>; position: number; revision: number; employees: number };

export type RunReviews = ReturnType<typeof createRunReviews>;

/**
 * Returns a function that computes an open run, or returns the kept computation if no fact and no payroll data changed
 * since. It throws RUN_REFUSED. Finalizing never uses it.
 */
export function createRunReviews(db: Db) {
  const kept = new Map<string, Kept>();

  const tidy = (): void => {
    const total = () => [...kept.values()].reduce((sum, { employees }) => sum + employees, 0);
    for (const runId of kept.keys()) {
      if (kept.size <= REVIEWS_KEPT_MAX && total() <= EMPLOYEES_KEPT_MAX) return;
      kept.delete(runId);
    }
  };

  return async (stored: StoredRun): Promise<RunReview> => {
    const runId = stored.run_id;
    const state = { position: await readPosition(db), revision: await readPayrollRevision(db) };
    const known = kept.get(runId);
    if (known?.position === state.position && known.revision === state.revision) return known.review;
    const entry: Kept = { ...state, employees: 0, review: compute(db, stored) };
    kept.delete(runId);
    kept.set(runId, entry);
    try {
      const review = await entry.review;
      entry.employees = review.employees.length;
      tidy();
      return review;
    } catch (error) {
      if (kept.get(runId) === entry) kept.delete(runId);
      throw error;
    }
  };
}

async function compute(db: Db, stored: StoredRun): Promise<RunReview> {
  const computation = await beginComputation(db, stored.run_id, bodyOf(stored));
  const employees: EmployeeRow[] = [];
  const summary = await summarize(db, computation, (page) => {
    for (const { employee, lines } of page) {
      const { employeeId, membership, inPrevious } = employee;
      if (!membership.isIn && !inPrevious.isIn && lines.length + inPrevious.lines.length === 0) continue;
      const previous = computation.previous === null ? null : inPrevious;
      employees.push(employeeRow(employeeId, { isIn: membership.isIn, lines }, previous));
    }
  });
  return { computation, summary, employees };
}
