/** The categories of an audit: rows that match, are on one side only, or differ. Pure. */
import { amountOf } from '../../money.ts';

/** The fields by which rows of payroll's file name their deductions: one or several. */
export const NAMING = ['deduction_id', 'payroll_code', 'line_of_coverage'] as const;
export type Naming = (typeof NAMING)[number];

/** Amounts of the run and of payroll; null if that side has none. */
export type AuditRow = { employee_id: string } & { [name in Naming]?: string | null } & {
  member_amount: string | null;
  employer_amount: string | null;
  payroll_member_amount: string | null;
  payroll_employer_amount: string | null;
};

export type AuditTotals = {
  count: number;
  member_amount: string;
  employer_amount: string;
  payroll_member_amount: string;
  payroll_employer_amount: string;
};

/** `rows` are the first `AUDIT_ROWS_NAMED`. */
export type Category = AuditTotals & { rows: AuditRow[] };

export type Audit = {
  /** The fields by which rows name their deductions, and by which sums are compared. */
  compared_by: Naming[];
  /** The file has the employer's side of at least one row. Otherwise that side is not compared. */
  employer_compared: boolean;
  matched: AuditTotals;
  only_here: Category;
  only_in_payroll: Category;
  amount_differs: Category;
  /** Only in payroll, for employees who are not in the employer's roster. */
  employee_unknown: Category;
};

export const AUDIT_ROWS_NAMED = 1_000;

/** The amounts of one side for an employee: sums of all rows or lines that are for the same. */
export type Amounts = { member: bigint; employer: bigint | null };

/** JSON keeps the parts separate, whatever characters they contain. */
export function keyOf(
  employeeId: string,
  names: readonly Naming[],
  parts: { readonly [name in Naming]?: string | null },
): string {
  return JSON.stringify([employeeId, ...names.map((name) => parts[name] ?? null)]);
}

/** `givesEmployer`: payroll's file has the employer's side of at least one row. */
export function createCategories(names: readonly Naming[], givesEmployer: boolean) {
  const matched = createCategory(names);
  const onlyHere = createCategory(names);
  const onlyInPayroll = createCategory(names);
  const differs = createCategory(names);
  const unknown = createCategory(names);
  return {
    compare(key: string, here: Amounts, payroll: Amounts | null): void {
      if (payroll === null) {
        const isZero = here.member === 0n && (!givesEmployer || here.employer === 0n);
        (isZero ? matched : onlyHere).add(key, here, null);
        return;
      }
      const isSame =
        here.member === payroll.member && (payroll.employer === null || here.employer === payroll.employer);
      (isSame ? matched : differs).add(key, here, payroll);
    },
    onlyInPayroll(key: string, payroll: Amounts, isKnown: boolean): void {
      const isZero = payroll.member === 0n && (payroll.employer ?? 0n) === 0n;
      const category = isKnown ? onlyInPayroll : unknown;
      (isZero ? matched : category).add(key, null, payroll);
    },
    audit: (): Audit => ({
      compared_by: [...names],
      employer_compared: givesEmployer,
      matched: matched.totals(),
      only_here: onlyHere.category(),
      only_in_payroll: onlyInPayroll.category(),
      amount_differs: differs.category(),
      employee_unknown: unknown.category(),
    }),
  };
}

function createCategory(names: readonly Naming[]) {
  const rows: AuditRow[] = [];
  let count = 0;
  const sums = { here: { member: 0n, employer: 0n }, payroll: { member: 0n, employer: 0n } };
  const totals = (): AuditTotals => ({
    count,
    member_amount: amountOf(sums.here.member),
    employer_amount: amountOf(sums.here.employer),
    payroll_member_amount: amountOf(sums.payroll.member),
    payroll_employer_amount: amountOf(sums.payroll.employer),
  });
  return {
    add(key: string, here: Amounts | null, payroll: Amounts | null): void {
      count += 1;
      sums.here.member += here?.member ?? 0n;
      sums.here.employer += here?.employer ?? 0n;
      sums.payroll.member += payroll?.member ?? 0n;
      sums.payroll.employer += payroll?.employer ?? 0n;
      if (rows.length < AUDIT_ROWS_NAMED) rows.push(rowOf(key, names, here, payroll));
    },
    totals,
    category: (): Category => ({ ...totals(), rows }),
  };
}

function rowOf(
  key: string,
  names: readonly Naming[],
  here: Amounts | null,
  payroll: Amounts | null,
): AuditRow {
  const [employee_id, ...parts]: [string, ...(string | null)[]] = JSON.parse(key);
  const text = (cents: bigint | null | undefined) =>
    cents === null || cents === undefined ? null : amountOf(cents);
  return {
    employee_id,
    ...Object.fromEntries(names.map((name, index) => [name, parts[index] ?? null])),
    member_amount: text(here?.member),
    employer_amount: text(here?.employer),
    payroll_member_amount: text(payroll?.member),
    payroll_employer_amount: text(payroll?.employer),
  };
}
