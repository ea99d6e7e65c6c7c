/** Open runs computed and final runs read, kept while nothing changes, so that the parts of a page do it once. */
import { setTimeout } from 'node:timers/promises';
import type { Db } from '../database/tables.ts';
import { beginComputation, type Computation } from '../payroll/compute/computation.ts';
import { type EmployeeRow, employeeRow } from '../payroll/compute/employee-rows.ts';
import { PATIENT } from '../payroll/compute/employees.ts';
import { computeForAll } from '../payroll/compute/queue.ts';
import type { EmployeeLines } from '../payroll/compute/taking.ts';
import type { FirstReview } from '../payroll/lifecycle/begin.ts';
import { finalEmployees } from '../payroll/lifecycle/final-employees.ts';
import { type ComputedRun, summarize } from '../payroll/lifecycle/summary.ts';
import { readDataState } from '../payroll/records/computations.ts';
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

/** `state`: what the rows depend on. `review`: null for a final run. */
type Kept = {
  readonly state: string;
  readonly review: Promise<RunReview> | null;
  readonly rows: Promise<readonly EmployeeRow[]>;
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

  /** Returns what is kept of a run, unless a fact or payroll data changed since. */
  const keptOf = async (stored: StoredRun): Promise<Kept> => {
    const { run_id: runId, state: runState, freeze_id } = stored;
    const isOpen = runState === 'open';
    const state = isOpen ? JSON.stringify(await readDataState(db)) : (freeze_id as string);
    const known = kept.get(runId);
    if (known?.state === state) return known;
    const review = isOpen ? computeForAll(stored.employer_id, () => compute(db, stored)) : null;
    const rows = review === null ? finalEmployees(db, stored) : review.then(({ employees }) => employees);
    const entry: Kept = { state, review, rows, employees: 0 };
    keep(runId, entry);
    try {
      entry.employees = (await rows).length;
      tidy();
      return entry;
    } catch (error) {
      if (kept.get(runId) === entry) kept.delete(runId);
      throw error;
    }
  };

  return {
    /** Returns the review of a run that is being created, which is kept if nothing else changes meanwhile. */
    first(): FirstReview {
      const rows: EmployeeRow[] = [];
      return {
        onPage: (page, _, computation) => void rows.push(...rowsOf(computation, page)),
        created(runId, state, computed) {
          const review = Promise.resolve({ ...computed, employees: rows });
          keep(runId, {
            ...{ state: JSON.stringify(state), review, rows: Promise.resolve(rows) },
            employees: rows.length,
          });
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
