/** Reads the employees of a computation, some at a time. */
import { piecesOf } from '../../database/bulk.ts';
import { byBytes, engineOf } from '../../database/engine.ts';
import type { Db, Trx } from '../../database/tables.ts';
import { assignmentsOf } from '../../ledger/assignments.ts';
import { employmentsOf } from '../../ledger/employment.ts';
import { type RunVersion, versionsOfEmployees } from '../../ledger/history.ts';
import { isPlaceholder, successorsOf } from '../../ledger/placeholders.ts';
import { employeesOf, rosterOf } from '../../ledger/roster.ts';
import { decisionsOf } from '../facts/decisions.ts';
import { openingItemsOf } from '../facts/opening-items.ts';
import { owedBy } from '../facts/owed.ts';
import { attendanceOf, type FrozenRow, frozenLines, storedLines } from '../records/frozen-lines.ts';
import { itemSettlementsOf } from '../records/settlements.ts';
import type { Computation, RunEmployee } from './computation.ts';
import { type EarlierLines, earlierLinesOf } from './earlier-lines.ts';
import { type History, historyAt, historyFrom } from './history.ts';
import type { EarlierRun, Payee, Payout } from './payout.ts';
import { jobOf } from './population.ts';
import { readAhead } from './read-ahead.ts';
import { NOT_REOPENED, reopenedRuns } from './reopened-runs.ts';
import { takenItemsOf } from './taken-items.ts';

/** The employees that are read at once, and the pages that PostgreSQL reads while this process computes one. */
type Pace = { employees: number; pagesAhead: number };

/** Measured: twice as many employees save no time, as more objects outlive the young generation; half cost more statements. */
const QUICK: Pace = { employees: 128, pagesAhead: 2 };

/** Reads in turns of about 5 ms. A page of the console that is opened in that time waits about 50 ms at most. */
export const PATIENT: Pace = { employees: 96, pagesAhead: 0 };

/** `after`: the employee ID after which to start. */
export type Reading = { after?: string; pace?: Pace };

/** Yields the employees of a run, in the order of their ids. */
export function readEmployees(
  db: Db | Trx,
  computation: Computation,
  { after = '', pace = QUICK }: Reading = {},
): AsyncGenerator<RunEmployee[]> {
  const ids = idsOf(db, computation, after, pace.employees);
  return readAhead(ids, (page) => readPage(db, computation, page), pagesAhead(db, pace));
}

/** Yields the employees of a payout without a run, in the order of their ids, after one. */
export function readPayees(db: Db | Trx, payout: Payout, after: string): AsyncGenerator<Payee[]> {
  const ids = idsOf(db, payout, after, QUICK.employees);
  const readPayeePage = async (page: readonly string[]) => {
    const payees = await payeesOf(db, payout, page, NONE_READ);
    const final = payees.filter(({ employeeId }) => getsFinalCheck(payout.earlier, employeeId));
    await readPaidDates(db, payout, final);
    return payees;
  };
  return readAhead(ids, readPayeePage, pagesAhead(db, QUICK));
}

/** SQLite reads in this thread, so a page that is read ahead only lives longer. */
function pagesAhead(db: Db | Trx, pace: Pace): number {
  return engineOf(db) === 'postgres' ? pace.pagesAhead : 0;
}

/** Yields the employees that a payout names, else all that the employer ever had. */
async function* idsOf(
  db: Db | Trx,
  { payday, only }: Payout,
  after: string,
  limit: number,
): AsyncGenerator<string[]> {
  if (only !== null) {
    const following = [...only].sort(byBytes).filter((id) => byBytes(id, after) > 0);
    yield* piecesOf(following, limit);
    return;
  }
  for (let last = after; ; ) {
    const ids = await employeesOf(db, payday.employer_id, { after: last, limit });
    if (ids.length > 0) yield ids;
    if (ids.length < limit) return;
    last = ids.at(-1) as string;
  }
}

const NO_LINES: EarlierLines = earlierLinesOf([]);

/** The lines of employees in an earlier run that are read already. */
type ReadLines = { freezeId: string | null; rows: ReadonlyMap<string, readonly FrozenRow[]> };

const NONE_READ: ReadLines = { freezeId: null, rows: new Map() };

async function readPage(
  db: Db | Trx,
  computation: Computation,
  ids: readonly string[],
): Promise<RunEmployee[]> {
  const { run, runId, earlier, previous } = computation;
  const previousRows = await frozenLines(db, previous === null ? [] : [previous.freezeId], ids, storedLines);
  const read = previous === null ? NONE_READ : { freezeId: previous.freezeId, rows: previousRows };
  const payees = await payeesOf(db, computation, ids, read);
  const employees = payees.map((payee): RunEmployee => {
    const inPrevious = previousRows.get(payee.employeeId)?.[0];
    return Object.assign(payee, jobOf(payee.employments, computation), {
      inPrevious: { isIn: inPrevious?.isIn ?? false, lines: inPrevious?.lines ?? [] },
    });
  });
  // Most employees stay.
  const leaving = employees.filter(
    ({ employeeId, termination }) =>
      termination !== null || getsFinalCheck([computation, ...earlier], employeeId),
  );
  await readPaidDates(db, computation, leaving);
  if (run.kind === 'regular')
    for (const { membership, paid } of leaving)
      if (membership.isIn) paid.push({ runId, payDate: run.pay_date });
  return employees;
}

/** Reads what a payout knows of employees. */
async function payeesOf(
  db: Db | Trx,
  payout: Payout,
  ids: readonly string[],
  read: ReadLines,
): Promise<Payee[]> {
  const { basis, payday, proposed, shares } = payout;
  const facts = await rosterOf(db, ids, basis.position);
  const histories = await historiesOf(db, payout, ids);
  const owed = await owedBy(db, basis.earlier, ids);
  const decisions = await decisionsOf(db, payday.employer_id, ids, basis.decisions);
  const openings = await openingItemsOf(db, payday.employer_id, ids, basis.opening_items);
  const takenItems = takenItemsOf(payout, await itemSettlementsOf(db, ids), owed);
  const payees = ids.map((employeeId): Payee => {
    const reports = facts.get(employeeId) ?? [];
    const newest = reports.at(-1)?.position ?? 0;
    const employments = employmentsOf(reports);
    const payee: Payee = {
      employeeId,
      employments,
      jobAt(earlier, position = newest) {
        if (newest <= position) return jobOf(employments, earlier);
        return jobOf(employmentsOf(reports.filter((report) => report.position <= position)), earlier);
      },
      histories: histories.get(employeeId) ?? [],
      owed: owed.get(employeeId) ?? [],
      takenItems: takenItems.get(employeeId) ?? [],
      decisions: [...(decisions.get(employeeId) ?? []), ...(proposed.get(employeeId) ?? [])],
      openings: openings.get(employeeId) ?? [],
      shares: shares.get(employeeId) ?? [],
      paid: [],
      ...NOT_REOPENED,
      earlierLines: NO_LINES,
    };
    return Object.assign(payee, reopenedRuns(payout, payee));
  });
  await readEarlierLines(db, payees, read);
  return payees;
}

function getsFinalCheck(runs: readonly Pick<EarlierRun, 'finalChecks'>[], employeeId: string): boolean {
  return runs.some(({ finalChecks }) => finalChecks.has(employeeId));
}

/** Reads the pay dates of earlier runs that employees were or belong in. Only those who may get a final check need them. */
async function readPaidDates(db: Db | Trx, { earlier }: Payout, employees: readonly Payee[]): Promise<void> {
  const regular = earlier.filter(({ run, isVoided }) => run.kind === 'regular' && !isVoided);
  const rows = await attendanceOf(
    db,
    regular.map(({ freezeId }) => freezeId),
    employees.map(({ employeeId }) => employeeId),
  );
  const byEmployee = Map.groupBy(rows, ({ employee_id }) => employee_id);
  for (const employee of employees) {
    const attended = new Set((byEmployee.get(employee.employeeId) ?? []).map(({ freeze_id }) => freeze_id));
    const runs = regular.filter((run) => attended.has(run.freezeId) || employee.jobAt(run).belongs);
    employee.paid = runs.map(({ runId, run }) => ({ runId, payDate: run.pay_date }));
  }
}

/** Reads the lines in reopened runs. Most employees have no such runs. */
async function readEarlierLines(db: Db | Trx, employees: readonly Payee[], read: ReadLines): Promise<void> {
  const concerned = employees.filter(({ reopened }) => reopened.length > 0);
  if (concerned.length === 0) return;
  const reopened = new Set(concerned.flatMap((employee) => employee.reopened));
  const rows = await frozenLines(
    db,
    [...reopened].flatMap(({ freezeId }) => (freezeId === read.freezeId ? [] : [freezeId])),
    concerned.map(({ employeeId }) => employeeId),
    storedLines,
  );
  for (const employee of concerned) {
    const { employeeId } = employee;
    employee.earlierLines = earlierLinesOf([
      ...(rows.get(employeeId) ?? []),
      ...(read.rows.get(employeeId) ?? []),
    ]);
  }
}

/** Returns the histories of the deductions that ever named each employee, as known at the position of a payout. */
async function historiesOf(
  db: Db | Trx,
  { basis: { position }, isAnyAssigned }: Payout,
  ids: readonly string[],
): Promise<Map<string, History[]>> {
  const byEmployee = await versionsOfEmployees(db, ids);
  const assignments = isAnyAssigned ? await assignmentsOf(db, idsOfDeductions(byEmployee)) : new Map();
  const knownOf = (employeeId: string, versions: Versions, deductions: readonly Versions[]) => {
    const [first] = versions;
    const successors = isPlaceholder(first) ? successorsOf(first, deductions) : [];
    const history = historyFrom(versions, assignments.get(first.deduction_id) ?? [], successors);
    const known = historyAt(history, position);
    // A later version may be the first that names the employee.
    return known?.versions.some(({ employee_id }) => employee_id === employeeId) ? known : [];
  };
  return new Map(
    [...byEmployee].map(([id, deductions]) => [
      id,
      deductions.flatMap((versions) => knownOf(id, versions, deductions)),
    ]),
  );
}

type Versions = readonly [RunVersion, ...RunVersion[]];

function idsOfDeductions(byEmployee: ReadonlyMap<string, readonly Versions[]>): string[] {
  const histories = [...byEmployee.values()].flat();
  return [...new Set(histories.map(([{ deduction_id }]) => deduction_id))];
}
