import Type, { type Static } from 'typebox';
import * as field from '../../contract/fields.ts';
import { transact } from '../../database/transaction.ts';
import { conflict } from '../../errors.ts';
import { cursorOf, LIMIT_DEFAULT } from '../../formats/cursor.ts';
import { FLAG_NAMES } from '../../formats/flags.ts';
import { CHANGES, LINE_KINDS, type LineRecord } from '../../payroll/calculation/line.ts';
import { TakenReport, recordTaken as takeReport } from '../../payroll/facts/taken.ts';
import { TakenLine, listTakenLines as takenLinesOf } from '../../payroll/facts/taken-lines.ts';
import { TAKEN_COLUMNS } from '../../payroll/facts/taken-rows.ts';
import { csvOfLines } from '../../payroll/lifecycle/csv.ts';
import { linesAfter, linesOfRun } from '../../payroll/lifecycle/line-pages.ts';
import { ShownLine, shownLines } from '../../payroll/lifecycle/line-view.ts';
import { payrollCsv } from '../../payroll/lifecycle/payroll-csv.ts';
import { auditHeadOf } from '../../payroll/lifecycle/run-view.ts';
import { AUDIT_COLUMNS, AUDIT_ROWS_MAX, Audit, auditRun } from '../../payroll/reconciliation/audit.ts';
import type { LinesOfEmployee } from '../../payroll/records/frozen-lines.ts';
import { notFinalized, type StoredRun, storedRun } from '../../payroll/records/runs.ts';
import { NamedLine } from '../../payroll/settings/payroll-file.ts';
import { type Through, throughPayrollFormat } from '../../payroll/settings/row-files.ts';
import { record } from '../../security/audit.ts';
import { actingIn } from '../auth.ts';
import { lineSightOf } from '../employers.ts';
import { NullableRepairs, viewRepairs } from '../file-repairs.ts';
import { Answer, type Call, operation, type Parts } from '../operation.ts';
import { invalid } from '../problem.ts';
import { RunId } from '../run-schemas.ts';
import { cursor, fileOf, flag, idFilter, limit, pageOf } from '../schemas.ts';
import { runHeaders } from './payroll-runs.ts';

const LineQuery = field.closed({
  employee_id: idFilter('Only lines of this employee.'),
  kind: Type.Optional(field.oneOfDescribed(LINE_KINDS, 'Only lines of this kind.')),
  change: Type.Optional(
    field.oneOfDescribed(CHANGES, 'Only lines with this change from the previous finalized run.'),
  ),
  flag: Type.Optional(field.oneOfDescribed(FLAG_NAMES, 'Only lines with this flag.')),
  file_format: Type.Optional(
    field.oneOfDescribed(
      ['payroll'],
      'Only for CSV, without filters: the columns, codes and IDs of the employer’s file format of this kind, to load into payroll.',
    ),
  ),
  download: flag(
    'Record that the caller downloads the lines, for the field `last_download` of a final run. Only for files.',
  ),
  cursor,
  limit,
});
type LineQuery = Static<typeof LineQuery>;

const linePosition = cursorOf(
  'payroll-run-lines',
  Type.Object({
    employeeId: Type.String(),
    position: Type.Integer({ minimum: 0 }),
    given: Type.Integer({ minimum: 0 }),
  }),
);

export const listPayrollRunLines = operation({
  id: 'listPayrollRunLines',
  method: 'GET',
  path: '/v1/payroll-runs/:run_id/lines',
  scope: 'runs:read',
  employers: 'run',
  summary: 'List the lines of a payroll run',
  description:
    'Lists lines by employee. All pages are computed at the same ledger position. ' +
    '`kind`, `change` and `flag` filter the whole run. ' +
    'For a run that is not open, the `ETag` header identifies its lines. The amounts in `unapplied` need the scope `ledger:read`.',
  params: RunId,
  query: LineQuery,
  response: { 200: pageOf(ShownLine) },
  refuses: ['NOT_FOUND', 'CONFLICT', 'RUN_REFUSED'],
  runWork: 'lines',
  async run(call, parts) {
    const { query } = call;
    assertPayrollCsv(query, 'json');
    const from = linePosition.decode(query.cursor);
    const { stored, position, shown } = await linesFor(call, parts, from);
    if (from !== undefined && from.position !== position) {
      throw conflict('The run was finalized while the list was read. Start again without cursor.');
    }
    const start = from ?? { employeeId: '', position, given: 0 };
    const { lines, next } = await linesAfter(shown, start, query.limit ?? LIMIT_DEFAULT);
    return new Answer(linePosition.page(lines, next), { headers: await headersOf(parts, stored) });
  },
  // The lines are streamed while they are computed.
  async files(call, parts, format) {
    const { db, now } = parts;
    assertPayrollCsv(call.query, format);
    const { stored, pages, shown } = await linesFor(call, parts);
    const { state, run_id, employer_id } = stored;
    const ofPayroll = call.query.file_format === undefined ? null : await payrollCsv(db, stored, pages);
    if (call.query.download === true && state !== 'open') {
      const download = { action: 'run.download', resource: run_id, employer: employer_id } as const;
      await transact(db, (trx) => record(trx, actingIn(call, now()), download));
    }
    if (ofPayroll !== null) return { ...ofPayroll, headers: await headersOf(parts, stored) };
    return {
      rows: format === 'csv' ? linesIn(pages) : linesIn(shown),
      csv: (lines: AsyncIterable<readonly LineRecord[]>) => csvOfLines(stored, lines),
      headers: await headersOf(parts, stored),
    };
  },
});

/** Throws INVALID_REQUEST for a payroll file of some lines or of another content type. */
function assertPayrollCsv({ file_format, employee_id, kind, change, flag }: LineQuery, format: string): void {
  if (file_format === undefined) return;
  const rule = 'must be omitted: a payroll file has the whole run';
  const filters = Object.entries({ employee_id, kind, change, flag }).filter(
    ([, value]) => value !== undefined,
  );
  const problems = filters.map(([path]) => ({ path, rule }));
  if (format !== 'csv') problems.push({ path: 'file_format', rule: 'is only for text/csv' });
  if (problems.length > 0) throw invalid(problems);
}

/** Returns the lines that a query names, as they are stored and as the caller sees them. */
async function linesFor(
  call: Call<Static<typeof RunId>, LineQuery>,
  parts: Parts,
  from?: ReturnType<typeof linePosition.decode>,
) {
  const { params, query } = call;
  const stored = await storedRun(parts.db, params.run_id);
  const list = await linesOfRun(parts.db, stored, { employeeId: query.employee_id, from });
  const pages = matching(list.pages, query);
  const shown = shownLines(parts.db, stored, pages, lineSightOf(call, parts));
  return { stored, position: list.position, pages, shown };
}

async function headersOf({ db }: Parts, stored: StoredRun) {
  return runHeaders({ etag: stored.etag, audit_head: await auditHeadOf(db, stored) });
}

async function* linesIn<L>(pages: AsyncIterable<{ lines: L[] }[]>): AsyncGenerator<L[]> {
  for await (const page of pages) yield page.flatMap(({ lines }) => lines);
}

/** Yields the lines that match a query, and skips employees without any. */
async function* matching(
  pages: AsyncIterable<LinesOfEmployee[]>,
  { kind, change, flag }: LineQuery,
): AsyncGenerator<LinesOfEmployee[]> {
  const isWanted = (line: LineRecord): boolean =>
    (kind === undefined || line.kind === kind) &&
    (change === undefined || line.change === change) &&
    (flag === undefined || line.flags.includes(flag));
  for await (const page of pages) {
    const wanted = page.map(({ employeeId, lines }) => ({ employeeId, lines: lines.filter(isWanted) }));
    const some = wanted.filter(({ lines }) => lines.length > 0);
    if (some.length > 0) yield some;
  }
}

const employee_id = field.text('The employee.');

const TakenRow = field.component(
  'TakenRow',
  {
    employee_id,
    ...NamedLine.properties,
    amount: field.text('The amount taken from the employee, such as 12.34; 0.00 for none.'),
    over: Type.Optional(
      field.nullable(
        field.boolean(
          'Whether payroll took more than the line, or the other sign. Without it, such an amount is refused.',
        ),
      ),
    ),
  },
  'Identifies one line of the run, by as many fields as its employee needs. With only an employee and the amount 0.00, all ' +
    'lines of the employee that are above 0.00: nothing was taken.',
);

const { deduction_id, line_of_coverage, payroll_code } = NamedLine.properties;

const AuditedRow = field.component(
  'AuditedRow',
  {
    employee_id,
    deduction_id,
    line_of_coverage,
    payroll_code,
    member_amount: field.text('The employee amount, such as 12.34.'),
    employer_amount: Type.Optional(
      field.nullableText('The employer amount. It is compared only if present.'),
    ),
  },
  'A payroll amount of an employee. All rows must use the same identifying fields.',
);

const ReadTakenReport = field.component(
  'TakenReport',
  { ...TakenReport.properties, repairs: NullableRepairs },
  'The recorded report.',
);

const ReadAudit = field.component(
  'PayrollRunAudit',
  { ...Audit.properties, repairs: NullableRepairs },
  'The comparison of a run with the payroll file.',
);

function repairsOf(through: Through | null, { caller }: Pick<Call, 'caller'>) {
  const repairs = through?.repairs() ?? null;
  return repairs && viewRepairs(repairs, caller);
}

const WORDS =
  'Send JSON `{"lines": […]}`, newline-delimited JSON, or CSV in UTF-8 with a header of the same names. Amounts ' +
  'are strings. At most 64 MiB. A CSV with other columns is read through the employer’s file format of the kind `payroll`.';

export const recordTaken = operation({
  id: 'recordTaken',
  method: 'POST',
  path: '/v1/payroll-runs/:run_id/taken',
  scope: 'runs:write',
  employers: 'run',
  action: 'run.taken',
  summary: 'Report the amounts taken',
  description: `Records the amounts that payroll took for a finalized run. A line that no report names was taken in full. Later runs show the differences as arrears. A later report replaces only its own lines, and every report is kept. One invalid row rejects the whole report, as does an amount larger in size than its line or of the other sign, unless the row says \`over\`. With an \`Idempotency-Key\`, the same lines always return the first report, and other lines with the same key are a 409. ${WORDS}`,
  params: RunId,
  headers: Type.Object({
    'idempotency-key': Type.Optional(field.text('A repeat with the same key returns the stored report.')),
  }),
  query: field.closed({
    preview: flag('Whether the lines are only checked, and nothing is recorded. Default: false.'),
  }),
  body: fileOf(field.component('TakenRequest', { lines: Type.Array(TakenRow, { minItems: 1 }) })),
  rows: TAKEN_COLUMNS,
  response: { 200: ReadTakenReport },
  refuses: ['NOT_FOUND', 'TOO_SLOW', 'CONFLICT', 'ROWS_REFUSED'],
  async run(call, parts) {
    const { db, now } = parts;
    const stored = await storedRun(db, call.params.run_id);
    if (stored.state !== 'finalized') throw notFinalized(stored);
    const acting = actingIn(call, now());
    const through = await throughPayrollFormat(parts, stored, 'taken');
    const rows = call.body(through?.reader());
    const { preview: isPreview = false } = call.query;
    const reporting = { idempotencyKey: call.idempotencyKey, isExport: through?.isRead, isPreview };
    const { isRepeated, ...report } = await takeReport(db, stored, rows, acting, reporting);
    if (through?.isRead() && !isPreview) await transact(db, (trx) => through.noteRead(trx));
    return new Answer(
      { ...report, repairs: repairsOf(through, call) },
      { isUnchanged: isRepeated || isPreview, logged: { employer_id: stored.employer_id } },
    );
  },
  logs: ({ params }, { lines }) => [{ ...params, count: lines }, 'deductions taken were recorded'],
});

export const listTakenLines = operation({
  id: 'listTakenLines',
  method: 'GET',
  path: '/v1/payroll-runs/:run_id/taken',
  scope: 'runs:read',
  employers: 'run',
  summary: 'List the lines of reports of amounts taken',
  description:
    'Lists the lines that each report names, by report and employee, including lines that a later report replaced. ' +
    'The reports themselves are the `taken_reports` of the run.',
  params: RunId,
  query: field.closed({
    report_id: Type.Optional(
      Type.String({
        pattern: '^[1-9][0-9]{0,8}$',
        rule: 'must be the ID of a report of the run',
        description: 'Only lines of this report.',
      }),
    ),
    employee_id: idFilter('Only lines of this employee.'),
    cursor,
    limit,
  }),
  response: { 200: pageOf(TakenLine) },
  refuses: ['NOT_FOUND'],
  async run({ params, query }, { db }) {
    const stored = await storedRun(db, params.run_id);
    const filter = { reportId: query.report_id, employeeId: query.employee_id };
    return takenLinesOf(db, stored, filter, { ...query, limit: query.limit ?? LIMIT_DEFAULT });
  },
});

export const auditPayrollRun = operation({
  id: 'auditPayrollRun',
  method: 'POST',
  path: '/v1/payroll-runs/:run_id/audit',
  scope: 'runs:read',
  employers: 'run',
  action: 'none',
  summary: 'Compare a payroll run with a payroll file',
  description: `Compares the run, computed now if it is open, with the file. Stores nothing. At most ${AUDIT_ROWS_MAX} rows. ${WORDS}`,
  params: RunId,
  body: fileOf(field.component('AuditRequest', { lines: Type.Array(AuditedRow, { minItems: 1 }) })),
  rows: AUDIT_COLUMNS,
  response: { 200: ReadAudit },
  refuses: ['NOT_FOUND', 'TOO_SLOW', 'RUN_REFUSED', 'ROWS_REFUSED'],
  runWork: 'audit',
  async run(call, parts) {
    const { db } = parts;
    const stored = await storedRun(db, call.params.run_id);
    const { pages } = await linesOfRun(db, stored);
    const through = await throughPayrollFormat(parts, stored, 'audit');
    const rows = call.body(through?.reader());
    const run = { employerId: stored.employer_id, pages };
    const audit = await auditRun(db, run, rows, { isBySide: () => through?.isBySide() === true });
    return { ...audit, repairs: repairsOf(through, call) };
  },
});
