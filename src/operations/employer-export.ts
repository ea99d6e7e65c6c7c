/**
 * Everything that is kept of an employer, as files of an archive: one JSON object per stored row, from one snapshot. The
 * archive has what a token that is limited to the employer sees, so that it holds no row of another one.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { type RawBuilder, sql } from 'kysely';
import { organizationOf, rowsOf } from '../census/staged.ts';
import { type AnyRow, isOneOf, pagesByKey, piecesOf } from '../database/bulk.ts';
import { KEYS, type KeyedTable } from '../database/keys.ts';
import type { Tables, Trx } from '../database/tables.ts';
import { dayAt } from '../database/time-zone.ts';
import { concernsEmployer } from '../employment/changes.ts';
import { isAppError } from '../errors.ts';
import type { ArchiveFile } from '../formats/tar.ts';
import type { Version } from '../ledger/fold.ts';
import { deductionsNaming, historyOf, historyPage } from '../ledger/history.ts';
import { readPosition } from '../ledger/position.ts';
import { employeesOf } from '../ledger/roster.ts';
import { type Viewer, visibleVersions } from '../ledger/visibility.ts';
import { withVisibleCauses } from '../payroll/lifecycle/visible-causes.ts';
import { linesToCompare, recordsToStore, type StoredLines } from '../payroll/records/frozen-lines.ts';
import { limitedAcceptances } from '../readiness/report.ts';
import { headText, readHead } from '../security/audit-chain.ts';
import type { EncryptedColumn } from '../security/encrypted-columns.ts';
import type { Encryptor } from '../security/encryption.ts';
import { rowsAtOnce } from './copy.ts';
import { ENCRYPTED_COLUMNS } from './verify.ts';

/** The columns by which rows belong to an employer: its own, or that of a row that does. */
type Link =
  | 'employer_id'
  | 'run_id'
  | 'freeze_id'
  | 'census_id'
  | 'employee_id'
  | 'subject_id'
  | 'request_id'
  | 'event_id';
type Belonging<T extends KeyedTable> = { readonly by: keyof Tables[T] & Link } | { readonly leftOut: string };

/** Every table: the column by which its rows belong to an employer, or why they are left out. */
export const BELONGING: { readonly [T in KeyedTable]: Belonging<T> } = {
  audit_records: { by: 'employer_id' },
  roster: { by: 'employer_id' },
  roster_facts: { by: 'employee_id' },
  deductions: { by: 'employee_id' },
  deduction_versions: { by: 'employee_id' },
  deduction_assignments: { by: 'employer_id' },
  inbox: { by: 'event_id' },
  event_conflicts: { by: 'event_id' },
  conflicted_events: { by: 'event_id' },
  outbox: { by: 'subject_id' },
  delivery_attempts: { by: 'request_id' },
  staged_censuses: { by: 'employer_id' },
  census_chunks: { by: 'census_id' },
  census_syncs: { by: 'employer_id' },
  census_completions: { by: 'employer_id' },
  pay_schedules: { by: 'employer_id' },
  payroll_codes: { by: 'employer_id' },
  payroll_policies: { by: 'employer_id' },
  file_formats: { by: 'employer_id' },
  approval_settings: { by: 'employer_id' },
  payroll_runs: { by: 'employer_id' },
  run_employees: { by: 'freeze_id' },
  run_settlements: { by: 'freeze_id' },
  run_inputs: { by: 'freeze_id' },
  run_overrides: { by: 'run_id' },
  run_approvals: { by: 'run_id' },
  accepted_findings: { by: 'employer_id' },
  employee_names: { by: 'employer_id' },
  taken_reports: { by: 'run_id' },
  taken_lines: { by: 'run_id' },
  opening_items: { by: 'employer_id' },
  item_decisions: { by: 'employer_id' },
  census_fingerprints: { leftOut: 'keyed hashes of the rows in census_chunks' },
  change_keys: { leftOut: 'keyed hashes of idempotency keys' },
  run_computations: { leftOut: 'an open run is computed again at each read' },
  run_freezes: { leftOut: 'finalizations in progress' },
  instance: { leftOut: 'about the installation' },
  audit_head: { leftOut: 'about all employers; its value is in manifest.json' },
  ledger_head: { leftOut: 'about all employers; its value is in manifest.json' },
  payroll_head: { leftOut: 'about all employers' },
  tokens: { leftOut: 'programs and people, not an employer' },
  sessions: { leftOut: 'people, not an employer' },
  hash_keys: { leftOut: 'a key of the installation' },
  circuit_breaker: { leftOut: 'about all employers' },
  pilot: { leftOut: 'about the installation' },
  refused_signatures: { leftOut: 'counts of requests that name no employer' },
  contract_changes: { leftOut: 'about all employers' },
  data_losses: { leftOut: 'about the installation' },
  retention: { leftOut: 'about the installation' },
  notifications: { leftOut: 'kept for 30 days; what they are about is in the other tables' },
  notification_known: { leftOut: 'what of the other tables was told' },
  notification_head: { leftOut: 'about the installation' },
};

/** The bodies of events as received. With the encrypted columns, these are the columns with personal data. */
const BODIES: Partial<Record<KeyedTable, string>> = { inbox: 'body', event_conflicts: 'body' };
/** Columns that name other employers. */
const OF_OTHERS: Partial<Record<KeyedTable, string>> = { staged_censuses: 'limited_to' };

/** The size of a file, and what memory holds of each table that is being read. */
const PART_BYTES = 512 * 1024;
const EMPLOYEES_AT_ONCE = 50;
/** A deduction with more is read page by page. */
const VERSIONS_AT_ONCE = 2_000;
const EVENTS_AT_ONCE = 50;

/**
 * `encryptor`: null without personal data. `isLimited`: the caller is limited to employers, and sees neither the bodies of
 * events nor what other employers explain of an amount or a finding.
 */
type Sight = { readonly encryptor: Encryptor | null; readonly isLimited: boolean };
type Exporting = Sight & { readonly employerId: string; readonly now: Date };

/** Yields the files of the archive. `trx` is a snapshot. */
export async function* exportOf(trx: Trx, exporting: Exporting): AsyncGenerator<ArchiveFile> {
  const { employerId, encryptor, now } = exporting;
  const archive = createArchive(exporting);
  const viewer = { employers: [employerId], today: dayAt(trx, now) };
  const about = {
    ...{ format: 1, employer_id: employerId, exported_at: now.toISOString() },
    ...{ position: await readPosition(trx), audit_head: headText(await readHead(trx)) },
    personal_data: encryptor !== null,
  };
  yield { name: 'README.md', content: README };
  yield { name: 'manifest.json', content: `${JSON.stringify(about, null, 2)}\n` };
  const parents = createParents();
  for (const table of tablesBy('employer_id'))
    for await (const rows of linked(trx, table, 'employer_id', employerId)) {
      parents.note(table, rows);
      const isMasked = exporting.isLimited && table === 'accepted_findings';
      yield* archive.add(table, isMasked ? rows.map(withoutSentence) : rows);
      if (table === 'census_syncs' || table === 'census_completions') yield* ofEvents(trx, rows, archive);
    }
  for (const link of PARENTS)
    for (const table of tablesBy(link))
      for (const id of parents.of(link))
        for await (const rows of linked(trx, table, link, id)) {
          const isMasked = exporting.isLimited && table === 'run_employees';
          yield* archive.add(table, isMasked ? await withVisibleLines(trx, viewer, rows) : rows);
        }
  for await (const rows of requestsOf(trx, { type: 'employer', ids: [employerId] }))
    yield* ofRequests(trx, rows, archive);
  for (let after: string | undefined = ''; after !== undefined; ) {
    const employees = await employeesOf(trx, employerId, { after, limit: EMPLOYEES_AT_ONCE });
    yield* ofEmployees(trx, employees, viewer, archive);
    after = employees.at(-1);
  }
  yield* archive.end();
}

type Archive = ReturnType<typeof createArchive>;

/** Collects rows in files of their tables. */
function createArchive(sight: Sight) {
  const open = new Map<string, { texts: string[]; bytes: number }>();
  const written = new Map<string, { files: number; rows: number }>();
  const flush = (table: string): ArchiveFile[] => {
    const part = open.get(table);
    if (part === undefined) return [];
    open.delete(table);
    const count = written.get(table) ?? { files: 0, rows: 0 };
    written.set(table, { files: count.files + 1, rows: count.rows + part.texts.length });
    const name = `${table}/${String(count.files + 1).padStart(5, '0')}.ndjson`;
    return [{ name, content: part.texts.join('') }];
  };
  return {
    /** Adds rows, and yields each file that is full. */
    async *add(table: KeyedTable, rows: readonly AnyRow[]): AsyncGenerator<ArchiveFile> {
      // Statements of SQLite do not yield to other work of this thread.
      await nextTurn();
      for (const row of rows) {
        const text = `${JSON.stringify(shown(table, row, sight))}\n`;
        const part = open.get(table) ?? { texts: [], bytes: 0 };
        open.set(table, part);
        part.texts.push(text);
        part.bytes += text.length;
        if (part.bytes >= PART_BYTES) yield* flush(table);
      }
    },
    /** Yields the last files, and the counts by which a reader sees that the archive is complete. */
    *end(): Generator<ArchiveFile> {
      for (const table of [...open.keys()]) yield* flush(table);
      const tables = Object.fromEntries(
        Object.keys(BELONGING).flatMap((table) => {
          const count = written.get(table);
          return count === undefined ? [] : [[table, count]];
        }),
      );
      yield { name: 'end.json', content: `${JSON.stringify({ tables }, null, 2)}\n` };
    },
  };
}

/** Returns a row as JSON shows it: hashes in hexadecimal, personal data decrypted, or absent without an encryptor. */
function shown(table: KeyedTable, row: AnyRow, { encryptor, isLimited }: Sight): object {
  const fields: Record<string, unknown> = {};
  const unreadable: string[] = [];
  for (const [name, value] of Object.entries(row)) {
    const encrypted = ENCRYPTED_COLUMNS.find((column) => column.table === table && column.column === name);
    const isBody = BODIES[table] === name;
    const isPersonal = isBody || encrypted !== undefined;
    if ((isPersonal && encryptor === null) || (isLimited && (isBody || OF_OTHERS[table] === name))) continue;
    if (!Buffer.isBuffer(value)) fields[name] = value;
    else if (encrypted !== undefined) {
      const plain = decrypted(encryptor as Encryptor, encrypted, row, value);
      if (plain === null) unreadable.push(name);
      else Object.assign(fields, table === 'census_chunks' ? chunkOf(row, plain) : { [name]: String(plain) });
    } else fields[name] = isPersonal ? value.toString('utf8') : value.toString('hex');
  }
  return unreadable.length === 0 ? fields : { ...fields, not_decrypted: unreadable };
}

/** Returns null if DATA_KEYS lacks the key, or the value is damaged: the rest of the archive is worth having. */
function decrypted(encryptor: Encryptor, column: EncryptedColumn, row: AnyRow, value: Buffer): Buffer | null {
  try {
    return encryptor.decrypt(value, column.placeOf(row));
  } catch (error) {
    if (isAppError(error, 'DATA_KEY_MISSING', 'DECRYPTION_FAILED')) return null;
    throw error;
  }
}

function chunkOf({ chunk }: AnyRow, plain: Buffer): object {
  if (chunk === 0) return { organization: organizationOf(plain) };
  const employees = rowsOf(plain).map(({ employee, payGroup, effectiveOn }) => {
    return { ...employee, pay_group: payGroup, effective_on: effectiveOn };
  });
  return { employees };
}

/** The links to rows of the employer, whose ids are read first. There are thousands at most. */
const PARENTS = ['census_id', 'run_id', 'freeze_id'] as const satisfies readonly Link[];

function createParents() {
  const ids: Record<(typeof PARENTS)[number], string[]> = { census_id: [], run_id: [], freeze_id: [] };
  const from = { staged_censuses: ['census_id'], payroll_runs: ['run_id', 'freeze_id'] } as const;
  return {
    note(table: KeyedTable, rows: readonly AnyRow[]): void {
      if (table !== 'staged_censuses' && table !== 'payroll_runs') return;
      for (const link of from[table])
        for (const { [link]: id } of rows) if (typeof id === 'string') ids[link].push(id);
    },
    of: (link: (typeof PARENTS)[number]): readonly string[] => ids[link],
  };
}

/** Yields the rows of a table with a value in its linking column, in the order of its key. */
function linked(trx: Trx, table: KeyedTable, link: Link, value: string): AsyncGenerator<AnyRow[]> {
  // Within one value, the rest of the key orders the rows, so that an index which begins with the link serves every page.
  const key = KEYS[table].filter((column) => column !== link);
  return pagesByKey(trx, table, sql`*`, rowsAtOnce(table), sql`${sql.ref(link)} = ${value}`, key);
}

function tablesBy(link: Link): KeyedTable[] {
  const tables = Object.keys(BELONGING) as KeyedTable[];
  return tables.filter((table) => {
    const belonging = BELONGING[table];
    return 'by' in belonging && belonging.by === link;
  });
}

/** Yields the rows of a table whose column has one of these values. */
function having(
  trx: Trx,
  table: KeyedTable,
  column: string,
  values: readonly (string | number)[],
  condition: RawBuilder<unknown> = sql`true`,
): AsyncGenerator<AnyRow[]> {
  const all = sql`${condition} and ${isOneOf(trx, column, values)}`;
  return pagesByKey(trx, table, sql`*`, rowsAtOnce(table), all);
}

/** Yields events with their conflicts. */
async function* ofEvents(trx: Trx, naming: readonly AnyRow[], archive: Archive): AsyncGenerator<ArchiveFile> {
  const ids = naming.flatMap(({ event_id }) => (event_id === null ? [] : String(event_id)));
  for (const some of piecesOf(ids, EVENTS_AT_ONCE))
    for (const table of tablesBy('event_id'))
      for await (const rows of having(trx, table, 'event_id', some)) yield* archive.add(table, rows);
}

type Subjects = { readonly type: 'employer' | 'employee'; readonly ids: readonly string[] };

function requestsOf(trx: Trx, { type, ids }: Subjects, condition?: RawBuilder<unknown>) {
  const ofType = sql`subject_type = ${type} and ${condition ?? sql`true`}`;
  return having(trx, 'outbox', 'subject_id', ids, ofType);
}

/** Yields requests with their attempts. */
async function* ofRequests(
  trx: Trx,
  requests: readonly AnyRow[],
  archive: Archive,
): AsyncGenerator<ArchiveFile> {
  yield* archive.add('outbox', requests);
  const ids = requests.map(({ request_id }) => String(request_id));
  for (const table of tablesBy('request_id'))
    for await (const rows of having(trx, table, 'request_id', ids)) yield* archive.add(table, rows);
}

/** Yields what is kept of some employees: reports, changes, and the deductions that the employer sees. */
async function* ofEmployees(
  trx: Trx,
  employees: readonly string[],
  viewer: Viewer,
  archive: Archive,
): AsyncGenerator<ArchiveFile> {
  if (employees.length === 0) return;
  const employerId = viewer.employers[0] as string;
  const ofEmployer = sql`employer_id = ${employerId}`;
  for await (const rows of having(trx, 'roster_facts', 'employee_id', employees, ofEmployer))
    yield* archive.add('roster_facts', rows);
  const subjects = { type: 'employee', ids: employees } as const;
  for await (const rows of requestsOf(trx, subjects, concernsEmployer(employerId)))
    yield* ofRequests(trx, rows, archive);
  const named = await deductionsNaming(trx, employees);
  const isNamed = new Set(named.map(pairOf));
  const ids = [...new Set(named.map(({ deduction_id }) => deduction_id))];
  for await (const history of historiesOf(trx, ids)) {
    const versions = await visibleVersions(
      trx,
      history.filter((version) => isNamed.has(pairOf(version))),
      viewer,
    );
    yield* archive.add('deduction_versions', versions);
    yield* ofEvents(trx, versions, archive);
    const latest = versions.map(({ position }) => position);
    for await (const rows of having(trx, 'deductions', 'position', latest, oneOfIds(trx, versions)))
      yield* archive.add('deductions', rows);
  }
}

/** A deduction with one of its employees. */
function pairOf({ deduction_id, employee_id }: Pick<Version, 'deduction_id' | 'employee_id'>): string {
  return JSON.stringify([deduction_id, employee_id]);
}

/** There is no index of positions, but one of ids. */
function oneOfIds(trx: Trx, versions: readonly Version[]) {
  return isOneOf(trx, 'deduction_id', [...new Set(versions.map(({ deduction_id }) => deduction_id))]);
}

/** Yields the versions of deductions in parts that memory can hold. */
async function* historiesOf(trx: Trx, ids: readonly string[]): AsyncGenerator<Version[]> {
  let together: string[] = [];
  let count = 0;
  for await (const deductions of having(trx, 'deductions', 'deduction_id', ids))
    for (const { deduction_id, version_count } of deductions) {
      const id = String(deduction_id);
      if (Number(version_count) > VERSIONS_AT_ONCE) {
        yield* longHistory(trx, id);
        continue;
      }
      if (count + Number(version_count) > VERSIONS_AT_ONCE) {
        yield await historyOf(trx, together);
        together = [];
        count = 0;
      }
      together.push(id);
      count += Number(version_count);
    }
  yield await historyOf(trx, together);
}

async function* longHistory(trx: Trx, deductionId: string): AsyncGenerator<Version[]> {
  for (let after: number | null | undefined = null; after !== undefined; ) {
    const page: Version[] = await historyPage(trx, deductionId, {
      ...{ after, limit: VERSIONS_AT_ONCE, order: 'oldest_first' },
    });
    yield page;
    after = page.at(-1)?.position;
  }
}

/** Returns rows of frozen lines without the ids by which another employer explains an amount. */
async function withVisibleLines(trx: Trx, viewer: Viewer, rows: readonly AnyRow[]): Promise<AnyRow[]> {
  const lines = rows.map((row) => linesToCompare(row as StoredLines));
  const visible = await withVisibleCauses(trx, viewer, lines.flat());
  return rows.map((row, index) => {
    return { ...row, lines: recordsToStore(visible.splice(0, lines[index]?.length)) };
  });
}

/** Returns an accepted finding as a limited caller sees it. */
function withoutSentence(row: AnyRow): AnyRow {
  const parsed = { ids: JSON.parse(String(row.ids)), finding: JSON.parse(String(row.finding)) };
  const [{ ids, finding }] = limitedAcceptances([parsed]) as [typeof parsed];
  return { ...row, ids: JSON.stringify(ids), finding: JSON.stringify(finding) };
}

/** Names the files for whoever opens the archive. */
const README = `# Everything that is kept of an employer

Each folder has the rows of a table, in files of one JSON object per line, in the columns of the schema (db/ of
benefits-sidecar). \`manifest.json\` has the employer, the time, and the position of the ledger that all files show.
\`end.json\` counts the files and rows of each table: without it, the archive is incomplete.

- Columns with JSON (\`details\`, \`basis\`, \`lines\`) have it as text, as it is stored. \`lines\` leave out fields that are null.
- Hashes are in hexadecimal. Bodies of events and requests are text.
- Personal data is decrypted, or absent if \`personal_data\` is false. A value whose key is missing is named in \`not_decrypted\`.
- \`census_chunks\` has the staged census: the organization in chunk 0, and the employees in the other chunks.
- Of an employee with another employer too, it has what this employer sees.

| left out | why |
|---|---|
${Object.entries(BELONGING)
  .flatMap(([table, belonging]) => ('leftOut' in belonging ? `| ${table} | ${belonging.leftOut} |\n` : []))
  .join('')}`;
