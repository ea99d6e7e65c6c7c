/**
 * Open runs computed and final runs read. They are kept while nothing of their employer changes, so that the parts of a page do
 * it once.
 */
import { setTimeout } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import type { Db } from '../database/tables.ts';
import { hasFacts } from '../ledger/changed-since.ts';
import { resolveBasis } from '../payroll/compute/basis.ts';
import { beginComputation, type Computation } from '../payroll/compute/computation.ts';
import { type EmployeeRow, employeeRow } from '../payroll/compute/employee-rows.ts';
import { PATIENT } from '../payroll/compute/employees.ts';
import { computeForAll } from '../payroll/compute/queue.ts';
import type { EmployeeLines } from '../payroll/compute/taking.ts';
import type { FirstReview } from '../payroll/lifecycle/begin.ts';
import { finalEmployees } from '../payroll/lifecycle/final-employees.ts';
import { type ComputedRun, summarize } from '../payroll/lifecycle/summary.ts';
import { isSameBasis } from '../payroll/records/basis.ts';
import { type DataState, readDataState } from '../payroll/records/computations.ts';
import { bodyOf, type StoredRun } from '../payroll/records/runs.ts';

/** Employees of all kept reviews. A row takes about 500 bytes. */
const EMPLOYEES_KEPT_MAX = 100_000;
const REVIEWS_KEPT_MAX = 8;
/** The pause after a page of employees: enough for several queries of other requests. */
const PAUSE_MS = 2;

type RunReview = ComputedRun & {
  /** The employees in the run, with lines in it or in the previous run, by id. */
  employees: readonly EmployeeRow[];
};

type Kept = {
  /** Null for a final run. */
  readonly review: Promise<RunReview> | null;
  readonly rows: Promise<readonly EmployeeRow[]>;
  /** Reports whether the rows are still right for the run. */
  readonly holds: (stored: StoredRun) => Promise<boolean>;
  employees: number;
};

export type RunReviews = ReturnType<typeof createRunReviews>;

/** Creates the reviews of a database. Its functions throw RUN_REFUSED. Finalizing never uses it. */
export function createRunReviews(db: Db) {
  const kept = new Map<string, Kept>();

  const tidy = (): void => {
    const total = () => [...kept.values()].reduce((sum, { employees }) => sum + employees, 0);
    for (const runId of kept.keys()) {
      if (kept.size <= REVIEWS_KEPT_MAX && total() <= EMPLOYEES_KEPT_MAX) return;
      kept.delete(runId);
    }
  };

  const keep = (runId: string, entry: Kept): void => {
    kept.delete(runId);
    kept.set(runId, entry);
  };

  /** Computes an open run, or reads a final one. */
  const begin = (stored: StoredRun): Kept => {
    const { employer_id, freeze_id } = stored;
    if (stored.state !== 'open')
      return {
        ...{ review: null, rows: finalEmployees(db, stored), employees: 0 },
        holds: async (now) => now.freeze_id === freeze_id,
      };
    return keptReview(
      db,
      computeForAll(employer_id, () => compute(db, stored)),
    );
  };

  /** Returns what is kept of a run, unless a fact or payroll data of its employer changed since. */
  const keptOf = async (stored: StoredRun): Promise<Kept> => {
    const { run_id: runId } = stored;
    for (let known = kept.get(runId); known !== undefined; known = kept.get(runId)) {
      if (await known.holds(stored)) return known;
      // Another request may have replaced it during the check.
      if (kept.get(runId) === known) kept.delete(runId);
    }
    const entry = begin(stored);
    keep(runId, entry);
    try {
      entry.employees = (await entry.rows).length;
      tidy();
      return entry;
    } catch (error) {
      if (kept.get(runId) === entry) kept.delete(runId);
      throw error;
    }
  };

  return {
    /** Returns the review of a run that is being created. */
    first(): FirstReview {
      const rows: EmployeeRow[] = [];
      return {
        onPage: (page, _, computation) => void rows.push(...rowsOf(computation, page)),
        created(runId, computed) {
          const review = Promise.resolve({ ...computed, employees: rows });
          keep(runId, { ...keptReview(db, review), employees: rows.length });
          tidy();
        },
      };
    },
    /** Computes an open run, or returns the kept computation. */
    review: async (stored: StoredRun): Promise<RunReview> => {
      const { review } = await keptOf(stored);
      return review as Promise<RunReview>;
    },
    /** Returns the employees of an open or final run, compared with the previous run, by id. */
    employeesOf: async (stored: StoredRun): Promise<readonly EmployeeRow[]> => (await keptOf(stored)).rows,
  };
}

function keptReview(db: Db, review: Promise<RunReview>): Kept {
  const rows = review.then(({ employees }) => employees);
  return { review, rows, holds: createHolds(db, review), employees: 0 };
}

/**
 * Returns a function that reports whether a review is still right: the run would be computed from the same basis, and no fact
 * of its employer arrived since.
 */
function createHolds(db: Db, review: Promise<RunReview>): (stored: StoredRun) => Promise<boolean> {
  /** The state up to which the review is known to be right, so that nothing is read again while nothing changes. */
  let checked: DataState | null = null;
  return async (stored) => {
    if (stored.state !== 'open') return false;
    const { basis } = (await review).computation;
    const now = await readDataState(db);
    if (isDeepStrictEqual(now, checked)) return true;
    const after = checked?.position ?? basis.position;
    if (await hasFacts(db, stored.employer_id, { after, upTo: now.position })) return false;
    if (!isSameBasis(basis, await resolveBasis(db, stored.run_id, bodyOf(stored)))) return false;
    checked = now;
    return true;
  };
}

/** Computes a run, and leaves PostgreSQL and this thread free for the pages that people open in that time. */
async function compute(db: Db, stored: StoredRun): Promise<RunReview> {
  const computation = await beginComputation(db, stored.run_id, bodyOf(stored));
  await setTimeout(PAUSE_MS);
  const employees: EmployeeRow[] = [];
  const onPage = async (page: readonly EmployeeLines[]) => {
    employees.push(...rowsOf(computation, page));
    await setTimeout(PAUSE_MS);
  };
  const summary = await summarize(db, computation, onPage, { pace: PATIENT });
  return { computation, summary, employees };
}

/** Returns the employees of a page who are in the run, or have lines in it or in the previous run. */
function rowsOf({ previous }: Computation, page: readonly EmployeeLines[]): EmployeeRow[] {
  return page.flatMap(({ employee: { employeeId, membership, inPrevious }, lines }) => {
    const { isIn } = membership;
    if (!isIn && !inPrevious.isIn && lines.length + inPrevious.lines.length === 0) return [];
    return [employeeRow(employeeId, { isIn, lines }, previous === null ? null : inPrevious)];
  });
}
