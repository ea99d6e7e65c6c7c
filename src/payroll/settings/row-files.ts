/** Files of rows that an employer's file format reads, with its payroll codes. */
import { CENSUS_FILE } from '../../census/reading.ts';
import { folded } from '../../contract/meant.ts';
import type { SharedNow } from '../../database/engine.ts';
import type { Db, Trx } from '../../database/tables.ts';
import { dayAt } from '../../database/time-zone.ts';
import type { CsvRecord } from '../../formats/csv.ts';
import type { FileFormat, FileKind, FileKindName } from '../../formats/file-format.ts';
import { proposeFormat, type Tried, tried } from '../../formats/proposal.ts';
import { fileReader, type Repairs, storedFormat, wholeFileReader } from '../../formats/repair.ts';
import {
  amountProblem,
  type Columns,
  type CsvReader,
  createProblems,
  type GivenRow,
  type Problems,
  readableRows,
  readRows,
} from '../../formats/rows.ts';
import { DEDUCTIONS_FILE } from '../../inbox/deduction-file.ts';
import { IMPORT_COLUMNS, rowChecker } from '../../inbox/import.ts';
import { parseAmount } from '../../money.ts';
import { type PayrollCode, readCodes } from './codes.ts';
import { byCode } from './deductions-by-code.ts';
import { noteRead, readFormat } from './file-formats.ts';
import {
  isBySide,
  PAYROLL_COLUMNS,
  PAYROLL_FILE,
  payrollRecords,
  type RunFields,
  type Target,
  withCodeColumns,
} from './payroll-file.ts';

export type RowKindName = Exclude<FileKindName, 'census'>;

type RowFile = {
  readonly kind: FileKind;
  /** The columns of its strict rows. */
  readonly columns: Columns;
  /** Makes strict records of those with the fields of the kind. */
  records(records: AsyncGenerator<CsvRecord>, codes: readonly PayrollCode[]): AsyncGenerator<CsvRecord>;
  /** Returns a function that adds the problems of each row of a file that the file alone shows. */
  checker(now: string, problems: Problems): (row: GivenRow) => void;
};

const DEDUCTIONS: RowFile = {
  kind: DEDUCTIONS_FILE,
  columns: IMPORT_COLUMNS,
  records: byCode,
  checker: rowChecker,
};

/** `run`: null for any run. */
function payrollFile(target: Target, run: RunFields | null): RowFile {
  return {
    kind: PAYROLL_FILE,
    columns: { list: 'lines', required: [], optional: PAYROLL_COLUMNS[target] },
    records: (records, codes) => payrollRecords(records, codes, target, run),
    checker:
      (_now, problems) =>
      ({ path, fields }) => {
        if (fields.employee_id === undefined)
          problems.add({ path: `${path}.employee_id`, rule: 'is required' });
        if (fields.member_amount === undefined && fields.employer_amount === undefined)
          problems.add({ path: `${path}.member_amount`, rule: 'is required' });
        for (const name of ['member_amount', 'employer_amount']) {
          const amount = fields[name];
          if (amount !== undefined && parseAmount(amount) === null)
            problems.add(amountProblem(`${path}.${name}`, amount));
        }
      },
  };
}

const ROW_FILES: Readonly<Record<RowKindName, RowFile>> = {
  deductions: DEDUCTIONS,
  payroll: payrollFile('audit', null),
};

/** Returns the name of a row, in the paths of problems. */
export function rowPath(kind: RowKindName, row: number): string {
  return `${ROW_FILES[kind].columns.list}[${row}]`;
}

type Parts = { db: Db; sharedNow: SharedNow };

export type Through = {
  /** Returns a reader of the file from its beginning. */
  reader(): CsvReader;
  /** What the last reader changed; null if it read nothing. */
  repairs(): Repairs | null;
  /** Whether the last reader read a file that is not strict. */
  isRead(): boolean;
  /** Whether that file's codes decide the side of its amounts. */
  isBySide(): boolean;
  /** Notes that a file was read. */
  noteRead(trx: Trx): Promise<void>;
};

/** Returns how an employer's files of a kind are read; null without a format. */
export function throughRowFormat(
  parts: Parts,
  employerId: string,
  kind: RowKindName,
): Promise<Through | null> {
  return throughFile(parts, employerId, kind, ROW_FILES[kind]);
}

/** Returns how payroll's files about a run are read; null without a format. */
export function throughPayrollFormat(
  parts: Parts,
  { employer_id, ...run }: RunFields & { employer_id: string },
  target: Target,
): Promise<Through | null> {
  return throughFile(parts, employer_id, 'payroll', payrollFile(target, run));
}

async function throughFile(
  { db, sharedNow }: Parts,
  employer_id: string,
  kind: FileKindName,
  rowFile: Pick<RowFile, 'kind' | 'records'>,
): Promise<Through | null> {
  const stored = await readFormat(db, employer_id, kind);
  if (stored === null) return null;
  const now = await sharedNow(db);
  const codes = await readCodes(db, employer_id);
  const file = withCodes(rowFile.kind, codes);
  const finder = storedFormat(stored.format, file);
  let last: { repairs: Repairs; isStrict: boolean } | null = null;
  return {
    reader() {
      const read = { isStrict: true };
      const formatFor = (header: readonly string[]) => {
        const format = finder.formatFor(header);
        read.isStrict = format === null;
        return format;
      };
      const { records, repairs } = fileReader({
        ...{ kind: file, find: { ...finder, formatFor }, today: dayAt(db, now) },
      });
      last = Object.assign(read, { repairs });
      return {
        async *records(content) {
          const source = records(content);
          const header = await source.next();
          if (header.done) return;
          const all = startingWith(header.value, source);
          yield* read.isStrict ? all : rowFile.records(all, codes);
        },
      };
    },
    repairs: () => (last?.repairs.form == null ? null : last.repairs),
    isRead: () => last?.isStrict === false,
    isBySide: () => last?.isStrict === false && isBySide(stored.format),
    noteRead: (trx) => noteRead(trx, { employer_id, kind, version: stored.version }, now.toISOString()),
  };
}

async function* startingWith<T>(first: T, rest: AsyncGenerator<T>): AsyncGenerator<T> {
  yield first;
  yield* rest;
}

/** Returns how payroll's lists before the first run are read: people as a census, and deductions as an import. */
export function throughListFormat(
  parts: Parts,
  employerId: string,
  list: 'people' | 'deductions',
  columns: readonly string[],
): Promise<Through | null> {
  const isPeople = list === 'people';
  return throughFile(parts, employerId, isPeople ? 'census' : 'deductions', {
    kind: isPeople ? CENSUS_FILE : DEDUCTIONS_FILE,
    records: (records, codes) => withColumns(isPeople ? records : byCode(records, codes), columns),
  });
}

/** Yields records without other columns. */
async function* withColumns(
  records: AsyncGenerator<CsvRecord>,
  columns: readonly string[],
): AsyncGenerator<CsvRecord> {
  let kept: number[] | null = null;
  for await (const record of records) {
    kept ??= record.cells.flatMap((name, index) => (columns.includes(name) ? [index] : []));
    yield { ...record, cells: kept.map((index) => record.cells[index] ?? '') };
  }
}

/** Proposes a format, and checks the file as it would be read with it. `before`: the employer's format. */
export async function proposeRowFormat(
  { db, sharedNow }: Parts,
  before: FileFormat | null,
  { employer_id, kind }: { employer_id: string; kind: RowKindName },
  content: AsyncIterable<Uint8Array>,
): Promise<Tried> {
  const now = await sharedNow(db);
  const codes = await readCodes(db, employer_id);
  const { columns, checker, records, kind: strict } = ROW_FILES[kind];
  const file = withCodes(strict, codes);
  const known = new Set(codes.map(({ code }) => folded(code)));
  const proposal = proposeFormat(file, before, codes.length === 0 ? null : (code) => known.has(folded(code)));
  const reader = wholeFileReader({ kind: file, find: proposal.find, today: dayAt(db, now) });
  const through = { records: (bytes: AsyncIterable<Uint8Array>) => records(reader.records(bytes), codes) };
  const problems = createProblems();
  const check = checker(now.toISOString(), problems);
  try {
    for await (const rows of readableRows(readRows(content, 'csv', columns, through), columns, problems, 250))
      for (const row of rows) check(row);
  } finally {
    await reader.readRest();
  }
  return tried(file, proposal, reader.repairs, problems.summary());
}

/** Returns the kind with the employer's payroll codes, as which other spellings of them are read. */
function withCodes(kind: FileKind, codes: readonly PayrollCode[]): FileKind {
  const spelled = Map.groupBy(new Set(codes.map(({ code }) => code)), folded);
  const values = [...spelled.values()].flatMap((same) => (same.length === 1 ? same : []));
  if (values.length === 0) return kind;
  const schemas = new Map([...kind.schemas, ['payroll_code', { type: 'string', enum: values }]]);
  return kind === PAYROLL_FILE ? withCodeColumns({ ...kind, schemas }, codes) : { ...kind, schemas };
}
