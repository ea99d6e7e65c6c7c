/** The kind of file that payroll writes and reads: amounts taken, payroll's own figures, and the lines of a run. */
import Type, { type Static, type TSchema } from 'typebox';
import { LINES_OF_COVERAGE, TAXABILITIES } from '../../contract/deduction.ts';
import { closed, nullable, nullableText, text } from '../../contract/fields.ts';
import { folded, type Meaning } from '../../contract/meant.ts';
import type { Problem } from '../../errors.ts';
import type { CsvRecord } from '../../formats/csv.ts';
import type { FileFormat, FileKind } from '../../formats/file-format.ts';
import { AMOUNT_PATTERN, AMOUNT_RULE } from '../../money.ts';
import { LINE_KINDS } from '../calculation/line.ts';
import type { PayrollCode } from './codes.ts';

/** The values of naming fields that have a few. */
export const NAMING_CHOICES = {
  line_of_coverage: LINES_OF_COVERAGE,
  kind: LINE_KINDS,
  taxability: TAXABILITIES,
} as const;

const optional = (description: string) => Type.Optional(nullableText(description));
const choice = (name: keyof typeof NAMING_CHOICES, description: string) =>
  Type.Optional(nullable({ ...text(description), enum: [...NAMING_CHOICES[name]] }));

/** The fields that name the line of an amount, enough of them to distinguish it from the employee's others. */
export const NamedLine = closed({
  deduction_id: optional('The deduction.'),
  line_of_coverage: choice('line_of_coverage', 'The line of coverage.'),
  payroll_code: optional('The payroll code.'),
  kind: choice('kind', 'The kind of line: regular, adjustment or arrears.'),
  item_id: optional('The open item that the line takes.'),
  taxability: choice('taxability', 'The taxability.'),
});
export const NAMING_FIELDS = Object.keys(NamedLine.properties) as (keyof Static<typeof NamedLine>)[];

/** The fields that a file has in common with its run. */
export const RUN_FIELDS = ['run_id', 'pay_date', 'period_start', 'period_end'] as const;
export type RunFields = Readonly<Record<(typeof RUN_FIELDS)[number], string>>;

const SIDES = ['member_amount', 'employer_amount'] as const;

/** Returns the code of a column that has the amounts of one code; null for others. */
export function codeOfColumn(field: string): string | null {
  return /^amount\[(.+)\]$/.exec(field)?.[1] ?? null;
}

const NAMES: readonly string[] = ['employee_id', ...NAMING_FIELDS, ...SIDES, 'amount', 'over', ...RUN_FIELDS];

const oneOf = (values: readonly string[]): TSchema => ({ type: 'string', enum: [...values] });
const AMOUNT = {
  ...{ type: 'string', pattern: AMOUNT_PATTERN, rule: AMOUNT_RULE },
  meant: 'amount' satisfies Meaning,
};
const DATE = { type: 'string', format: 'date', rule: 'must be a date' };

export const PAYROLL_FILE: FileKind = {
  what: 'a payroll file',
  names: NAMES,
  required: ['employee_id'],
  isName: (name) => NAMES.includes(name) || codeOfColumn(name) !== null,
  constants: ['over'],
  schemas: new Map<string, TSchema>([
    ...[...SIDES, 'amount', 'amount[0]'].map((name): [string, TSchema] => [name, AMOUNT]),
    ...['pay_date', 'period_start', 'period_end'].map((name): [string, TSchema] => [name, DATE]),
    ...Object.entries(NAMING_CHOICES).map(([name, values]): [string, TSchema] => [name, oneOf(values)]),
    ['over', oneOf(['true', 'false'])],
  ]),
  words: {
    payroll_code: ['deductioncode', 'dedcode', 'ded', 'code', 'deduction', 'deductiontype', 'paycode'],
    line_of_coverage: ['coverage', 'benefit', 'benefittype', 'plantype'],
    member_amount: [
      ...['eeamt', 'employeeamt', 'eededuction', 'employeededuction', 'employeecontribution'],
      ...['employeedeductionamount', 'eecurrent', 'employeecurrent', 'ee'],
    ],
    employer_amount: [
      ...['eramt', 'employeramt', 'employercost', 'companyamount', 'employermatch'],
      ...['employerdeduction', 'erdeduction', 'employercontributionamount'],
      ...['ercurrent', 'employercurrent', 'er'],
    ],
    amount: [
      ...['amt', 'dedamt', 'dedamount', 'deductionamt', 'currentamount', 'currentamt'],
      ...['amounttaken', 'amountwithheld', 'withheld'],
    ],
    pay_date: ['checkdate', 'paydate', 'paymentdate', 'checkdt'],
    period_start: ['periodbegin', 'payperiodstart', 'payperiodbegin', 'periodbegindate'],
    period_end: ['payperiodend', 'periodenddate', 'periodending'],
  },
  // `Code, Amount, ER Amount`.
  fieldNextTo: (field, fields) =>
    field === 'amount' && fields.has('employer_amount') && !fields.has('member_amount')
      ? 'member_amount'
      : field,
  problemsOf: columnProblems,
};

const AMOUNTS = 'member_amount, amount or amount[CODE]';

/** Returns the problems of columns that make no amounts together. */
function columnProblems(fields: readonly string[]): Problem[] {
  const has = (name: string) => fields.includes(name);
  const isWide = fields.some((field) => codeOfColumn(field) !== null);
  const shapes = [has('member_amount') || has('employer_amount'), has('amount'), isWide];
  const rules: string[] = [];
  const used = shapes.filter(Boolean).length;
  if (used === 0) rules.push(`must have a column for one of ${AMOUNTS}`);
  if (used > 1) rules.push(`must have columns for only one of ${AMOUNTS}`);
  if (has('employer_amount') && !has('member_amount')) rules.push('must have a column for member_amount');
  if (has('amount') && !has('payroll_code')) rules.push('must have a column for payroll_code');
  if (has('member_amount') && !NAMING_FIELDS.slice(0, 3).some(has))
    rules.push('must have a column for payroll_code, line_of_coverage or deduction_id');
  const naming = isWide ? NAMING_FIELDS.find(has) : undefined;
  if (naming !== undefined)
    rules.push(`must have no column for ${naming}: each amount[CODE] names its lines`);
  return rules.map((rule) => ({ path: 'columns', rule }));
}

/** Returns the kind with the employer's codes, whose names are headers of their amounts. */
export function withCodeColumns(kind: FileKind, codes: readonly PayrollCode[]): FileKind {
  const known = Map.groupBy(new Set(codes.map(({ code }) => code)), folded);
  const fieldOf = (header: string): string | null => {
    // `MED - Medical`.
    const [first = ''] = header.split(' - ');
    const [code, ...others] = known.get(folded(header)) ?? known.get(folded(first)) ?? [];
    return code === undefined || others.length > 0 ? null : `amount[${code}]`;
  };
  return { ...kind, fieldOf };
}

/** Returns whether the code of an amount decides its side. */
export function isBySide({ columns }: Pick<FileFormat, 'columns'>): boolean {
  return columns.some(({ field }) => field !== null && (field === 'amount' || codeOfColumn(field) !== null));
}

/** What an operation reads of a payroll file. */
export type Target = 'taken' | 'audit';

/** The columns of each target's rows, as its strict files have them. */
export const PAYROLL_COLUMNS = {
  taken: ['employee_id', ...NAMING_FIELDS, 'amount', 'over'],
  audit: ['employee_id', 'deduction_id', 'payroll_code', 'line_of_coverage', ...SIDES],
} satisfies Record<Target, readonly string[]>;

type Entry = { readonly [name: string]: string };

/**
 * Yields a record for each amount of a payroll file. Codes of the employer's side have no amounts taken. An empty cell of a column
 * with the amounts of a code is 0.00.
 */
export async function* payrollRecords(
  records: AsyncGenerator<CsvRecord>,
  codes: readonly PayrollCode[],
  target: Target,
  run: RunFields | null,
): AsyncGenerator<CsvRecord> {
  const header = await records.next();
  if (header.done) return;
  const names = header.value.cells;
  const columns = PAYROLL_COLUMNS[target];
  yield { ...header.value, cells: [...columns] };
  const isOfEmployer = employerCodes(codes);
  for await (const record of records) {
    if (record.broken !== null) {
      yield record;
      continue;
    }
    const row = Object.fromEntries(names.map((name, index) => [name, record.cells[index] ?? '']));
    const problem = run === null ? null : problemOfRun(row, run);
    if (problem !== null) {
      yield { ...record, broken: problem };
      continue;
    }
    for (const entry of entriesOf(row, names, isOfEmployer)) {
      if (target === 'taken' && entry.member_amount === undefined) continue;
      const values: Entry =
        target === 'taken'
          ? { ...entry, amount: entry.member_amount ?? '' }
          : { ...entry, member_amount: entry.member_amount ?? '0.00' };
      yield { ...record, cells: columns.map((name) => values[name] ?? '') };
    }
  }
}

/** Returns the amounts of a row, each with what names it. An amount of a code is of the code's side. */
function entriesOf(row: Entry, names: readonly string[], isOfEmployer: (code: string) => boolean): Entry[] {
  const sideOf = (code: string) => (isOfEmployer(code) ? 'employer_amount' : 'member_amount');
  const amounts = names.flatMap((name) => {
    const payroll_code = codeOfColumn(name);
    if (payroll_code === null) return [];
    return [{ ...row, payroll_code, [sideOf(payroll_code)]: row[name] || '0.00' }];
  });
  if (amounts.length > 0) return amounts;
  if (row.amount === undefined) return [row];
  return [{ ...row, [sideOf(row.payroll_code ?? '')]: row.amount }];
}

/** Returns a function that reports whether a code is only of the employer's side. */
export function employerCodes(codes: readonly PayrollCode[]): (code: string) => boolean {
  const of = (side: PayrollCode['side']) =>
    new Set(codes.filter((code) => code.side === side).map(({ code }) => code));
  const [employee, employer] = [of('employee'), of('employer')];
  return (code) => employer.has(code) && !employee.has(code);
}

/** A file of another payday is no file of this run. */
function problemOfRun(row: Entry, run: RunFields): Problem | null {
  const name = RUN_FIELDS.find((field) => row[field] && row[field] !== run[field]);
  return name === undefined ? null : { path: name, rule: `must be that of the run, ${run[name]}` };
}
