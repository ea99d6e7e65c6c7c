import Type, { type Static, type TSchema } from 'typebox';
import * as field from '../../contract/fields.ts';
import { transact } from '../../database/transaction.ts';
import { cursorOf } from '../../formats/cursor.ts';
import { ROW_TYPES } from '../../formats/rows.ts';
import { CHANGES, FLAGS, LINE_KINDS, type Line } from '../../payroll/calculation/line.ts';
import { recordTaken, TakenReport } from '../../payroll/facts/taken.ts';
import { listTakenLines, TakenLine } from '../../payroll/facts/taken-lines.ts';
import { TAKEN_COLUMNS } from '../../payroll/facts/taken-rows.ts';
import { csvOfLines } from '../../payroll/lifecycle/csv.ts';
import { linesAfter, linesOfRun } from '../../payroll/lifecycle/line-pages.ts';
import { ShownLine, shownLines } from '../../payroll/lifecycle/line-view.ts';
import { auditHeadOf } from '../../payroll/lifecycle/run-view.ts';
import { AUDIT_COLUMNS, AUDIT_ROWS_MAX, Audit, auditRun } from '../../payroll/reconciliation/audit.ts';
import type { LinesOfEmployee } from '../../payroll/records/frozen-lines.ts';
import { record } from '../../security/audit.ts';
import { actingIn, by } from '../auth.ts';
import { passStreams, streamedRows } from '../bodies.ts';
import { lineSightOf } from '../employers.ts';
import { idempotencyKeyOf, negotiated } from '../headers.ts';
import { broken, conflict } from '../problem.ts';
import { limitReads } from '../read-slots.ts';
import { type Api, type ApiParts, operation } from '../route.ts';
import { RunId } from '../run-schemas.ts';
import { cursor, flag, idFilter, LIMIT_DEFAULT, limit, pageOf } from '../schemas.ts';
import { assertNoPage, begun, interruptedOf, ndjsonOf } from '../streams.ts';
import { exceptBody } from '../validation.ts';
import { notFinalized } from './payroll-run-work.ts';
import { storedRun, withRunHeaders } from './payroll-runs.ts';

/** The first one is the default. */
const OFFERED = [ROW_TYPES.json, ROW_TYPES.csv, ROW_TYPES.ndjson];

const LineQuery = field.closed({
  employee_id: idFilter('Only lines of this employee.'),
  kind: Type.Optional(field.oneOfDescribed(LINE_KINDS, 'Only lines of this kind.')),
  change: Type.Optional(
    field.oneOfDescribed(CHANGES, 'Only lines with this change from the previous finalized run.'),
  ),
  flag: Type.Optional(field.oneOfDescribed(FLAGS, 'Only lines with this flag.')),
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

/** Lists the lines of a run in pages, or streams them as one file while they are computed. */
export function payrollRunLineRoutes(app: Api, parts: ApiParts): void {
  const { db, now } = parts;
  app.get(
    '/v1/payroll-runs/:run_id/lines',
    operation('Payroll runs', 'runs:read', {
      operationId: 'listPayrollRunLines',
      employers: 'run',
      summary: 'List the lines of a payroll run',
      description:
        'Lists lines by employee. `Accept` selects JSON in pages, all computed at the same ledger position; ' +
        'or the whole run as `text/csv` or `application/x-ndjson`. ' +
        '`kind`, `change` and `flag` filter the whole run. ' +
        'For a run that is not open, the `ETag` header identifies its lines. The amounts in `unapplied` need the scope `ledger:read`.',
      params: RunId,
      querystring: LineQuery,
      response: {
        200: Type.Unsafe<unknown>({
          description: 'The lines.',
          content: {
            [ROW_TYPES.json]: { schema: pageOf(ShownLine) },
            [ROW_TYPES.csv]: { schema: field.text('A header, then one row per line.') },
            [ROW_TYPES.ndjson]: { schema: field.text('A `Line` on each line.') },
          },
        }),
      },
      refuses: ['NOT_FOUND', 'NOT_ACCEPTABLE', 'CONFLICT', 'RUN_REFUSED'],
    }),
    async (request, reply) => {
      const { params, query, headers } = request;
      const type = negotiated(headers.accept, OFFERED);
      if (type !== ROW_TYPES.json) assertNoPage(query);
      const from = linePosition.decode(query.cursor);
      const stored = await storedRun(db, params.run_id);
      const list = await linesOfRun(db, stored, { employeeId: query.employee_id, from });
      if (from !== undefined && from.position !== list.position) {
        throw conflict('The run was finalized while the list was read. Start again without cursor.');
      }
      const pages = matching(list.pages, query);
      const shown = shownLines(db, stored, pages, lineSightOf(request, parts));
      let body: unknown;
      if (type === ROW_TYPES.json) {
        const start = from ?? { employeeId: '', position: list.position, given: 0 };
        const { lines, next } = await linesAfter(shown, start, query.limit ?? LIMIT_DEFAULT);
        body = linePosition.page(lines, next);
      } else {
        if (query.download === true && stored.state !== 'open') {
          const { run_id, employer_id } = stored;
          const download = { action: 'run.download', resource: run_id, employer: employer_id } as const;
          await transact(db, (trx) => record(trx, actingIn(request, now()), download));
        }
        const interrupted = interruptedOf(request, parts);
        body =
          type === ROW_TYPES.csv
            ? csvOfLines(stored, await begun(linesIn(pages), interrupted))
            : ndjsonOf(await begun(linesIn(shown), interrupted));
      }
      withRunHeaders(reply, { etag: stored.etag, audit_head: await auditHeadOf(db, stored) });
      return reply.header('vary', 'accept').type(type).send(body);
    },
  );
}

async function* linesIn<L>(pages: AsyncIterable<{ lines: L[] }[]>): AsyncGenerator<L[]> {
  for await (const page of pages) yield page.flatMap(({ lines }) => lines);
}

/** Yields the lines that match a query, and skips employees without any. */
async function* matching(
  pages: AsyncIterable<LinesOfEmployee[]>,
  { kind, change, flag }: LineQuery,
): AsyncGenerator<LinesOfEmployee[]> {
  const isWanted = (line: Line): boolean =>
    (kind === undefined || line.kind === kind) &&
    (change === undefined || line.change === change) &&
    (flag === undefined || line.flags.includes(flag));
  for await (const page of pages) {
    const wanted = page.map(({ employeeId, lines }) => ({ employeeId, lines: lines.filter(isWanted) }));
    const some = wanted.filter(({ lines }) => lines.length > 0);
    if (some.length > 0) yield some;
  }
}

const optional = (description: string) => Type.Optional(field.nullableText(description));
const employee_id = field.text('The employee.');
const deduction_id = optional('The deduction.');
const line_of_coverage = optional('The line of coverage.');
const payroll_code = optional('The payroll code.');

const TakenRow = field.component(
  'TakenRow',
  {
    employee_id,
    deduction_id,
    line_of_coverage,
    payroll_code,
    kind: Type.Optional(field.nullable({ ...field.text('The kind of line.'), enum: [...LINE_KINDS] })),
    adjustment_for: optional('The earlier run that the line settles.'),
    opening_id: optional('The opening item that the line settles.'),
    taxability: optional('The taxability: a corrected one is settled by two lines.'),
    amount: field.text('The amount taken from the employee, such as 12.34.'),
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

const AuditedRow = field.component(
  'AuditedRow',
  {
    employee_id,
    deduction_id,
    line_of_coverage,
    payroll_code,
    member_amount: field.text('The employee amount, such as 12.34.'),
    employer_amount: optional('The employer amount. It is compared only if present.'),
  },
  'A payroll amount of an employee. All rows must use the same identifying fields.',
);

const WORDS =
  'Send JSON `{"lines": […]}`, newline-delimited JSON, or CSV in UTF-8 with a header of the same names. Amounts ' +
  'are strings. At most 64 MiB.';

/** Files read at once. An audit holds the rows of its file, at most 100 MB. */
const FILES_AT_ONCE = 3;

/** Files from payroll about a run: amounts taken, and rows to compare. */
export function payrollRunFileRoutes(app: Api, parts: ApiParts): void {
  const { db, now, log } = parts;
  passStreams(app, Object.values(ROW_TYPES));
  const limited = limitReads(FILES_AT_ONCE, 'files', parts);

  app.post(
    '/v1/payroll-runs/:run_id/taken',
    operation('Payroll runs', 'runs:write', {
      operationId: 'recordTaken',
      employers: 'run',
      action: 'run.taken',
      summary: 'Report the amounts taken',
      description: `Records the amounts that payroll took for a finalized run. A line that no report names was taken in full. Later runs show the differences as arrears. A later report replaces only its own lines, and every report is kept. One invalid row rejects the whole report, as does an amount larger in size than its line or of the other sign, unless the row says \`over\`. With an \`Idempotency-Key\`, the same lines always return the first report, and other lines with the same key are a 409. ${WORDS}`,
      params: RunId,
      headers: Type.Object({
        'idempotency-key': Type.Optional(field.text('A repeat with the same key returns the stored report.')),
      }),
      body: bodyOf('TakenRequest', TakenRow),
      response: { 200: TakenReport },
      refuses: ['NOT_FOUND', 'TOO_SLOW', 'CONFLICT', 'ROWS_REFUSED'],
      validatorCompiler: exceptBody,
    }),
    async (request) => {
      const { run_id } = request.params;
      const stored = await storedRun(db, run_id);
      if (stored.state !== 'finalized') throw notFinalized(stored);
      const acting = actingIn(request, now());
      const key = idempotencyKeyOf(request.headers['idempotency-key']);
      const recorded = await limited(request, (slot) =>
        recordTaken(db, stored, streamedRows(request, slot, TAKEN_COLUMNS), acting, key),
      );
      if (!recorded.ok) throw broken('ROWS_REFUSED', recorded.problems, recorded.problem_count);
      const { ok: _, isRepeated, ...report } = recorded;
      if (isRepeated) return report;
      const fields = { run_id, employer_id: stored.employer_id, count: report.lines, ...by(request) };
      log.info(fields, 'deductions taken were recorded');
      return report;
    },
  );

  app.get(
    '/v1/payroll-runs/:run_id/taken',
    operation('Payroll runs', 'runs:read', {
      operationId: 'listTakenLines',
      employers: 'run',
      summary: 'List the lines of reports of amounts taken',
      description:
        'Lists the lines that each report names, by report and employee, including lines that a later report replaced. ' +
        'The reports themselves are the `taken_reports` of the run.',
      params: RunId,
      querystring: field.closed({
        report_id: Type.Optional(
          Type.String({
            pattern: '^[1-9][0-9]{0,8}$',
            rule: 'must be the id of a report of the run',
            description: 'Only lines of this report.',
          }),
        ),
        employee_id: idFilter('Only lines of this employee.'),
        cursor,
        limit,
      }),
      response: { 200: pageOf(TakenLine) },
      refuses: ['NOT_FOUND'],
    }),
    async ({ params, query }) => {
      const stored = await storedRun(db, params.run_id);
      const filter = { reportId: query.report_id, employeeId: query.employee_id };
      return listTakenLines(db, stored, filter, { ...query, limit: query.limit ?? LIMIT_DEFAULT });
    },
  );

  app.post(
    '/v1/payroll-runs/:run_id/audit',
    operation('Payroll runs', 'runs:read', {
      operationId: 'auditPayrollRun',
      employers: 'run',
      action: 'none',
      summary: 'Compare a payroll run with a payroll file',
      description: `Compares the run, computed now if it is open, with the file. Stores nothing. At most ${AUDIT_ROWS_MAX} rows. ${WORDS}`,
      params: RunId,
      body: bodyOf('AuditRequest', AuditedRow),
      response: { 200: Audit },
      refuses: ['NOT_FOUND', 'TOO_SLOW', 'RUN_REFUSED', 'ROWS_REFUSED'],
      validatorCompiler: exceptBody,
    }),
    async (request) => {
      const stored = await storedRun(db, request.params.run_id);
      const audited = await limited(request, async (slot) => {
        const rows = streamedRows(request, slot, AUDIT_COLUMNS);
        const { pages } = await linesOfRun(db, stored);
        return auditRun(db, { employerId: stored.employer_id, pages }, rows);
      });
      if (!audited.ok) throw broken('ROWS_REFUSED', audited.problems, audited.problem_count);
      return audited.audit;
    },
  );
}

/** Returns the schema of a body of rows in each of its content types. */
function bodyOf(name: string, row: TSchema) {
  const json = field.component(name, { lines: Type.Array(row, { minItems: 1 }) });
  return Type.Unsafe<unknown>({
    content: {
      [ROW_TYPES.json]: { schema: json },
      [ROW_TYPES.csv]: { schema: Type.String() },
      [ROW_TYPES.ndjson]: { schema: Type.String() },
    },
  });
}
