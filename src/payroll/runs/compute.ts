/** Computes a run from the ledger, some hundred employees at a time, in the order of their ids. */
import { isOneOf } from '../../database/bulk.ts';
import type { Db, Trx } from '../../database/tables.ts';
import { rosterAt } from '../../ledger/roster.ts';
import { calculator } from '../arithmetic/amounts.ts';
import { yearOf } from '../arithmetic/pay-dates.ts';
import type { Plan } from '../arithmetic/plan.ts';
import type { Earlier } from './adjustments.ts';
import { type Basis, planOfBasis } from './basis.ts';
import { codeFinder } from './codes.ts';
import { LINE_KINDS, type Line } from './line.ts';
import { endedLines, type LineRules, regularLines, type Standing, standingOf } from './lines.ts';
import { type Membership, membershipOf, type Scope } from './population.ts';
import { readAhead } from './read-ahead.ts';
import { candidates, frozenLines, historiesOf, owedBy } from './reads.ts';
import {
  type Debtor,
  type FrozenRow,
  runsToSettle,
  type Settlements,
  type Settling,
  settlingLines,
} from './settling.ts';

export type EmployeeLines = {
  employeeId: string;
  membership: Membership;
  lines: Line[];
};

/** What is needed at hand, made once from a basis. */
export type Inputs = {
  basis: Basis;
  scope: Scope;
  rules: LineRules;
  previousFreeze: string | null;
  settling: Settling;
};

/** Prepares the computation of a basis. */
export async function inputsOf(db: Db | Trx, basis: Basis): Promise<Inputs> {
  const { run } = basis;
  const ids = [
    ...basis.earlier.map((one) => one.run_id),
    ...(basis.previous === null ? [] : [basis.previous]),
  ];
  const rows = new Map((await frozenRuns(db, ids)).map((row) => [row.run_id, row]));
  const earlier = basis.earlier.map(({ run_id }): Earlier => {
    const row = rows.get(run_id) as FrozenRun;
    return {
      runId: run_id,
      freezeId: row.freeze_id,
      position: row.basis.position,
      isPriorYear: yearOf(row.basis.run.pay_date) !== yearOf(run.pay_date),
      rules: rulesOf(row.basis),
    };
  });
  const rules = rulesOf(basis);
  return {
    basis,
    scope: {
      run,
      employees: run.employee_ids === null ? null : new Set(run.employee_ids),
      finalChecks: new Set(run.final_checks),
      hasOneScheduleAtMost: basis.has_one_schedule_at_most,
    },
    rules,
    previousFreeze: basis.previous === null ? null : (rows.get(basis.previous) as FrozenRun).freeze_id,
    settling: {
      run,
      earlier,
      // An off-cycle run that names no deduction takes none, but may be what settles earlier runs.
      carrier: { codesOf: rules.codesOf, named: run.deductions === null ? null : rules.deductions },
      settled: settledByEmployee([...rows.values()]),
    },
  };
}

/** Who has to do with which runs, because one of them settled something of another. */
function settledByEmployee(rows: readonly FrozenRun[]): Map<string, Set<string>> {
  const byEmployee = new Map<string, Set<string>>();
  for (const { run_id, settled } of rows) {
    for (const [runId, employees] of settled) {
      for (const employeeId of employees) {
        const own = byEmployee.get(employeeId) ?? new Set();
        byEmployee.set(employeeId, own.add(run_id).add(runId));
      }
    }
  }
  return byEmployee;
}

/** The lines of a run, page by page; with `only`, of these employees. Nobody without lines who is not in the run. */
export async function* computeRun(
  db: Db | Trx,
  inputs: Inputs,
  { after = '', only = null }: { after?: string; only?: readonly string[] | null } = {},
): AsyncGenerator<EmployeeLines[]> {
  const pages = readAhead(candidates(db, inputs.basis.run, after, only), (employees) =>
    readEmployees(db, inputs, employees),
  );
  for await (const { all, frozen } of pages) {
    yield all
      .map((one) => linesOf(inputs, one, frozen.get(one.employeeId) ?? []))
      .filter(({ membership, lines }) => membership.isIn || lines.length > 0 || isTold(membership));
    // Requests of other people have their turn.
    await new Promise(setImmediate);
  }
}

/** One employee, and what the lines are made of. */
type Read = Debtor & { before: Standing };
type ReadPage = { all: readonly Read[]; frozen: ReadonlyMap<string, FrozenRow[]> };

async function readEmployees(
  db: Db | Trx,
  { basis, scope, settling, previousFreeze }: Inputs,
  employees: readonly string[],
): Promise<ReadPage> {
  const facts = await rosterAt(db, employees, basis.position);
  const histories = await historiesOf(db, employees, basis.position);
  const previous = await frozenLines(db, previousFreeze === null ? [] : [previousFreeze], employees);
  const owed = await owedBy(db, basis, employees);
  const all = employees.map(
    (employeeId): Read => ({
      employeeId,
      membership: membershipOf(facts.get(employeeId) ?? [], scope),
      histories: histories.get(employeeId) ?? [],
      before: standingOf(previous.get(employeeId)?.[0]?.lines ?? []),
      owed: owed.get(employeeId) ?? [],
    }),
  );
  return { all, frozen: await rowsToSettle(db, settling, all) };
}

/** The lines that must be read of earlier runs: of most employees none. */
async function rowsToSettle(
  db: Db | Trx,
  settling: Settling,
  all: readonly Read[],
): Promise<Map<string, FrozenRow[]>> {
  const wanted = new Map<string, Set<string>>();
  for (const one of all) {
    const runs = runsToSettle(settling, one);
    if (runs.length > 0) wanted.set(one.employeeId, new Set(runs.map(({ freezeId }) => freezeId)));
  }
  const freezeIds = settling.earlier.map(({ freezeId }) => freezeId);
  const read = await frozenLines(
    db,
    freezeIds.filter((id) => [...wanted.values()].some((own) => own.has(id))),
    [...wanted.keys()],
  );
  // Read together, what others need came along.
  for (const [employeeId, rows] of read)
    read.set(
      employeeId,
      rows.filter(({ freezeId }) => wanted.get(employeeId)?.has(freezeId)),
    );
  return read;
}

function linesOf(inputs: Inputs, read: Read, frozen: readonly FrozenRow[]): EmployeeLines {
  const { employeeId, membership, histories, before } = read;
  const { rules } = inputs;
  const lines = membership.isIn
    ? regularLines(employeeId, membership.employment, histories, rules, before)
    : [];
  if (before.size > 0 && mayEnd(inputs, read)) lines.push(...endedLines(lines, before, rules.deductions));
  if (frozen.length > 0) lines.push(...settlingLines(inputs.settling, read, frozen));
  return { employeeId, membership, lines: lines.sort(byPlace) };
}

/**
 * Whether a line that is there no more has come to its end. Not for who might belong to the run, or is left out of it;
 * and an off-cycle run says nothing of what it doesn't take.
 */
function mayEnd({ basis: { run }, scope }: Inputs, { employeeId, membership }: Read): boolean {
  return run.kind === 'regular' && !mightBelong(membership) && scope.employees?.has(employeeId) !== false;
}

function mightBelong(membership: Membership): boolean {
  return !membership.isIn && (membership.why === 'ambiguous' || membership.why === 'frequency-unknown');
}

/** Readiness names the employee. */
function isTold(membership: Membership): boolean {
  return mightBelong(membership) || (!membership.isIn && membership.why === 'group-unknown');
}

/** By kind, line of coverage, deduction, and run that is settled: an order of their own, whatever came first. */
function byPlace(one: Line, other: Line): number {
  return (
    LINE_KINDS.indexOf(one.kind) - LINE_KINDS.indexOf(other.kind) ||
    byText(one.line_of_coverage, other.line_of_coverage) ||
    byText(one.deduction_id, other.deduction_id) ||
    byText(one.adjustment_for ?? '', other.adjustment_for ?? '') ||
    // A difference before the refund that is only reported.
    one.flags.indexOf('start_moved_later') - other.flags.indexOf('start_moved_later')
  );
}

function byText(one: string, other: string): number {
  return one === other ? 0 : one < other ? -1 : 1;
}

function rulesOf(basis: Basis): LineRules {
  const { run } = basis;
  const named = run.kind === 'off_cycle' ? (run.deductions ?? []) : run.deductions;
  // Of most earlier runs nothing is computed, and an employer of many pay groups has hundreds.
  let plan: Plan | null = null;
  let calculate: LineRules['calculate'] | null = null;
  const planned = (): Plan => {
    plan ??= planOfBasis(basis);
    return plan;
  };
  return {
    run,
    deductions: named === null ? null : new Set(named),
    plan: planned,
    calculate(contribution) {
      calculate ??= calculator(planned());
      return calculate(contribution);
    },
    codesOf: codeFinder(basis.codes),
  };
}

export type FrozenRun = { run_id: string; freeze_id: string; basis: Basis; settled: Settlements };

/** Returns the finalized runs of the employer that settled something for a run, in the order of their pay dates. */
export async function settledBy(
  db: Db | Trx,
  { run_id, employer_id }: { run_id: string; employer_id: string },
): Promise<string[]> {
  const finalized = await db
    .selectFrom('payroll_runs')
    .select('run_id')
    .where('employer_id', '=', employer_id)
    .where('state', '=', 'finalized')
    .where('run_id', '<>', run_id)
    .orderBy('pay_date')
    .orderBy('run_id')
    .execute();
  const settling: string[] = [];
  // One at a time: what a run was computed from may be megabytes.
  for (const other of finalized) {
    const [frozen] = await frozenRuns(db, [other.run_id]);
    if (frozen?.settled.some(([settled]) => settled === run_id)) settling.push(other.run_id);
  }
  return settling;
}

/** What finalized runs were computed from, and whom they settled something for. */
export async function frozenRuns(db: Db | Trx, runIds: readonly string[]): Promise<FrozenRun[]> {
  if (runIds.length === 0) return [];
  const rows = await db
    .selectFrom('payroll_runs')
    .select(['run_id', 'freeze_id', 'frozen'])
    .where(isOneOf(db, 'run_id', runIds))
    .execute();
  return rows.map(({ run_id, freeze_id, frozen }) => ({
    run_id,
    freeze_id: freeze_id as string,
    ...(JSON.parse(frozen as string) as Pick<FrozenRun, 'basis' | 'settled'>),
  }));
}
