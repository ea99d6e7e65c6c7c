/** Computes a run from the ledger, about a hundred employees at a time, in the order of their ids. */
import type { Db, Trx } from '../../database/tables.ts';
import { employmentsOf } from '../../ledger/employment.ts';
import type { RunVersion } from '../../ledger/history.ts';
import { rosterAt } from '../../ledger/roster.ts';
import { concernsDay, type MovedStart } from '../../ledger/state.ts';
import { calculator } from '../calculation/amounts.ts';
import { LINE_KINDS, type Line } from '../calculation/line.ts';
import { yearOf } from '../calculation/pay-dates.ts';
import type { Plan } from '../calculation/plan.ts';
import { owedBy } from '../facts/owed.ts';
import { dayOfRun } from '../records/body.ts';
import { type FrozenRow, frozenLines } from '../records/frozen-lines.ts';
import { frozenRows } from '../records/runs.ts';
import { settledByFreezes } from '../records/settlements.ts';
import { codeFinder } from '../settings/codes.ts';
import type { Earlier } from './adjustments.ts';
import { type Basis, planOfBasis, type StoredBasis, storedBasisOf } from './basis.ts';
import { stateFor } from './history.ts';
import { membershipOf } from './population.ts';
import { candidates, historiesOf, readAhead } from './reads.ts';
import { type Rules, regularLines, stoppedLines } from './regular-lines.ts';
import { type Debtor, runsToTrueUp, type TrueUp, trueUpLines } from './true-up.ts';

/** An employee of the employer, in the run or not. */
export type EmployeeLines = Debtor & {
  lines: Line[];
  /** A deduction of the employee is in effect on the run's day. */
  hasDeduction: boolean;
  /** Moved starts whose old and new dates enclose the run's date. */
  corrected: readonly MovedStart<RunVersion>[];
  undecided: readonly MovedStart<RunVersion>[];
};

type Inputs = TrueUp & { previous: { rules: Rules; freezeId: string } | null };

async function inputsOf(db: Db | Trx, basis: Basis, only: readonly string[] | undefined): Promise<Inputs> {
  const { run } = basis;
  const ids = basis.earlier.map(({ run_id }) => run_id);
  const all = await frozenRuns(db, basis.previous === null ? ids : [...ids, basis.previous]);
  const runs = new Map(all.map((row) => [row.run_id, row]));
  const earlier = basis.earlier.map(({ run_id, is_voided }): Earlier => {
    const row = runs.get(run_id) as FrozenRun;
    return {
      runId: run_id,
      freezeId: row.freeze_id,
      position: row.basis.position,
      isVoided: is_voided,
      isPriorYear: yearOf(row.basis.run.pay_date) !== yearOf(run.pay_date),
      rules: rulesOf(row.basis),
    };
  });
  const rules = rulesOf(basis);
  const previous = runs.get(basis.previous ?? '');
  return {
    basis,
    rules,
    previous:
      previous === undefined ? null : { freezeId: previous.freeze_id, rules: rulesOf(previous.basis) },
    earlier,
    // An off-cycle run that names no deduction takes none, but it may adjust earlier runs.
    carrier: { codesOf: rules.codesOf, named: run.deductions === null ? null : rules.deductions },
    settled: await settledByEmployee(db, earlier, only),
  };
}

/** Returns, by employee, the ids of the runs that adjusted an earlier run, and of the runs that they adjusted. */
async function settledByEmployee(
  db: Db | Trx,
  earlier: readonly Earlier[],
  only: readonly string[] | undefined,
): Promise<Map<string, Set<string>>> {
  const counting = new Map(
    earlier.filter(({ isVoided }) => !isVoided).map(({ freezeId, runId }) => [freezeId, runId]),
  );
  const byEmployee = new Map<string, Set<string>>();
  if (counting.size === 0) return byEmployee;
  for (const { freeze_id, employee_id, settles } of await settledByFreezes(db, [...counting.keys()], only)) {
    const runIds = byEmployee.get(employee_id) ?? new Set();
    byEmployee.set(employee_id, runIds.add(counting.get(freeze_id) as string).add(settles));
  }
  return byEmployee;
}

/** Yields all employees of the employer, or `only` these, so that those outside the run are accounted for too. */
export async function* computeRun(
  db: Db | Trx,
  basis: Basis,
  { after = '', only }: { after?: string | undefined; only?: readonly string[] | undefined } = {},
): AsyncGenerator<EmployeeLines[]> {
  const inputs = await inputsOf(db, basis, only);
  const pages = readAhead(candidates(db, basis.run, after, only), (employees) =>
    readEmployees(db, inputs, employees),
  );
  for await (const page of pages) {
    yield page.map((read) => linesOf(inputs, read));
    // Let other requests proceed.
    await new Promise(setImmediate);
  }
}

/** An employee, the earlier runs to true up, and the employee's lines in them. */
type Read = Debtor & { runs: readonly Earlier[]; rows: readonly FrozenRow[] };

async function readEmployees(db: Db | Trx, inputs: Inputs, employees: readonly string[]): Promise<Read[]> {
  const { basis, rules, previous, earlier } = inputs;
  const facts = await rosterAt(db, employees, basis.position);
  const histories = await historiesOf(db, employees, basis.position);
  const before = await frozenLines(db, previous === null ? [] : [previous.freezeId], employees);
  const owed = await owedBy(db, basis.earlier, employees);
  const all = employees.map((employeeId) => {
    const reports = facts.get(employeeId) ?? [];
    const employments = employmentsOf(reports);
    const last = reports.at(-1)?.position ?? 0;
    const row = before.get(employeeId)?.[0];
    const employee: Debtor = {
      employeeId,
      employments,
      employmentsAt: (position) =>
        last <= position ? employments : employmentsOf(reports.filter((one) => one.position <= position)),
      membership: membershipOf(employments, rules),
      histories: histories.get(employeeId) ?? [],
      owed: owed.get(employeeId) ?? [],
      previous: previous && { rules: previous.rules, isIn: row?.isIn ?? false, lines: row?.lines ?? [] },
    };
    return { ...employee, runs: runsToTrueUp(inputs, employee) };
  });
  // Most employees need no lines of earlier runs.
  const concerned = all.filter(({ runs }) => runs.length > 0);
  const needed = new Set(concerned.flatMap(({ runs }) => runs.map(({ freezeId }) => freezeId)));
  const rows = await frozenLines(
    db,
    earlier.map(({ freezeId }) => freezeId).filter((id) => needed.has(id)),
    concerned.map(({ employeeId }) => employeeId),
  );
  return all.map((one) => ({ ...one, rows: rows.get(one.employeeId) ?? [] }));
}

function linesOf(inputs: Inputs, read: Read): EmployeeLines {
  const { employeeId, histories, runs, rows } = read;
  const { rules } = inputs;
  const day = dayOfRun(rules.run);
  const lines = regularLines(read, rules);
  lines.push(...stoppedLines(lines, read, rules));
  lines.push(...trueUpLines(inputs, read, runs, rows, lines));
  const ofDay = (moved: MovedStart<RunVersion>) =>
    moved.version.employee_id === employeeId && concernsDay(moved, day);
  return {
    ...read,
    lines: lines.sort(byPlace),
    hasDeduction: histories.some((history) => stateFor(history, employeeId, day) !== null),
    corrected: histories.flatMap(({ timeline }) => timeline.corrected.filter(ofDay)),
    undecided: histories.flatMap(({ timeline }) => timeline.undecided.filter(ofDay)),
  };
}

/** By kind, line of coverage, deduction, adjusted run, and taxability. */
function byPlace(one: Line, other: Line): number {
  return (
    LINE_KINDS.indexOf(one.kind) - LINE_KINDS.indexOf(other.kind) ||
    byText(one.line_of_coverage, other.line_of_coverage) ||
    byText(one.deduction_id, other.deduction_id) ||
    byText(one.adjustment_for ?? '', other.adjustment_for ?? '') ||
    byText(one.taxability, other.taxability)
  );
}

function byText(one: string, other: string): number {
  return one === other ? 0 : one < other ? -1 : 1;
}

function rulesOf(basis: StoredBasis): Rules {
  const { run, schedules, codes } = basis;
  const named = run.kind === 'off_cycle' ? (run.deductions ?? []) : run.deductions;
  // Nothing is computed for most earlier runs, and an employer with many pay groups has hundreds.
  let plan: Plan | undefined;
  let calculate: Rules['calculate'] | undefined;
  const planned = (): Plan => {
    plan ??= planOfBasis(basis);
    return plan;
  };
  return {
    run,
    employees: run.employee_ids === null ? null : new Set(run.employee_ids),
    finalChecks: new Set(run.final_checks),
    hasOneScheduleAtMost: schedules.length <= 1,
    deductions: named === null ? null : new Set(named),
    plan: planned,
    calculate(contribution) {
      calculate ??= calculator(planned());
      return calculate(contribution);
    },
    codesOf: codeFinder(codes),
  };
}

export type FrozenRun = { run_id: string; freeze_id: string; basis: StoredBasis };

/** Returns finalized and voided runs with the part of their basis that computing them again needs. */
export async function frozenRuns(db: Db | Trx, runIds: readonly string[]): Promise<FrozenRun[]> {
  if (runIds.length === 0) return [];
  return (await frozenRows(db, runIds)).map((row) => ({
    run_id: row.run_id,
    freeze_id: row.freeze_id as string,
    basis: storedBasisOf(row),
  }));
}
