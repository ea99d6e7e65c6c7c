import Type, { type TSchema } from 'typebox';
import { nullable } from '../../contract/fields.ts';
import { ROW_TYPES } from '../../formats/rows.ts';
import { LINE_KINDS } from '../../payroll/calculation/line.ts';
import { AUDIT_COLUMNS, AUDIT_ROWS_MAX, auditRun } from '../../payroll/reconciliation/audit.ts';
import { AUDIT_ROWS_NAMED, NAMING } from '../../payroll/reconciliation/audit-categories.ts';
import { DIFFERENCES_NAMED, recordTaken, TAKEN_COLUMNS } from '../../payroll/reconciliation/taken.ts';
import { linesOfRun } from '../../payroll/runs/line-pages.ts';
import { by } from '../auth.ts';
import type { ApiParts } from '../parts.ts';
import { FILES_AT_ONCE, readRowStreams, rowsRefused, streamedRows } from '../rows-body.ts';
import { RunId } from '../run-schemas.ts';
import { type Api, closed, named } from '../schemas.ts';
import { createTurns } from '../turns.ts';
import { exceptBody } from '../validation.ts';
import { notFinalized } from './payroll-run-work.ts';
import { storedRun } from './payroll-runs.ts';

const text = (description: string) => Type.String({ description });
const optional = (description: string) => Type.Optional(nullable(text(description)));
const employee_id = text('Whose.');
const deduction_id = optional('Of this deduction.');
const line_of_coverage = optional('Of this line of coverage.');
const payroll_code = optional("Of this code of payroll's.");

const TakenRow = closed(
  {
    employee_id,
    deduction_id,
    line_of_coverage,
    payroll_code,
    kind: Type.Optional(nullable({ ...text('Of this kind.'), enum: [...LINE_KINDS] })),
    adjustment_for: optional('Settles this earlier run.'),
    amount: text("What was taken of the employee's side, such as 12.34."),
  },
  'Names one line of the run, by as much as tells it from the others of its employee.',
);

const AuditedRow = closed(
  {
    employee_id,
    deduction_id,
    line_of_coverage,
    payroll_code,
    member_amount: text('What the employee pays, such as 12.34.'),
    employer_amount: optional('What the employer pays. Compared where it is given.'),
  },
  'What payroll has for an employee. All rows say what it is for by the same fields.',
);

const Recorded = closed(
  {
    report: Type.Integer({ description: 'Which report on the run this is; the last one stands.' }),
    lines: Type.Integer({ description: 'Lines that it names. The others were taken in full.' }),
    owed: text('What was taken too little, all in all; negative: too much. Two decimals.'),
    difference_count: Type.Integer({
      description: 'Lines of which another amount was taken than the run has.',
    }),
    differences: Type.Array(
      closed({
        employee_id,
        deduction_id: text('Of this deduction.'),
        line_of_coverage: text('Of this line of coverage.'),
        kind: Type.Enum([...LINE_KINDS], { description: 'Of this kind.' }),
        adjustment_for: nullable(text('The earlier run that the line settles.')),
        member_amount: text('What the run has.'),
        taken: text('What was taken.'),
        owed: text('What was taken too little; negative: too much.'),
      }),
      { description: `The first ${DIFFERENCES_NAMED} of them: what later runs tell of as arrears.` },
    ),
  },
  'The report stands.',
);

const TOTALS = {
  count: Type.Integer({ description: 'How many.' }),
  member_amount: text('What the employees pay by the run.'),
  employer_amount: text('What the employer pays by the run.'),
  payroll_member_amount: text("What the employees pay by payroll's file."),
  payroll_employer_amount: text("What the employer pays by payroll's file."),
};

const amount = (description: string) => nullable(text(`${description} Null: nothing there.`));

const Heap = (description: string) =>
  closed(
    {
      ...TOTALS,
      rows: Type.Array(
        closed({
          employee_id,
          deduction_id,
          payroll_code,
          line_of_coverage,
          member_amount: amount('By the run.'),
          employer_amount: amount('By the run.'),
          payroll_member_amount: amount("By payroll's file."),
          payroll_employer_amount: amount("By payroll's file."),
        }),
        { description: `The first ${AUDIT_ROWS_NAMED}.` },
      ),
    },
    description,
  );

const Audit = closed(
  {
    compared_by: Type.Array(Type.Enum([...NAMING]), {
      description: "What payroll's rows say what they are for by. Sums of it are compared.",
    }),
    employer_compared: Type.Boolean({
      description:
        "Whether payroll's file has the employer's side of at least one row; without it payroll's sums of that side say nothing.",
    }),
    matched: closed(TOTALS, 'The same on both sides, or nothing on either.'),
    only_here: Heap("In the run, and not in payroll's file."),
    only_in_payroll: Heap("In payroll's file, and not in the run."),
    amount_differs: Heap('On both sides, with other amounts.'),
    employee_unknown: Heap("In payroll's file, of employees whom nothing here knows with this employer."),
  },
  "A run beside payroll's own file.",
);

const WORDS =
  'As JSON `{"lines": […]}`, as newline-delimited JSON, or as CSV in UTF-8 with a header of the same names; amounts ' +
  'are texts. At most 64 MiB.';

/** What payroll tells of a run in a file: what it took, and what it would have taken. */
export function payrollRunFileRoutes(app: Api, { db, now, log }: ApiParts): void {
  readRowStreams(app);
  const inTurn = createTurns(FILES_AT_ONCE, 'files', log);

  app.post(
    '/v1/payroll-runs/:run_id/taken',
    {
      config: { scope: 'runs:write', refuses: ['not-found', 'conflict', 'rows-refused'] },
      validatorCompiler: exceptBody,
      schema: {
        operationId: 'recordTaken',
        tags: ['Payroll runs'],
        summary: 'Report what payroll took',
        description: `For a finalized run. A line that no report names was taken in full; the difference is owed, and later runs show it as arrears. A later report replaces only the lines that it names, and every report is kept. One wrong row refuses the whole report. ${WORDS}`,
        params: RunId,
        body: bodyOf(named(app, 'TakenRow', TakenRow)),
        response: { 200: named(app, 'TakenReport', Recorded) },
      },
    },
    async (request) => {
      const { run_id } = request.params;
      const stored = await storedRun(db, run_id);
      if (stored.state !== 'finalized') throw notFinalized(stored);
      const at = now().toISOString();
      const recorded = await inTurn(() => recordTaken(db, stored, streamedRows(request, TAKEN_COLUMNS), at));
      if (!recorded.ok) throw rowsRefused(recorded);
      const { ok: _, ...report } = recorded;
      const fields = { run_id, employer_id: stored.employer_id, count: report.lines, ...by(request) };
      log.info(fields, 'what payroll took was recorded');
      return report;
    },
  );

  app.post(
    '/v1/payroll-runs/:run_id/audit',
    {
      config: { scope: 'runs:read', refuses: ['not-found', 'run-refused', 'rows-refused'] },
      validatorCompiler: exceptBody,
      schema: {
        operationId: 'auditPayrollRun',
        tags: ['Payroll runs'],
        summary: "Compare a payroll run with payroll's own file",
        description: `An open run as it is computed now. Nothing is kept. At most ${AUDIT_ROWS_MAX} rows. ${WORDS}`,
        params: RunId,
        body: bodyOf(named(app, 'AuditedRow', AuditedRow)),
        response: { 200: named(app, 'Audit', Audit) },
      },
    },
    async (request) => {
      const stored = await storedRun(db, request.params.run_id);
      const audited = await inTurn(async () => {
        const rows = streamedRows(request, AUDIT_COLUMNS);
        const { pages } = await linesOfRun(db, stored, null);
        return auditRun(db, { employerId: stored.employer_id, pages }, rows);
      });
      if (!audited.ok) throw rowsRefused(audited);
      return audited.audit;
    },
  );
}

/** A body of rows, as each of its content types has it. */
function bodyOf(row: TSchema) {
  return Type.Unsafe<unknown>({
    content: {
      [ROW_TYPES.json]: { schema: closed({ lines: Type.Array(row, { minItems: 1 }) }) },
      [ROW_TYPES.csv]: { schema: Type.String() },
      [ROW_TYPES.ndjson]: { schema: Type.String() },
    },
  });
}
