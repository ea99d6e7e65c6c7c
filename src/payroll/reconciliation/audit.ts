/** Compares payroll's own file with a run: "Reconciliation" of the field notes. */
import { piecesOf } from '../../database/bulk.ts';
import type { Db } from '../../database/tables.ts';
import type { Problem } from '../../errors.ts';
import {
  type Columns,
  createProblems,
  type GivenRow,
  type Rows,
  type RowsRefused,
  readableRows,
} from '../../formats/rows.ts';
import { employeesKnownAt } from '../../ledger/roster.ts';
import { AMOUNT_RULE, centsOf, parseAmount } from '../../money.ts';
import { isIncluded, type Line } from '../calculation/line.ts';
import type { LinesOfEmployee } from '../runs/line-pages.ts';
import {
  type Amounts,
  type Audit,
  createCategories,
  keyOf,
  NAMING,
  type Naming,
} from './audit-categories.ts';

export const AUDIT_COLUMNS: Columns = {
  list: 'lines',
  required: ['employee_id', 'member_amount'],
  optional: [...NAMING, 'employer_amount'],
};

/**
 * Rows of one file. They are in any order and stay in memory, about 250 bytes each, until the run's lines have been read;
 * an employer with 100,000 employees has about 300,000.
 */
export const AUDIT_ROWS_MAX = 500_000;
/** Rows handled before the event loop continues, and employees looked up at once. */
const ROWS_AT_ONCE = 1_000;

/**
 * Compares the rows of payroll's file with the lines of a run, except those that are only reported. Rows for
 * the same are added up, and so are lines if the file is coarser. The employer's side is compared if the file
 * has it. A zero without a counterpart is not a difference. One wrong row rejects the file, and then no page
 * of the run is read.
 */
export async function auditRun(
  db: Db,
  run: { employerId: string; pages: AsyncIterable<readonly LinesOfEmployee[]> },
  rows: Rows,
): Promise<{ ok: true; audit: Audit } | RowsRefused> {
  const problems = createProblems();
  const file = createFile();
  for await (const some of readableRows(rows, AUDIT_COLUMNS, problems, ROWS_AT_ONCE)) {
    for (const row of some) {
      const problem = file.take(row);
      if (problem !== null) problems.add(problem);
    }
    if (file.rows > AUDIT_ROWS_MAX) {
      problems.add({ path: AUDIT_COLUMNS.list, rule: `must have at most ${AUDIT_ROWS_MAX} elements` });
      break;
    }
  }
  if (!problems.isEmpty) return problems.refused();
  const categories = createCategories(file.names(), file.givesEmployer);
  for await (const page of run.pages) {
    for (const { employeeId, lines } of page) {
      for (const [key, here] of sumsOf(employeeId, lines, file.names())) {
        categories.compare(key, here, file.claim(key));
      }
    }
  }
  for (const keys of piecesOf(file.unclaimed(), ROWS_AT_ONCE)) {
    const known = await employeesKnownAt(db, run.employerId, keys.map(employeeIn));
    for (const key of keys)
      categories.onlyInPayroll(key, file.claim(key) as Amounts, known.has(employeeIn(key)));
    await new Promise(setImmediate);
  }
  return { ok: true, audit: categories.audit() };
}

/** Collects payroll's amounts by employee and by what they are for. */
function createFile() {
  const amounts = new Map<string, Amounts>();
  let names: readonly Naming[] | null = null;
  let rows = 0;
  let givesEmployer = false;
  return {
    /** Adds a row, or returns its problems. */
    take({ path, fields }: GivenRow): Problem | null {
      const { employee_id, member_amount, employer_amount } = fields;
      rows += 1;
      if (employee_id === undefined) return { path: `${path}.employee_id`, rule: 'is required' };
      if (member_amount === undefined) return { path: `${path}.member_amount`, rule: 'is required' };
      const member = parseAmount(member_amount);
      if (member === null) return { path: `${path}.member_amount`, rule: AMOUNT_RULE };
      const employer = employer_amount === undefined ? null : parseAmount(employer_amount);
      if (employer_amount !== undefined && employer === null) {
        return { path: `${path}.employer_amount`, rule: AMOUNT_RULE };
      }
      const given = NAMING.filter((name) => fields[name] !== undefined);
      if (given.length === 0)
        return { path, rule: `must name its deduction or code: ${NAMING.join(' or ')}` };
      names ??= given;
      if (names.join() !== given.join()) {
        return { path, rule: `must use the same columns as the rows before it: ${names.join(' and ')}` };
      }
      givesEmployer ||= employer !== null;
      addTo(amounts, keyOf(employee_id, names, fields), { member, employer });
      return null;
    },
    get rows() {
      return rows;
    },
    get givesEmployer() {
      return givesEmployer;
    },
    names: (): readonly Naming[] => names ?? [],
    /** Removes and returns payroll's amounts for a key. */
    claim(key: string): Amounts | null {
      const found = amounts.get(key) ?? null;
      amounts.delete(key);
      return found;
    },
    unclaimed: (): string[] => [...amounts.keys()].sort(),
  };
}

/** Returns the sums of an employee's lines, grouped as the rows of the file are. */
function sumsOf(employeeId: string, lines: readonly Line[], names: readonly Naming[]): Map<string, Amounts> {
  const sums = new Map<string, Amounts>();
  for (const line of lines.filter(isIncluded)) {
    const member = centsOf(line.member_amount);
    addTo(sums, keyOf(employeeId, names, line), { member, employer: centsOf(line.employer_amount) });
  }
  return sums;
}

function addTo(sums: Map<string, Amounts>, key: string, { member, employer }: Amounts): void {
  const sum = sums.get(key);
  if (sum === undefined) {
    sums.set(key, { member, employer });
    return;
  }
  sum.member += member;
  if (employer !== null) sum.employer = (sum.employer ?? 0n) + employer;
}

function employeeIn(key: string): string {
  const [employeeId]: [string] = JSON.parse(key);
  return employeeId;
}
