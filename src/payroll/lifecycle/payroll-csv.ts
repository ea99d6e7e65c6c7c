/** Writes the lines of a run as payroll's own file: a file format of the kind `payroll`, backward. */
import { piecesOf } from '../../database/bulk.ts';
import type { Db } from '../../database/tables.ts';
import { conflict } from '../../errors.ts';
import { bareOf, csvOf, harmless } from '../../formats/csv.ts';
import { type FileFormat, withPrefix } from '../../formats/file-format.ts';
import { amountOf, type Cents, centsOf } from '../../money.ts';
import type { LineRecord } from '../calculation/line.ts';
import type { LinesOfEmployee } from '../records/frozen-lines.ts';
import { type PayrollCode, readCodes } from '../settings/codes.ts';
import { readFormat } from '../settings/file-formats.ts';
import {
  codeOfColumn,
  employerCodes,
  NAMING_FIELDS,
  RUN_FIELDS,
  type RunFields,
} from '../settings/payroll-file.ts';

type Format = Pick<FileFormat, 'columns' | 'id_prefix'>;
type Fields = { [field: string]: string };

/** What keeps a file from being written whole, as counts by reason. */
type Reasons = Map<string, number>;

/** Returns the CSV of a run in payroll's headers, order, codes and IDs. Throws CONFLICT without a format, and like `payrollRows`. */
export async function payrollCsv(
  db: Db,
  { employer_id, ...run }: RunFields & { employer_id: string },
  pages: AsyncIterable<readonly LinesOfEmployee[]>,
) {
  const stored = await readFormat(db, employer_id, 'payroll');
  if (stored === null)
    throw conflict(
      "The employer has no file format of the kind payroll. Propose one of payroll's own file, and set it.",
    );
  const rows = await payrollRows(run, pages, stored.format, await readCodes(db, employer_id));
  const header = stored.format.columns.map((column) => column.header);
  return {
    rows: (async function* () {
      for (const some of piecesOf(rows, ROWS_AT_ONCE)) yield some;
    })(),
    csv: (some: AsyncIterable<readonly string[][]>) => csvOf(header, some, (row) => row),
  };
}

const ROWS_AT_ONCE = 1_000;

/**
 * Returns the rows of a payroll file, in the order of its columns. All rows are held, because a later line may refuse the file:
 * payroll would load a part of one. Throws CONFLICT for lines and IDs that the format cannot write.
 */
export async function payrollRows(
  run: RunFields,
  pages: AsyncIterable<readonly LinesOfEmployee[]>,
  { columns, id_prefix }: Format,
  codes: readonly PayrollCode[],
): Promise<string[][]> {
  const fields = columns.flatMap(({ field }) => field ?? []);
  const reasons: Reasons = new Map();
  const rowsOf = rowWriter(fields, codes, reasons);
  const rows: string[][] = [];
  for await (const page of pages) {
    for (const { employeeId, lines } of page) {
      const employee_id = withoutPrefix(id_prefix, employeeId);
      if (employee_id === null)
        note(
          reasons,
          `Employees whose ID payroll's file cannot have${id_prefix === null ? '' : ` with the prefix ${id_prefix}`}`,
        );
      const common = { ...runFields(run), employee_id: employee_id ?? '' };
      for (const row of rowsOf(lines))
        rows.push(columns.map((column) => cellOf(column, { ...common, ...row })));
    }
    await new Promise(setImmediate);
  }
  if (reasons.size === 0) return rows;
  const texts = [...reasons].map(([reason, count]) => `${reason}: ${count}`);
  throw conflict(`Payroll would load only a part of the run, so no file is written. ${texts.join('; ')}.`);
}

function note(reasons: Reasons, reason: string): void {
  reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
}

function runFields(run: RunFields): Fields {
  return Object.fromEntries(RUN_FIELDS.map((name) => [name, run[name]]));
}

/** Returns payroll's ID; null if reading it would be another employee. */
function withoutPrefix(prefix: string | null, employeeId: string): string | null {
  const id = prefix !== null && employeeId.startsWith(prefix) ? employeeId.slice(prefix.length) : employeeId;
  return bareOf(id) === id && withPrefix(prefix, id) === employeeId && (prefix === null || id !== employeeId)
    ? id
    : null;
}

/** Amounts are numbers; other cells are made harmless for spreadsheets. */
function cellOf({ field, value = '' }: Format['columns'][number], row: Fields): string {
  if (field === null) return harmless(value);
  const cell = row[field] ?? '';
  return isAmount(field) ? cell : harmless(cell);
}

function isAmount(field: string): boolean {
  return ['amount', 'member_amount', 'employer_amount'].includes(field) || codeOfColumn(field) !== null;
}

/** Returns a function that makes the rows of an employee's lines, in the shape of the format. */
function rowWriter(fields: readonly string[], codes: readonly PayrollCode[], reasons: Reasons) {
  const wide = fields.flatMap((field) => codeOfColumn(field) ?? []);
  if (wide.length > 0) return (lines: readonly LineRecord[]) => [wideRow(wide, lines, codes, reasons)];
  const isBySide = fields.includes('amount');
  const naming = NAMING_FIELDS.filter((name) => fields.includes(name));
  return (lines: readonly LineRecord[]): Fields[] => {
    if (isBySide) {
      const rest = naming.filter((name) => name !== 'payroll_code');
      const sums = new Map<string, { row: Fields; sum: Cents }>();
      for (const { code, amount, line } of amountsByCode(lines, codes, reasons)) {
        const row = { ...pick(line, rest), payroll_code: code };
        const entry = sums.get(JSON.stringify(row)) ?? { row, sum: 0n };
        entry.sum += amount;
        sums.set(JSON.stringify(row), entry);
      }
      return [...sums.values()].map(({ row, sum }) => ({ ...row, amount: amountOf(sum) }));
    }
    return sidesByName(lines, naming, fields.includes('employer_amount'), reasons);
  };
}

function sidesByName(
  lines: readonly LineRecord[],
  naming: readonly (typeof NAMING_FIELDS)[number][],
  hasEmployer: boolean,
  reasons: Reasons,
): Fields[] {
  const sums = new Map<string, { row: Fields; member: Cents; employer: Cents }>();
  for (const line of lines) {
    const [member, employer] = [centsOf(line.member_amount), centsOf(line.employer_amount)];
    if (naming.includes('payroll_code') && line.payroll_code === null) {
      if (member !== 0n || (hasEmployer && employer !== 0n)) note(reasons, withoutCode('employee', line));
      continue;
    }
    const row = pick(line, naming);
    const entry = sums.get(JSON.stringify(row)) ?? { row, member: 0n, employer: 0n };
    entry.member += member;
    entry.employer += employer;
    sums.set(JSON.stringify(row), entry);
  }
  return [...sums.values()].map(({ row, member, employer }) => ({
    ...row,
    member_amount: amountOf(member),
    employer_amount: amountOf(employer),
  }));
}

type CodeAmount = { code: string; amount: Cents; line: LineRecord };

/** Returns the amounts of lines by the code of their side. Employer amounts are written only if the employer has codes for them. */
function amountsByCode(
  lines: readonly LineRecord[],
  codes: readonly PayrollCode[],
  reasons: Reasons,
): CodeAmount[] {
  const isOfEmployer = employerCodes(codes);
  const writesEmployer = codes.some(({ side }) => side === 'employer');
  return lines.flatMap((line): CodeAmount[] => {
    const { payroll_code, employer_payroll_code } = line;
    const amounts: CodeAmount[] = [];
    const member = centsOf(line.member_amount);
    if (payroll_code === null) {
      if (member !== 0n) note(reasons, withoutCode('employee', line));
    } else if (isOfEmployer(payroll_code)) {
      note(reasons, `Lines whose code ${payroll_code} is now one of the employer's side`);
    } else amounts.push({ code: payroll_code, amount: member, line });
    const employer = centsOf(line.employer_amount);
    if (!writesEmployer || (employer_payroll_code === null && employer === 0n)) return amounts;
    if (employer_payroll_code === null) note(reasons, withoutCode('employer', line));
    else if (!isOfEmployer(employer_payroll_code))
      note(reasons, `Lines whose code ${employer_payroll_code} is of both sides`);
    else amounts.push({ code: employer_payroll_code, amount: employer, line });
    return amounts;
  });
}

/** Every code has an amount, so that payroll stops what an employee no longer has. */
function wideRow(
  columns: readonly string[],
  lines: readonly LineRecord[],
  codes: readonly PayrollCode[],
  reasons: Reasons,
): Fields {
  const sums = new Map(columns.map((code) => [code, 0n]));
  const isOfEmployer = employerCodes(codes);
  const hasEmployer = columns.some(isOfEmployer);
  const written = hasEmployer ? codes : codes.filter(({ side }) => side === 'employee');
  for (const { code, amount } of amountsByCode(lines, written, reasons)) {
    const sum = sums.get(code);
    if (sum !== undefined) sums.set(code, sum + amount);
    else if (amount !== 0n) note(reasons, `Lines of the code ${code}, which has no column`);
  }
  return Object.fromEntries([...sums].map(([code, sum]) => [`amount[${code}]`, amountOf(sum)]));
}

function withoutCode(side: string, { line_of_coverage, taxability }: LineRecord): string {
  return `Lines of ${line_of_coverage} (${taxability}) without a payroll code of the ${side}'s side`;
}

function pick(line: LineRecord, names: readonly (typeof NAMING_FIELDS)[number][]): Fields {
  return Object.fromEntries(names.map((name) => [name, line[name] ?? '']));
}
