/** Files of rows that an employer's file format reads, with its payroll codes. */
import { folded } from '../../contract/meant.ts';
import type { SharedNow } from '../../database/engine.ts';
import type { Db, Trx } from '../../database/tables.ts';
import { dayAt } from '../../database/time-zone.ts';
import type { CsvRecord } from '../../formats/csv.ts';
import type { FileFormat, FileKind } from '../../formats/file-format.ts';
import { proposeFormat, type Tried, tried } from '../../formats/proposal.ts';
import { fileReader, type Repairs, storedFormat, wholeFileReader } from '../../formats/repair.ts';
import {
  type Columns,
  type CsvReader,
  createProblems,
  type GivenRow,
  type Problems,
  readableRows,
  readRows,
} from '../../formats/rows.ts';
import { DEDUCTIONS_FILE } from '../../inbox/deduction-file.ts';
import { eventOf, IMPORT_COLUMNS } from '../../inbox/import.ts';
import { type PayrollCode, readCodes } from './codes.ts';
import { noteRead, readFormat } from './file-formats.ts';

export type RowKindName = 'deductions';

type RowFile = {
  readonly kind: FileKind;
  readonly columns: Columns;
  /** Adds the problems of a row that the file alone shows. */
  check(row: GivenRow, now: string, problems: Problems): void;
};

const ROW_FILES: Readonly<Record<RowKindName, RowFile>> = {
  deductions: { kind: DEDUCTIONS_FILE, columns: IMPORT_COLUMNS, check: eventOf },
};

/** The names of lists of rows, in the paths of problems. */
export const ROW_LISTS: Readonly<Record<RowKindName, string>> = { deductions: IMPORT_COLUMNS.list };

type Parts = { db: Db; sharedNow: SharedNow };

export type Through = {
  /** Returns a reader of the file from its beginning. */
  reader(): CsvReader;
  /** What the last reader changed; null if it read nothing. */
  repairs(): Repairs | null;
  /** Notes that a file was read. */
  noteRead(trx: Trx): Promise<void>;
};

/** Returns how an employer's files of a kind are read; null without a format. */
export async function throughRowFormat(
  { db, sharedNow }: Parts,
  employer_id: string,
  kind: RowKindName,
): Promise<Through | null> {
  const stored = await readFormat(db, employer_id, kind);
  if (stored === null) return null;
  const now = await sharedNow(db);
  const codes = await readCodes(db, employer_id);
  const file = withCodes(ROW_FILES[kind].kind, codes);
  const reading = { kind: file, find: storedFormat(stored.format, file), today: dayAt(db, now) };
  let last: Repairs | null = null;
  return {
    reader() {
      const { records, repairs } = fileReader(reading);
      last = repairs;
      return { records: (content) => byCode(records(content), codes) };
    },
    repairs: () => (last?.form == null ? null : last),
    noteRead: (trx) => noteRead(trx, { employer_id, kind, version: stored.version }, now.toISOString()),
  };
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
  const { columns, check, kind: strict } = ROW_FILES[kind];
  const file = withCodes(strict, codes);
  const known = new Set(codes.map(({ code }) => folded(code)));
  const proposal = proposeFormat(file, before, codes.length === 0 ? null : (code) => known.has(folded(code)));
  const reader = wholeFileReader({ kind: file, find: proposal.find, today: dayAt(db, now) });
  const through = { records: (bytes: AsyncIterable<Uint8Array>) => byCode(reader.records(bytes), codes) };
  const problems = createProblems();
  try {
    for await (const rows of readableRows(readRows(content, 'csv', columns, through), columns, problems, 250))
      for (const row of rows) check(row, now.toISOString(), problems);
  } finally {
    await reader.readRest();
  }
  return tried(proposal, reader.repairs, problems.summary());
}

/** Returns the kind with the employer's payroll codes, as which other spellings of them are read. */
function withCodes(kind: FileKind, codes: readonly PayrollCode[]): FileKind {
  const spelled = Map.groupBy(new Set(codes.map(({ code }) => code)), folded);
  const values = [...spelled.values()].flatMap((same) => (same.length === 1 ? same : []));
  if (values.length === 0) return kind;
  return { ...kind, schemas: new Map([...kind.schemas, ['payroll_code', { type: 'string', enum: values }]]) };
}

/** What a payroll code states of a deduction. */
const FOLLOWING = ['line_of_coverage', 'taxability', 'coverage_type'] as const;

/** Replaces the column of payroll codes with what the employer's codes state. A value of the file itself stays. */
async function* byCode(
  records: AsyncGenerator<CsvRecord>,
  codes: readonly PayrollCode[],
): AsyncGenerator<CsvRecord> {
  const header = await records.next();
  if (header.done) return;
  const names = header.value.cells;
  const at = names.indexOf('payroll_code');
  if (at === -1) {
    yield header.value;
    yield* records;
    return;
  }
  const known = Map.groupBy(
    codes.filter(({ side }) => side === 'employee'),
    ({ code }) => code,
  );
  const added = FOLLOWING.filter((name) => !names.includes(name));
  yield { ...header.value, cells: [...names.toSpliced(at, 1), ...added] };
  for await (const record of records) {
    const { cells } = record;
    if (record.broken !== null) {
      yield record;
      continue;
    }
    const code = cells[at] ?? '';
    const entries = known.get(code) ?? [];
    if (code !== '' && entries.length === 0) {
      yield {
        ...record,
        broken: { path: 'payroll_code', rule: UNKNOWN_CODE, hint: `its code is "${code}"` },
      };
      continue;
    }
    const filled = names.map((name, index) => cells[index] || followingFrom(entries, name));
    yield {
      ...record,
      cells: [...filled.toSpliced(at, 1), ...added.map((name) => followingFrom(entries, name))],
    };
  }
}

const UNKNOWN_CODE =
  "is not a payroll code of the employee's side: set the employer's payroll codes, or leave its rows out in the file format";

/** Returns what all entries of a code state; empty if they differ. */
function followingFrom(entries: readonly PayrollCode[], name: string): string {
  const field = FOLLOWING.find((following) => following === name);
  if (field === undefined) return '';
  const [value = null, ...others] = new Set(entries.map((entry) => entry[field]));
  return others.length === 0 && value !== null ? value : '';
}
