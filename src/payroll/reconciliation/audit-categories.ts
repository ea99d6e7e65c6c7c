/** The heaps that payroll's file and a run fall into. Pure. */
import { amountOf } from '../../money.ts';

/** A row of payroll's file says what it is for by one of these, or by several. */
export const NAMING = ['deduction_id', 'payroll_code', 'line_of_coverage'] as const;
export type Naming = (typeof NAMING)[number];

/** Amounts of the run, and of payroll; null where that side has none. */
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
export type Heap = AuditTotals & { rows: AuditRow[] };

export type Audit = {
  /** What the rows say what they are for by: everything is compared at that. */
  compared_by: Naming[];
  /** The file has the employer's side of at least one row; where it has not, that side is not compared. */
  employer_compared: boolean;
  matched: AuditTotals;
  only_here: Heap;
  only_in_payroll: Heap;
  amount_differs: Heap;
  /** Only in payroll, of employees of whom the roster knows nothing with this employer. */
  employee_unknown: Heap;
};

export const AUDIT_ROWS_NAMED = 1_000;
/** What one side has for an employee: sums, where it has several rows or lines for the same. */
export type Amounts = { member: bigint; employer: bigint | null };

/** JSON keeps the parts apart whatever characters they hold. */
export function keyOf(
  employeeId: string,
  names: readonly Naming[],
  parts: { readonly [name in Naming]?: string | null },
): string {
  return JSON.stringify([employeeId, ...names.map((name) => parts[name] ?? null)]);
}

/** `givesEmployer`: payroll's file has the employer's side of at least one row. */
export function createHeaps(names: readonly Naming[], givesEmployer: boolean) {
  const matched = createHeap(names);
  const onlyHere = createHeap(names);
  const onlyInPayroll = createHeap(names);
  const differs = createHeap(names);
  const unknown = createHeap(names);
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
      const heap = isKnown ? onlyInPayroll : unknown;
      (isZero ? matched : heap).add(key, null, payroll);
    },
    audit: (): Audit => ({
      compared_by: [...names],
      employer_compared: givesEmployer,
      matched: matched.totals(),
      only_here: onlyHere.heap(),
      only_in_payroll: onlyInPayroll.heap(),
      amount_differs: differs.heap(),
      employee_unknown: unknown.heap(),
    }),
  };
}

function createHeap(names: readonly Naming[]) {
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
    heap: (): Heap => ({ ...totals(), rows }),
  };
}

function rowOf(
  key: string,
  names: readonly Naming[],
  here: Amounts | null,
  payroll: Amounts | null,
): AuditRow {
  const [employee_id, ...parts] = JSON.parse(key) as [string, ...(string | null)[]];
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
