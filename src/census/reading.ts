/** Reads a census in CSV or JSON piece by piece. */
import { givenFieldPath, within } from '../contract/check.ts';
import { Employee } from '../contract/employee.ts';
import { day } from '../contract/fields.ts';
import { type ParsedJson, parseJson } from '../contract/json.ts';
import type { Trx } from '../database/tables.ts';
import type { Problem } from '../errors.ts';
import { unreadableFor } from '../formats/bytes.ts';
import { columnsOf, csvRecords, type Header, isColumnOf, type RowKind, readHeader } from '../formats/csv.ts';
import type { FileKind } from '../formats/file-format.ts';
import { type JsonPiece, jsonPieces as listPieces } from '../formats/json-list.ts';
import type { FileReader } from '../formats/repair.ts';
import { WORKBOOK_TYPE } from '../formats/workbook/bounds.ts';

/** Bytes of one census: over 400,000 employees at 600 bytes each, checked and uploaded in seconds. */
export const CENSUS_BYTES_MAX = 256 * 1024 * 1024;
/** Bounds the memory for ids, which are kept to detect duplicates. No more rows fit into the bytes above. */
export const EMPLOYEES_MAX = 1_000_000;

/** `csv` is any file of rows: its content shows whether it is a workbook. */
export type CensusFormat = 'json' | 'csv';

/** Reports whether a content type is that of a file of rows. */
export function isTableType(type: string | readonly string[] | undefined): boolean {
  const essence = String(type ?? '')
    .split(';', 1)[0]
    ?.trim()
    .toLowerCase();
  return essence === 'text/csv' || essence === WORKBOOK_TYPE;
}

export type CensusContent = {
  readonly format: CensusFormat;
  readonly content: AsyncIterable<Uint8Array>;
  /** The organization as JSON, for CSV, which has no field for it. */
  readonly organization?: Uint8Array | null;
  /** How a CSV is read, if the employer has a file format. */
  readonly through?: ThroughFormat;
  /** The file or header with the organization of a CSV, for the problem that it is missing. */
  readonly organizationFrom?: string;
};

type ThroughFormat = FileReader & {
  /** Notes that a census was staged through a stored format. */
  noteRead?(trx: Trx, now: string): Promise<void>;
};

export type EmployeePiece =
  /** `line`: where the row begins in a CSV. */
  { readonly kind: 'employee'; readonly line?: number } & (
    | { readonly parsed: ParsedJson; readonly broken?: undefined }
    /** A row whose cells have no meaning. */
    | { readonly parsed?: undefined; readonly broken: Problem }
  );

type Piece =
  | { readonly kind: 'organization'; readonly value: unknown }
  /** In the order of the rows. Reading continues after one that is not `ok`. */
  | EmployeePiece
  | { readonly kind: 'problem'; readonly problem: Problem };

export function employeePath(index: number): string {
  return `employees[${index}]`;
}

/** The CSV columns: an employee's and our own. docs/census.md lists them. */
export const CENSUS_ROWS: RowKind = {
  schema: Employee,
  more: ['pay_group', 'effective_on'],
  what: 'a census',
  format: 'census',
};

/** What a file format of a census may name. */
const columns = columnsOf(CENSUS_ROWS);
export const CENSUS_FILE: FileKind = {
  ...columns,
  schemas: new Map([...columns.schemas, ['effective_on', day]]),
  isName: (name) => isColumnOf(CENSUS_ROWS, name),
  constants: ['employment_status', 'hours_worked', 'pay_rate[0].period', 'pay_frequency'],
};

export async function* csvPieces(
  content: AsyncIterable<Uint8Array>,
  organization: Uint8Array | null,
  through: CensusContent['through'],
): AsyncGenerator<Piece[]> {
  if (organization !== null) yield [organizationPiece(organization)];
  const kind = through === undefined ? CENSUS_ROWS : { ...CENSUS_ROWS, format: undefined };
  let header: Header | null = null;
  let employees = 0;
  const here = (): string => (header === null ? '' : employeePath(employees));
  const records = through?.records(content) ?? csvRecords(content, here, CENSUS_FILE);
  for await (const { cells, line, broken, idProblems } of records) {
    if (header === null) {
      header = readHeader(cells, kind);
      if (!header.isReadable) throw unreadableFor(header.problems);
      yield header.problems.map((problem): Piece => ({ kind: 'problem', problem }));
      continue;
    }
    const path = employeePath(employees);
    const problems = idProblems.map(
      (problem): Piece => ({ kind: 'problem', problem: within(path, problem) }),
    );
    employees += 1;
    const unusable = broken ?? header.emptinessOf(cells);
    if (unusable !== null) yield [{ kind: 'employee', line, broken: within(path, unusable) }];
    else yield [...problems, { kind: 'employee', line, parsed: { ok: true, value: header.rowOf(cells) } }];
  }
}

function organizationPiece(bytes: Uint8Array): Piece {
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return { kind: 'problem', problem: { path: 'organization', rule: 'must be valid UTF-8' } };
  }
  const parsed = parseJson(text);
  if (parsed.ok) return { kind: 'organization', value: parsed.value };
  return { kind: 'problem', problem: { path: 'organization', rule: parsed.reason } };
}

export async function* jsonPieces(content: AsyncIterable<Uint8Array>): AsyncGenerator<Piece[]> {
  const list = { list: 'employees', orBare: false, pathOf: employeePath };
  for await (const pieces of listPieces(content, list)) yield pieces.map(pieceOf);
}

function pieceOf(piece: JsonPiece): Piece {
  if (piece.kind === 'problem') return piece;
  if (piece.kind === 'element') return { kind: 'employee', parsed: piece.parsed };
  if (piece.name === 'organization') return { kind: 'organization', value: piece.value };
  const path = givenFieldPath('', piece.name);
  return { kind: 'problem', problem: { path, rule: 'is not a field of the interface' } };
}
