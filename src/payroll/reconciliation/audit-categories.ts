/** The categories of an audit: rows that match, are on one side only, or differ. Pure. */
import Type, { type Static } from 'typebox';
import { boolean, closed, component, integer, nullableText, text } from '../../contract/fields.ts';
import { amountOf } from '../../money.ts';

/** The fields by which rows of payroll's file name their deductions: one or several. */
export const NAMING = ['deduction_id', 'payroll_code', 'line_of_coverage'] as const;
export type Naming = (typeof NAMING)[number];

export const AUDIT_ROWS_NAMED = 1_000;

const AUDIT_TOTALS = {
  count: integer('The number of rows.'),
  member_amount: text('The employee total of the run.'),
  employer_amount: text('The employer total of the run.'),
  payroll_member_amount: text('The employee total of the payroll file.'),
  payroll_employer_amount: text('The employer total of the payroll file.'),
};
const AuditTotals = closed(AUDIT_TOTALS);
export type AuditTotals = Static<typeof AuditTotals>;

const amount = (description: string) => nullableText(`${description} Null if there is none.`);
const optional = (description: string) => Type.Optional(nullableText(description));

/** Amounts of the run and of payroll. */
const AuditRow = closed({
  employee_id: text('The employee.'),
  deduction_id: optional('The deduction.'),
  payroll_code: optional('The payroll code.'),
  line_of_coverage: optional('The line of coverage.'),
  member_amount: amount('The amount in the run.'),
  employer_amount: amount('The amount in the run.'),
  payroll_member_amount: amount('The amount in the payroll file.'),
  payroll_employer_amount: amount('The amount in the payroll file.'),
});
export type AuditRow = Static<typeof AuditRow>;

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
    employer_compared: boolean(
      'Whether the payroll file has an employer amount in at least one row. If not, ignore its employer totals.',
    ),
    matched: closed(AUDIT_TOTALS, 'Rows with equal amounts, or no amounts, on both sides.'),
    only_here: Category('Rows only in the run.'),
    only_in_payroll: Category('Rows only in the payroll file.'),
    amount_differs: Category('Rows on both sides with different amounts.'),
    employee_unknown: Category('Rows of employees that are unknown for this employer.'),
  },
  'The comparison of a run with the payroll file.',
);
export type Audit = Static<typeof Audit>;

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
    category: () => ({ ...totals(), rows }),
  };
}

function rowOf(
  key: string,
  names: readonly Naming[],
  here: Amounts | null,
  payroll: Amounts | null,
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
