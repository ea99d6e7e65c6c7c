/** Reads the employees of a computation, some at a time. */
import { piecesOf } from '../../database/bulk.ts';
import { byBytes } from '../../database/engine.ts';
import type { Db, Trx } from '../../database/tables.ts';
import { assignmentsOf } from '../../ledger/assignments.ts';
import { employmentsOf } from '../../ledger/employment.ts';
import { type RunVersion, versionsOfEmployees } from '../../ledger/history.ts';
import { isPlaceholder, successorsOf } from '../../ledger/placeholders.ts';
import { employeesOf, rosterAt } from '../../ledger/roster.ts';
import { decisionsOf } from '../facts/decisions.ts';
import { openingItemsOf } from '../facts/opening-items.ts';
import { owedBy } from '../facts/owed.ts';
import { attendanceOf, type FrozenRow, frozenLines, storedLines } from '../records/frozen-lines.ts';
import { itemSettlementsOf } from '../records/settlements.ts';
import type { Computation, RunEmployee } from './computation.ts';
import { type EarlierLines, earlierLinesOf } from './earlier-lines.ts';
import { type History, historyAt, historyFrom } from './history.ts';
import { jobOf } from './population.ts';
import { readAhead } from './read-ahead.ts';
import { type Reopened, reopenedRuns } from './reopened-runs.ts';
import { takenItemsOf } from './taken-items.ts';

/** The employees that are read at once, and the pages that are read while one is computed. */
type Pace = { employees: number; pagesAhead: number };

/**
 * Measured: twice as many employees save no time, as more objects outlive the young generation; half cost more statements.
 * PostgreSQL reads pages while this process computes one.
 */
const QUICK: Pace = { employees: 128, pagesAhead: 2 };

/** Takes up to twice as long. A page of the console that is opened in that time waits about 50 ms at most. */
export const PATIENT: Pace = { employees: 48, pagesAhead: 0 };

/** `after`: the employee ID after which to start. */
export type Reading = { after?: string; pace?: Pace };

/** Yields the employees of a computation, in the order of their ids. */
export function readEmployees(
  db: Db | Trx,
  computation: Computation,
  { after = '', pace = QUICK }: Reading = {},
): AsyncGenerator<RunEmployee[]> {
  const ids = idsOf(db, computation, after, pace.employees);
  return readAhead(ids, (page) => readPage(db, computation, page), pace.pagesAhead);
}

/** Yields the employees that the computation or an off-cycle run names, else all that the employer ever had. */
async function* idsOf(
  db: Db | Trx,
  { run, only }: Computation,
  after: string,
  limit: number,
): AsyncGenerator<string[]> {
  const named = only ?? (run.kind === 'off_cycle' ? run.employee_ids : null);
  if (named !== null) {
    const following = [...named].sort(byBytes).filter((id) => byBytes(id, after) > 0);
    yield* piecesOf(following, limit);
    return;
  }
  for (let last = after; ; ) {
    const ids = await employeesOf(db, run.employer_id, { after: last, limit });
    if (ids.length > 0) yield ids;
    if (ids.length < limit) return;
    last = ids.at(-1) as string;
  }
}

const NOT_REOPENED: Reopened = { reopened: [], revised: new Set() };
const NO_LINES: EarlierLines = earlierLinesOf([]);

async function readPage(
  db: Db | Trx,
  computation: Computation,
  ids: readonly string[],
): Promise<RunEmployee[]> {
  const { basis, previous } = computation;
  const facts = await rosterAt(db, ids, basis.position);
  const histories = await historiesOf(db, ids, basis.position);
  const previousRows = await frozenLines(db, previous === null ? [] : [previous.freezeId], ids, storedLines);
  const owed = await owedBy(db, basis.earlier, ids);
  const { employer_id } = basis.run;
  const decisions = await decisionsOf(db, employer_id, ids, basis.decisions);
  const openings = await openingItemsOf(db, employer_id, ids, basis.opening_items);
  const takenItems = takenItemsOf(computation, await itemSettlementsOf(db, ids), owed);
  const employees = ids.map((employeeId): RunEmployee => {
    const reports = facts.get(employeeId) ?? [];
    const newest = reports.at(-1)?.position ?? 0;
    const employments = employmentsOf(reports);
    const inPrevious = previousRows.get(employeeId)?.[0];
    const employee: RunEmployee = {
      employeeId,
      employments,
      ...jobOf(employments, computation),
      jobAt(earlier, position = newest) {
        if (newest <= position) return jobOf(employments, earlier);
        return jobOf(employmentsOf(reports.filter((report) => report.position <= position)), earlier);
      },
      histories: histories.get(employeeId) ?? [],
      inPrevious: { isIn: inPrevious?.isIn ?? false, lines: inPrevious?.lines ?? [] },
      owed: owed.get(employeeId) ?? [],
      takenItems: takenItems.get(employeeId) ?? [],
      decisions: [...(decisions.get(employeeId) ?? []), ...(computation.proposed.get(employeeId) ?? [])],
      openings: openings.get(employeeId) ?? [],
      shares: computation.shares.get(employeeId) ?? [],
      paid: [],
      ...NOT_REOPENED,
      earlierLines: NO_LINES,
    };
    return Object.assign(employee, reopenedRuns(computation, employee));
  });
  await readPaidDates(db, computation, employees);
  await readEarlierLines(db, computation, employees, previousRows);
  return employees;
}

/** Reads the pay dates of employees who may get a final check. Most employees stay. */
async function readPaidDates(
  db: Db | Trx,
  computation: Computation,
  employees: readonly RunEmployee[],
): Promise<void> {
  const { earlier } = computation;
  const checks = [computation, ...earlier];
  const leaving = employees.filter(
    ({ employeeId, termination }) =>
      termination !== null || checks.some(({ finalChecks }) => finalChecks.has(employeeId)),
  );
  const regular = earlier.filter(({ run, isVoided }) => run.kind === 'regular' && !isVoided);
  const rows = await attendanceOf(
    db,
    regular.map(({ freezeId }) => freezeId),
    leaving.map(({ employeeId }) => employeeId),
  );
  const byEmployee = Map.groupBy(rows, ({ employee_id }) => employee_id);
  for (const employee of leaving) {
    const attended = new Set((byEmployee.get(employee.employeeId) ?? []).map(({ freeze_id }) => freeze_id));
    const runs = regular.filter(
      (earlier) => attended.has(earlier.freezeId) || employee.jobAt(earlier).belongs,
    );
    const isPaidNow = computation.run.kind === 'regular' && employee.membership.isIn;
    employee.paid = [...runs, ...(isPaidNow ? [computation] : [])].map(({ runId, run }) => ({
      runId,
      payDate: run.pay_date,
    }));
  }
}

/** Reads the lines in reopened runs. Most employees have no such runs. `previousRows`: the lines in the previous run. */
async function readEarlierLines(
  db: Db | Trx,
  { earlier, previous }: Computation,
  employees: readonly RunEmployee[],
  previousRows: ReadonlyMap<string, readonly FrozenRow[]>,
): Promise<void> {
  const concerned = employees.filter(({ reopened }) => reopened.length > 0);
  if (concerned.length === 0) return;
  const reopened = new Set(concerned.flatMap((employee) => employee.reopened));
  const rows = await frozenLines(
    db,
    earlier.filter((run) => run !== previous && reopened.has(run)).map(({ freezeId }) => freezeId),
    concerned.map(({ employeeId }) => employeeId),
    storedLines,
  );
  for (const employee of concerned) {
    const { employeeId } = employee;
    employee.earlierLines = earlierLinesOf([
      ...(rows.get(employeeId) ?? []),
      ...(previousRows.get(employeeId) ?? []),
    ]);
  }
}

/** Returns the histories of the deductions that ever named each employee, as known at a position. */
async function historiesOf(
  db: Db | Trx,
  ids: readonly string[],
  position: number,
): Promise<Map<string, History[]>> {
  const byEmployee = await versionsOfEmployees(db, ids);
  const deductions = [...byEmployee.values()].flat();
  const assignments = await assignmentsOf(db, idsOfDeductions(deductions));
  const knownOf = (versions: Versions, deductions: readonly Versions[]) => {
    const [first] = versions;
    const successors = isPlaceholder(first) ? successorsOf(first, deductions) : [];
    const history = historyFrom(versions, assignments.get(first.deduction_id) ?? [], successors);
    return historyAt(history, position) ?? [];
  };
  return new Map(
    [...byEmployee].map(([id, deductions]) => [
      id,
      deductions.flatMap((versions) => knownOf(versions, deductions)),
    ]),
  );
}

type Versions = readonly [RunVersion, ...RunVersion[]];

function idsOfDeductions(histories: readonly Versions[]): string[] {
  return [...new Set(histories.map(([{ deduction_id }]) => deduction_id))];
}
