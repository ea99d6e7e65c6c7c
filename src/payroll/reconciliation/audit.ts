/** Compares payroll's own file with a run: docs/reconciliation.md. */
import Type, { type Static } from 'typebox';
import { didYouMean } from '../../contract/check.ts';
import { LINES_OF_COVERAGE } from '../../contract/deduction.ts';
import { closed, component, integer, nullableText, text } from '../../contract/fields.ts';
import { meantChoice } from '../../contract/meant.ts';
import { piecesOf } from '../../database/bulk.ts';
import type { Db } from '../../database/tables.ts';
import type { Problem } from '../../errors.ts';
import {
  amountProblem,
  type Columns,
  createProblems,
  type GivenRow,
  type Rows,
  readableRows,
} from '../../formats/rows.ts';
import { nearIds } from '../../ledger/near-ids.ts';
import { employeesKnownAt } from '../../ledger/roster.ts';
import { amountOf, type Cents, centsOf, parseAmount } from '../../money.ts';
import type { LinesOfEmployee } from '../records/frozen-lines.ts';

const NAMING = ['deduction_id', 'payroll_code', 'line_of_coverage'] as const;
type Naming = (typeof NAMING)[number];

export const AUDIT_ROWS_NAMED = 1_000;

const AUDIT_TOTALS = {
  count: integer('The number of rows.'),
  member_amount: text('The employee total of the run.'),
  employer_amount: text('The employer total of the run.'),
  payroll_member_amount: text('The employee total of the payroll file.'),
  payroll_employer_amount: nullableText(
    'The employer total of the payroll file. Null: the file has no employer amounts, and they are not compared.',
  ),
};
const AuditTotals = closed(AUDIT_TOTALS);
type AuditTotals = Static<typeof AuditTotals>;

const amount = (description: string) => nullableText(`${description} Null if there is none.`);
const optional = (description: string) => Type.Optional(nullableText(description));

const AuditRow = closed({
  employee_id: text('The employee.'),
  near_employee_id: Type.Optional(
    text(
      'For an unknown employee: the ID in the roster that differs only by zeros at its front, case, width or blanks.',
    ),
  ),
  deduction_id: optional('The deduction.'),
  payroll_code: optional('The payroll code.'),
  line_of_coverage: optional('The line of coverage.'),
  member_amount: amount('The amount in the run.'),
  employer_amount: amount('The amount in the run.'),
  payroll_member_amount: amount('The amount in the payroll file.'),
  payroll_employer_amount: amount('The amount in the payroll file.'),
});
type AuditRow = Static<typeof AuditRow>;

const Category = (description: string) =>
  component(
    'AuditCategory',
    { ...AUDIT_TOTALS, rows: Type.Array(AuditRow, { description: `The first ${AUDIT_ROWS_NAMED}.` }) },
    description,
  );

export const Audit = component(
  'PayrollRunAudit',
  {
    compared_by: Type.Array(Type.Enum([...NAMING]), {
      description: 'The field that identifies the payroll rows. Its sums are compared.',
    }),
    matched: closed(AUDIT_TOTALS, 'Rows with equal amounts, or no amounts, on both sides.'),
    only_here: Category('Rows only in the run.'),
    only_in_payroll: Category('Rows only in the payroll file.'),
    amount_differs: Category('Rows on both sides with different amounts.'),
    employee_unknown: Category('Rows of employees that are unknown for this employer.'),
  },
  'The comparison of a run with the payroll file.',
);
export type Audit = Static<typeof Audit>;

export const AUDIT_COLUMNS: Columns = {
  list: 'lines',
  required: ['employee_id', 'member_amount'],
  optional: [...NAMING, 'employer_amount'],
  format: 'payroll',
};

/** Rows of one file stay in memory, about 250 bytes each. An employer with 100,000 employees has about 300,000. */
export const AUDIT_ROWS_MAX = 500_000;
/** Rows handled before the event loop continues, and employees looked up at once. */
const ROWS_AT_ONCE = 1_000;

/** The amounts of an employee under one name: sums of all rows or lines for it. */
type SidesOfName = { member: Cents; employer: Cents | null };

/** Payroll's file. `names`: the fields by which its rows name their deductions; null before the first row. */
type PayrollFile = {
  amounts: Map<string, SidesOfName>;
  names: readonly Naming[] | null;
  givesEmployer: boolean;
};

/**
 * Compares the rows of payroll's file with the lines that a run takes. Rows of the
 * same name are added up. Lines are too, if the file names less than they do. A zero without a counterpart is not a difference.
 * `isBySide`: whether the file names the employer's side by its own code. Throws ROWS_REFUSED for one wrong row, before a page of the run is read.
 */
export async function auditRun(
  db: Db,
  run: { employerId: string; pages: AsyncIterable<readonly LinesOfEmployee[]> },
  rows: Rows,
  { rowsMax = AUDIT_ROWS_MAX, isBySide = () => false }: { rowsMax?: number; isBySide?: () => boolean } = {},
): Promise<Audit> {
  const problems = createProblems();
  const file: PayrollFile = { amounts: new Map(), names: null, givesEmployer: false };
  let count = 0;
  for await (const some of readableRows(rows, AUDIT_COLUMNS, problems, ROWS_AT_ONCE)) {
    for (const row of some) {
      const problem = addRow(file, row);
      if (problem !== null) problems.add(problem);
    }
    count += some.length;
    if (count > rowsMax) {
      problems.add({ path: AUDIT_COLUMNS.list, rule: `must have at most ${rowsMax} elements` });
      break;
    }
  }
  problems.assertNone();
  const { amounts, givesEmployer } = file;
  const names = file.names ?? [];
  const bySide = isBySide();
  const newCategory = () => createCategory(names, givesEmployer);
  const [matched, onlyHere, differs] = [newCategory(), newCategory(), newCategory()];
  const [onlyInPayroll, unknown] = [newCategory(), newCategory()];
  // An employer's side that is null is not compared.
  const absent: SidesOfName = { member: 0n, employer: givesEmployer ? 0n : null };
  for await (const page of run.pages) {
    for (const employee of page) {
      for (const [key, here] of sumsOf(employee, names, bySide)) {
        const payroll = amounts.get(key) ?? null;
        amounts.delete(key);
        const { member, employer } = payroll ?? absent;
        const isSame = here.member === member && (employer === null || here.employer === employer);
        const different = payroll === null ? onlyHere : differs;
        (isSame ? matched : different).add(key, here, payroll);
      }
    }
  }
  for (const rest of piecesOf([...amounts].sort(byKey), ROWS_AT_ONCE)) {
    const known = await employeesKnownAt(
      db,
      run.employerId,
      rest.map(([key]) => employeeIn(key)),
    );
    for (const [key, payroll] of rest) {
      const isZero = payroll.member === 0n && (payroll.employer ?? 0n) === 0n;
      const different = known.has(employeeIn(key)) ? onlyInPayroll : unknown;
      (isZero ? matched : different).add(key, null, payroll);
    }
    await new Promise(setImmediate);
  }
  return {
    compared_by: [...names],
    matched: matched.totals(),
    only_here: onlyHere.category(),
    only_in_payroll: onlyInPayroll.category(),
    amount_differs: differs.category(),
    employee_unknown: await withNearIds(db, run.employerId, unknown.category()),
  };
}

/** Names the employee of each unknown row that is in the roster under a similar id. */
async function withNearIds(
  db: Db,
  employerId: string,
  category: Audit['employee_unknown'],
): Promise<Audit['employee_unknown']> {
  const ids = category.rows.map(({ employee_id }) => employee_id);
  const near = await nearIds(db, [...new Set(ids)], [employerId]);
  const rows = category.rows.map((row) => {
    const near_employee_id = near.get(row.employee_id);
    return near_employee_id === undefined ? row : { ...row, near_employee_id };
  });
  return { ...category, rows };
}

function addRow(file: PayrollFile, { path, fields }: GivenRow): Problem | null {
  const { employee_id, member_amount, employer_amount } = fields;
  if (employee_id === undefined) return { path: `${path}.employee_id`, rule: 'is required' };
  if (member_amount === undefined) return { path: `${path}.member_amount`, rule: 'is required' };
  const member = parseAmount(member_amount);
  if (member === null) return amountProblem(`${path}.member_amount`, member_amount);
  const employer = employer_amount === undefined ? null : parseAmount(employer_amount);
  if (employer_amount !== undefined && employer === null) {
    return amountProblem(`${path}.employer_amount`, employer_amount);
  }
  // Payroll may also have lines of its own, such as 401(k).
  const coverage = fields.line_of_coverage ?? '';
  const meant = meantChoice(LINES_OF_COVERAGE, coverage);
  if (meant !== null && meant !== coverage) {
    const rule = 'must be written as in the lines of the run';
    return { path: `${path}.line_of_coverage`, rule, ...didYouMean(meant) };
  }
  const naming = NAMING.filter((name) => fields[name] !== undefined);
  if (naming.length === 0) return { path, rule: `must name its deduction or code: ${NAMING.join(' or ')}` };
  file.names ??= naming;
  if (file.names.join() !== naming.join()) {
    return { path, rule: `must use the same columns as the rows before it: ${file.names.join(' and ')}` };
  }
  file.givesEmployer ||= employer !== null;
  addTo(file.amounts, keyOf(employee_id, naming, fields), { member, employer });
  return null;
}

function sumsOf(
  { employeeId, lines }: LinesOfEmployee,
  names: readonly Naming[],
  isBySide: boolean,
): Map<string, SidesOfName> {
  const sums = new Map<string, SidesOfName>();
  for (const line of lines) {
    const member = centsOf(line.member_amount);
    const employer = centsOf(line.employer_amount);
    if (!isBySide) {
      addTo(sums, keyOf(employeeId, names, line), { member, employer });
      continue;
    }
    addTo(sums, keyOf(employeeId, names, line), { member, employer: 0n });
    if (employer === 0n && line.employer_payroll_code === null) continue;
    const ofEmployer = keyOf(employeeId, names, { ...line, payroll_code: line.employer_payroll_code });
    addTo(sums, ofEmployer, { member: 0n, employer });
  }
  return sums;
}

function addTo(sums: Map<string, SidesOfName>, key: string, { member, employer }: SidesOfName): void {
  const sum = sums.get(key) ?? { member: 0n, employer: null };
  sum.member += member;
  if (employer !== null) sum.employer = (sum.employer ?? 0n) + employer;
  sums.set(key, sum);
}

/** JSON keeps the parts separate, whatever characters they contain. */
function keyOf(
  employeeId: string,
  names: readonly Naming[],
  parts: { readonly [name in Naming]?: string | null },
): string {
  return JSON.stringify([employeeId, ...names.map((name) => parts[name] ?? null)]);
}

function employeeIn(key: string): string {
  const [employeeId]: [string] = JSON.parse(key);
  return employeeId;
}

function byKey([key]: [string, SidesOfName], [other]: [string, SidesOfName]): number {
  return key < other ? -1 : 1;
}

function createCategory(names: readonly Naming[], givesEmployer: boolean) {
  const rows: AuditRow[] = [];
  let count = 0;
  const sums = { here: { member: 0n, employer: 0n }, payroll: { member: 0n, employer: 0n } };
  const totals = (): AuditTotals => ({
    count,
    member_amount: amountOf(sums.here.member),
    employer_amount: amountOf(sums.here.employer),
    payroll_member_amount: amountOf(sums.payroll.member),
    payroll_employer_amount: givesEmployer ? amountOf(sums.payroll.employer) : null,
  });
  return {
    add(key: string, here: SidesOfName | null, payroll: SidesOfName | null): void {
      count += 1;
      sums.here.member += here?.member ?? 0n;
      sums.here.employer += here?.employer ?? 0n;
      sums.payroll.member += payroll?.member ?? 0n;
      sums.payroll.employer += payroll?.employer ?? 0n;
      if (rows.length < AUDIT_ROWS_NAMED) rows.push(rowOf(key, names, here, payroll));
    },
    totals,
    category: () => ({ ...totals(), rows }),
  };
}

function rowOf(
  key: string,
  names: readonly Naming[],
  here: SidesOfName | null,
  payroll: SidesOfName | null,
): AuditRow {
  const [employee_id, ...parts]: [string, ...(string | null)[]] = JSON.parse(key);
  const shown = (cents: bigint | null | undefined) =>
    cents === null || cents === undefined ? null : amountOf(cents);
  return {
    employee_id,
    ...Object.fromEntries(names.map((name, index) => [name, parts[index] ?? null])),
    member_amount: shown(here?.member),
    employer_amount: shown(here?.employer),
    payroll_member_amount: shown(payroll?.member),
    payroll_employer_amount: shown(payroll?.employer),
  };
}
