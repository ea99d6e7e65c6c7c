/** The rows of a report of amounts taken, and the lines that they name. */
import type { Db } from '../../database/tables.ts';
import type { Problem } from '../../errors.ts';
import {
  amountProblem,
  type Columns,
  choiceProblem,
  type GivenRow,
  type Problems,
} from '../../formats/rows.ts';
import { censusHas, nearIds } from '../../ledger/near-ids.ts';
import { amountOf, type Cents, centsOf, parseAmount } from '../../money.ts';
import type { LineRecord } from '../calculation/line.ts';
import { frozenLines, readFrozenLines, storedRecords } from '../records/frozen-lines.ts';
import type { StoredRun } from '../records/runs.ts';
import { NAMING_CHOICES, NAMING_FIELDS } from '../settings/payroll-file.ts';

export const TAKEN_COLUMNS: Columns = {
  list: 'lines',
  required: ['employee_id', 'amount'],
  optional: [...NAMING_FIELDS, 'over'],
  flags: ['over'],
  format: 'payroll',
};

const FLAG = ['true', 'false'];

/** A line that a row names. */
export type TakenRow = { path: string; line: LineRecord; taken: Cents; owed: Cents };

/**
 * Returns the lines that rows name, and adds a problem for each other row, and for each amount that its line cannot have. Payroll's
 * export has an amount for each code: of all its lines together, and 0.00 without lines.
 */
export async function findLines(
  db: Db,
  { employer_id, freeze_id }: StoredRun,
  rows: readonly GivenRow[],
  problems: Problems,
  isExport = false,
): Promise<TakenRow[]> {
  const employees = new Set(rows.flatMap(({ fields }) => fields.employee_id ?? []));
  const stored = await frozenLines(db, [freeze_id as string], [...employees], storedRecords);
  const frozen = new Map([...stored].map(([id, rows]) => [id, rows.flatMap(({ lines }) => lines)]));
  const unknown = [...employees].filter((id) => !frozen.has(id));
  const near = await nearIds(db, unknown, [employer_id]);
  return rows.flatMap((row) => {
    const named = linesOfRow(row, frozen, near, isExport);
    if (Array.isArray(named)) return named;
    problems.add(named);
    return [];
  });
}

function linesOfRow(
  { path, fields }: GivenRow,
  frozen: ReadonlyMap<string, readonly LineRecord[]>,
  near: ReadonlyMap<string, string>,
  isExport: boolean,
): TakenRow[] | Problem {
  const { employee_id, amount, over = 'false' } = fields;
  if (employee_id === undefined) return { path: `${path}.employee_id`, rule: 'is required' };
  if (amount === undefined) return { path: `${path}.amount`, rule: 'is required' };
  const taken = parseAmount(amount);
  if (taken === null) return amountProblem(`${path}.amount`, amount);
  for (const [name, values] of Object.entries(NAMING_CHOICES)) {
    const value = fields[name];
    const problem = value === undefined ? null : choiceProblem(`${path}.${name}`, values, value);
    if (problem !== null) return problem;
  }
  const wrongFlag = choiceProblem(`${path}.over`, FLAG, over.toLowerCase());
  if (wrongFlag !== null) return wrongFlag;
  const lines = frozen.get(employee_id);
  const isNothing = isExport && taken === 0n;
  if (lines === undefined && isNothing) return [];
  if (lines === undefined) {
    return { path: `${path}.employee_id`, rule: `is not in the run${censusHas(near.get(employee_id))}` };
  }
  const positive = lines.filter((line) => centsOf(line.member_amount) > 0n);
  const isWholePaycheck = taken === 0n && NAMING_FIELDS.every((name) => fields[name] === undefined);
  if (isWholePaycheck && positive.length > 0) {
    return positive.map((line) => ({ path, line, taken, owed: centsOf(line.member_amount) }));
  }
  const named = lines.filter((line) =>
    NAMING_FIELDS.every((name) => fields[name] === undefined || fields[name] === line[name]),
  );
  const [line, ...rivals] = named;
  if (line === undefined && isNothing) return [];
  if (line === undefined) return noLineProblem(path, fields, lines);
  const isWhole = taken === sumOf(named);
  if (isExport && rivals.length > 0 && (isWhole || isNothing)) {
    return named.map((each) => {
      const member = centsOf(each.member_amount);
      return { path, line: each, taken: isWhole ? member : 0n, owed: isWhole ? 0n : member };
    });
  }
  if (rivals.length > 0) {
    const distinguishing = NAMING_FIELDS.filter((name) => rivals.some((rival) => rival[name] !== line[name]));
    return { path, rule: `matches several lines: add ${distinguishing.join(' or ')}` };
  }
  const member = centsOf(line.member_amount);
  if (isOver(taken, member) && over.toLowerCase() === 'false') {
    const rule = `is ${amountOf(taken)} for a line of ${line.member_amount}. Correct it, or set over to true if payroll took it`;
    return { path: `${path}.amount`, rule };
  }
  return [{ path, line, taken, owed: member - taken }];
}

/** Returns the problem of a row that names none of the employee's lines. */
function noLineProblem(path: string, fields: GivenRow['fields'], lines: readonly LineRecord[]): Problem {
  if (lines.length === 0) return { path: `${path}.employee_id`, rule: 'has no line in the run' };
  const wrong = NAMING_FIELDS.find(
    (name) => fields[name] !== undefined && lines.every((line) => line[name] !== fields[name]),
  );
  if (wrong === undefined) return { path, rule: 'does not match a line of the run' };
  const isWithoutCodes = wrong === 'payroll_code' && lines.every(({ payroll_code }) => payroll_code === null);
  const rule = isWithoutCodes
    ? 'does not match a line of the run: the lines of the employee were finalized without payroll codes. Name them by line_of_coverage'
    : 'does not match a line of the run: the lines of the employee have other values';
  return { path: `${path}.${wrong}`, rule };
}

/** Returns the codes of a run's lines above 0.00 that a file does not have, with the sum of their lines. */
export async function unnamedCodes(
  db: Db,
  { freeze_id }: StoredRun,
  codes: ReadonlySet<string>,
): Promise<{ payroll_code: string; lines: number; member_amount: string }[]> {
  const unnamed = new Map<string, { lines: number; sum: Cents }>();
  for await (const employees of readFrozenLines(db, freeze_id as string, '', storedRecords)) {
    for (const { payroll_code, member_amount } of employees.flatMap(({ lines }) => lines)) {
      const amount = centsOf(member_amount);
      if (payroll_code === null || codes.has(payroll_code) || amount <= 0n) continue;
      const { lines, sum } = unnamed.get(payroll_code) ?? { lines: 0, sum: 0n };
      unnamed.set(payroll_code, { lines: lines + 1, sum: sum + amount });
    }
  }
  return [...unnamed]
    .sort(([code], [other]) => (code < other ? -1 : 1))
    .map(([payroll_code, { lines, sum }]) => ({ payroll_code, lines, member_amount: amountOf(sum) }));
}

function sumOf(lines: readonly LineRecord[]): Cents {
  return lines.reduce((sum, { member_amount }) => sum + centsOf(member_amount), 0n);
}

/** Reports whether an amount is larger in size than its line, or has the other sign. */
function isOver(taken: Cents, line: Cents): boolean {
  return line < 0n ? taken > 0n || taken < line : taken < 0n || taken > line;
}
