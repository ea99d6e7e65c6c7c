/** Creates and previews runs. A run is stored only if it can be computed. */
import type { Db } from '../../database/tables.ts';
import { confirmDurable, transact } from '../../database/transaction.ts';
import { firstIds, type Problem } from '../../errors.ts';
import { nearIds } from '../../ledger/near-ids.ts';
import { employeesKnownAt } from '../../ledger/roster.ts';
import { deductionsKnownTo, type Viewer } from '../../ledger/visibility.ts';
import type { Acting } from '../../security/audit.ts';
import { type LineRecord, lineRecord } from '../calculation/line.ts';
import { resolveBasis } from '../compute/basis.ts';
import { runRefused } from '../compute/calendar.ts';
import { computationOf } from '../compute/computation.ts';
import { readEmployees } from '../compute/employees.ts';
import { computeInTurn } from '../compute/queue.ts';
import { LEFT_OUT_IN_WORDS } from '../compute/takeable.ts';
import type { EmployeeLines } from '../compute/taking.ts';
import type { RequestedRun } from '../records/body.ts';
import { assertSameRun, findRun, putRun, type StoredRun, storedRun } from '../records/runs.ts';
import { isKnownEmployer } from './employers.ts';
import { computeNow, type RunView, viewComputed, viewRun } from './results.ts';
import type { ComputedRun, OnPage } from './summary.ts';

type Begun = { outcome: 'created' | 'same'; view: RunView; stored: StoredRun };

/** Keeps the computation with which a run is created. */
export type FirstReview = { onPage: OnPage; created(runId: string, computed: ComputedRun): void };

const NOT_KEPT: FirstReview = { onPage() {}, created() {} };

/**
 * Stores a run if it can be computed. The same body under the same id is `same`, in any state. `viewer`: a caller limited to
 * employers, or null. Throws RUN_REFUSED or CONFLICT.
 */
export async function beginRun(
  db: Db,
  runId: string,
  run: RequestedRun,
  acting: Acting,
  review: FirstReview = NOT_KEPT,
  viewer: Viewer | null = null,
): Promise<Begun> {
  let known = await findRun(db, runId);
  if (known === null) {
    const made = await computeInTurn(run.employer_id, () => makeRun(db, runId, run, acting, review, viewer));
    if (made.isNew) return { outcome: 'created', view: viewComputed(made.computed), stored: made.stored };
    // Another caller created the run while this one was computed.
    known = made.stored;
  }
  assertSameRun(known, run);
  await confirmDurable(db);
  return { outcome: 'same', view: await viewRun(db, known), stored: known };
}

/** Computes and stores a run in one turn: if hundreds of runs were stored at once, the last would wait too long for the lock. */
async function makeRun(
  db: Db,
  runId: string,
  run: RequestedRun,
  acting: Acting,
  review: FirstReview,
  viewer: Viewer | null,
) {
  const computed = await computeKnown(db, runId, run, review.onPage, viewer);
  const { isNew, stored } = await transact(db, async (trx) => ({
    isNew: await putRun(trx, runId, run, acting),
    stored: await storedRun(trx, runId),
  }));
  if (isNew) review.created(runId, computed);
  return { isNew, stored, computed };
}

export const PREVIEWED_LINES = 500;

/** Computes a run without storing it, and returns its first lines if it names its employees. Throws RUN_REFUSED. */
export async function previewWithLines(
  db: Db,
  run: RequestedRun,
  viewer: Viewer | null = null,
): Promise<{ view: RunView; lines: LineRecord[] | null }> {
  const lines: LineRecord[] | null = run.employee_ids === null ? null : [];
  const onPage: OnPage = (page) => {
    if (lines !== null && lines.length < PREVIEWED_LINES)
      lines.push(...page.flatMap((computed) => computed.lines.map(lineRecord)));
  };
  const computed = await computeInTurn(run.employer_id, () => computeKnown(db, null, run, onPage, viewer));
  return { view: viewComputed(computed), lines: lines?.slice(0, PREVIEWED_LINES) ?? null };
}

/** Computes a run, and checks everything that it names. Throws RUN_REFUSED. */
async function computeKnown(
  db: Db,
  runId: string | null,
  run: RequestedRun,
  onPage: OnPage,
  viewer: Viewer | null,
): Promise<ComputedRun> {
  if (!(await isKnownEmployer(db, run.employer_id))) {
    const rule = 'is unknown: check the ID, or stage its census first';
    throw runRefused({ path: 'employer_id', rule });
  }
  const unknown = await unknownIds(db, run, viewer);
  if (unknown.length > 0) throw runRefused(...unknown);
  const wrongChecks = await finalCheckProblems(db, run);
  const namedItems = createItemCheck(run.items ?? []);
  // Only the items need the computation to be checked.
  if (wrongChecks.length > 0 && run.items === null) throw runRefused(...wrongChecks);
  const computed = await computeNow(db, runId, run, async (page, texts, computation) => {
    namedItems.add(page);
    await onPage(page, texts, computation);
  });
  const problems = [...wrongChecks, ...namedItems.problems()];
  if (problems.length > 0) throw runRefused(...problems);
  return computed;
}

/** Maximum number of unknown ids that a problem names. Further ids are counted. */
const NAMED = 20;

/** Returns a problem for each list with ids never known at the employer: a mistyped one would leave employees out. */
async function unknownIds(
  db: Db,
  { employer_id, employee_ids, final_checks, deductions }: RequestedRun,
  viewer: Viewer | null,
): Promise<Problem[]> {
  const named = [...new Set([...(employee_ids ?? []), ...final_checks])];
  const employees = await employeesKnownAt(db, employer_id, named);
  const lists = [
    { path: 'employee_ids', ids: employee_ids ?? [], known: employees },
    { path: 'final_checks', ids: final_checks, known: employees },
    {
      path: 'deductions',
      ids: deductions ?? [],
      known: await deductionsKnownTo(viewer, db, employer_id, deductions ?? []),
    },
  ];
  const unknown = lists.map(({ path, ids, known }) => ({ path, ids: ids.filter((id) => !known.has(id)) }));
  const shown = unknown.flatMap(({ path, ids }) => (path === 'deductions' ? [] : ids.slice(0, NAMED)));
  const near = await nearIds(db, [...new Set(shown)], [employer_id]);
  const withNear = (id: string): string => (near.has(id) ? `${id} (the census has ${near.get(id)})` : id);
  return unknown.flatMap(({ path, ids }) => {
    if (ids.length === 0) return [];
    const names = firstIds(ids.map(withNear), NAMED);
    return [{ path, rule: `must name ids known at employer ${employer_id}; unknown: ${names}` }];
  });
}

/** Returns a problem if final checks name employees without a termination. */
async function finalCheckProblems(db: Db, run: RequestedRun): Promise<Problem[]> {
  if (run.final_checks.length === 0) return [];
  const basis = await resolveBasis(db, null, run);
  const computation = await computationOf(db, null, basis, run.final_checks);
  const employed: string[] = [];
  for await (const page of readEmployees(db, computation))
    for (const { employeeId, termination } of page) if (termination === null) employed.push(employeeId);
  if (employed.length === 0) return [];
  const rule = `must name employees with a termination; none is reported for ${firstIds(employed, NAMED)}`;
  return [{ path: 'final_checks', rule }];
}

/** Collects a problem for each named item that the run may not take. */
function createItemCheck(ids: readonly string[]) {
  const left = new Map<string, string>(ids.map((id) => [id, 'is no open item of an employee in the run']));
  return {
    add(page: readonly EmployeeLines[]): void {
      for (const { items, leftOut } of page.flatMap(({ taking }) => taking.units)) {
        for (const { id } of items) {
          if (leftOut === null) left.delete(id);
          else if (left.has(id)) left.set(id, LEFT_OUT_IN_WORDS[leftOut]);
        }
      }
    },
    problems: (): Problem[] =>
      [...left].slice(0, NAMED).map(([id, why]) => ({ path: `items[${ids.indexOf(id)}]`, rule: why })),
  };
}
