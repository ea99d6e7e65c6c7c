import Type from 'typebox';
import { PAY_FREQUENCIES } from '../../contract/employee.ts';
import * as field from '../../contract/fields.ts';
import { transact } from '../../database/transaction.ts';
import { beginRun, PREVIEWED_LINES, previewWithLines } from '../../payroll/lifecycle/begin.ts';
import { openOnPayDate } from '../../payroll/lifecycle/open-on-pay-date.ts';
import { deleteOpenRun } from '../../payroll/lifecycle/overrides.ts';
import { viewComputed, viewRun } from '../../payroll/lifecycle/results.ts';
import {
  outlineOf,
  PayrollRun,
  PayrollRunOutline,
  PayrollRunPreview,
  PayrollRunSummary,
  runCursor,
  viewPreview,
  viewRunSummary,
  viewStoredRun,
} from '../../payroll/lifecycle/run-view.ts';
import { Verification, verifyRun, whyOtherRules } from '../../payroll/lifecycle/verify.ts';
import { type RequestedRun, RunBody, runOf } from '../../payroll/records/body.ts';
import { findRun, listRuns, type StoredRun } from '../../payroll/records/runs.ts';
import { viewReadiness } from '../../readiness/report.ts';
import { approvalOf } from '../../readiness/run-report.ts';
import { actingIn, mayAlso } from '../auth.ts';
import { assertKnownFilter, assertOwnEmployer, employersOf, lineSightOf, viewerOf } from '../employers.ts';
import { Answer, operation, type Parts } from '../operation.ts';
import { broken, conflict, notFound, type Refusal } from '../problem.ts';
import { DescribedRunBody, RunId } from '../run-schemas.ts';
import { cursor, idFilter, LIMIT_DEFAULT, limit, pageOf } from '../schemas.ts';
import { compileValidator } from '../validation.ts';
import { RunReadiness, readinessOfReviewed } from './readiness.ts';

/** A run can name all 100,000 employees of an employer twice, with ids of 36 characters. */
export const RUN_BYTES_MAX = 8 * 1024 * 1024;

const OpenRequest = field.component(
  'OpenPayrollRunRequest',
  {
    employer_id: { ...field.identifier, description: 'The employer.' },
    pay_frequency: field.oneOfDescribed(PAY_FREQUENCIES, 'The pay frequency of the pay schedule.'),
    pay_group: Type.Optional(
      field.nullable({
        ...field.identifier,
        description: 'The pay group of the pay schedule, if it has one.',
      }),
    ),
    pay_date: { ...field.day, description: 'A date of the pay schedule.' },
  },
  'A pay date of a pay schedule.',
);

export const putPayrollRun = operation({
  id: 'putPayrollRun',
  group: 'Payroll runs',
  method: 'PUT',
  path: '/v1/payroll-runs/:run_id',
  scope: 'runs:write',
  employers: 'request',
  action: 'run.create',
  summary: 'Create a payroll run',
  description:
    'Creates a run with an ID that you choose. The same body again changes nothing. Omitted fields have their defaults. ' +
    'The run is computed before it is stored. If it cannot be computed, the response names the fields to change and nothing is stored. ' +
    'To change an open run, delete it and create another one. The `ETag` header identifies its lines.',
  params: RunId,
  body: DescribedRunBody,
  response: {
    200: { ...PayrollRun, 'x-response-description': 'The same run already existed.' },
    201: { ...PayrollRun, 'x-response-description': 'The run was created.' },
  },
  refuses: ['CONFLICT', 'RUN_REFUSED'],
  bodyLimit: RUN_BYTES_MAX,
  isBodyUnchecked: true,
  runWork: 'put',
  async run(call, { db, now }) {
    const run = runIn(call.body);
    assertOwnEmployer(call, run.employer_id);
    const begun = await beginRun(db, call.params.run_id, run, actingIn(call, now()));
    if (begun.outcome === 'different') {
      throw conflict('A run with this ID and a different body exists. Use another ID or delete that run.');
    }
    if (begun.outcome === 'of-another-employer') {
      throw conflict('This ID belongs to another employer, even if its run was deleted. Use another ID.');
    }
    if (begun.outcome === 'date-open') {
      throw conflict(
        `The run ${begun.by} is already open for this pay date, frequency and pay group. Use it, or delete it first.`,
      );
    }
    const headers = etagHeader(begun.view.etag);
    return made(begun.outcome, await viewStoredRun(db, begun.view, begun.stored), headers);
  },
  logs: (_call, run) => createdLine(run),
});

export const openPayrollRun = operation({
  id: 'openPayrollRun',
  group: 'Payroll runs',
  method: 'POST',
  path: '/v1/payroll-runs',
  scope: 'runs:write',
  employers: 'request',
  action: 'run.create',
  summary: 'Open the payroll run of a pay date',
  description:
    'Returns the finalized or open regular run of an employer, pay frequency, pay group and pay date, whatever its ID. ' +
    'If there is none, because it was never created or was voided, creates it with the pay period of the pay schedule and ' +
    'an ID such as `acme-biweekly-2026-07-17`. Callers at the same time get the same run.',
  body: OpenRequest,
  response: {
    200: { ...PayrollRunOutline, 'x-response-description': 'The run already existed.' },
    201: { ...PayrollRunOutline, 'x-response-description': 'The run was created.' },
  },
  refuses: ['RUN_REFUSED'],
  async run(call, { db, now }) {
    const { pay_group = null, ...payroll } = call.body;
    assertOwnEmployer(call, payroll.employer_id);
    const { outcome, stored } = await openOnPayDate(db, { ...payroll, pay_group }, actingIn(call, now()));
    return made(outcome, await outlineOf(db, stored));
  },
  logs: (_call, run) => createdLine(run),
});

export const previewPayrollRun = operation({
  id: 'previewPayrollRun',
  group: 'Payroll runs',
  method: 'POST',
  path: '/v1/payroll-runs/preview',
  scope: 'runs:read',
  employers: 'request',
  action: 'none',
  summary: 'Preview a payroll run',
  description: `Computes a run without storing it. With \`employee_ids\`, the response includes the first ${PREVIEWED_LINES} lines.`,
  body: DescribedRunBody,
  response: { 200: PayrollRunPreview },
  refuses: ['RUN_REFUSED'],
  bodyLimit: RUN_BYTES_MAX,
  isBodyUnchecked: true,
  runWork: 'preview',
  async run(call, parts) {
    const requested = runIn(call.body);
    assertOwnEmployer(call, requested.employer_id);
    const { view, lines } = await previewWithLines(parts.db, requested);
    return viewPreview(parts.db, view, lines, lineSightOf(call, parts));
  },
});

export const listPayrollRuns = operation({
  id: 'listPayrollRuns',
  group: 'Payroll runs',
  method: 'GET',
  path: '/v1/payroll-runs',
  scope: 'runs:read',
  employers: 'list',
  summary: 'List payroll runs',
  description:
    'Lists runs by pay date, latest first. Open runs are not computed, so they have no totals here.',
  query: field.closed({
    employer_id: idFilter('Only results for this employer.'),
    state: Type.Optional(field.oneOfDescribed(['open', 'finalized', 'voided'], 'Only runs in this state.')),
    cursor,
    limit,
  }),
  response: { 200: pageOf(PayrollRunSummary) },
  refuses: ['NOT_FOUND'],
  async run(call, { db }) {
    const { query } = call;
    await assertKnownFilter(call, { db }, query.employer_id);
    const filter = { ...query, employerId: query.employer_id, employers: employersOf(call) };
    const page = { after: runCursor.decode(query.cursor), limit: query.limit ?? LIMIT_DEFAULT };
    const { runs, next } = await listRuns(db, filter, page);
    return runCursor.page(runs.map(viewRunSummary), next);
  },
});

export const getPayrollRun = operation({
  id: 'getPayrollRun',
  group: 'Payroll runs',
  method: 'GET',
  path: '/v1/payroll-runs/:run_id',
  scope: 'runs:read',
  employers: 'run',
  summary: 'Get a payroll run',
  description: 'Computes an open run from the current ledger. The `ETag` header identifies its lines.',
  params: RunId,
  response: { 200: PayrollRun },
  refuses: ['NOT_FOUND', 'RUN_REFUSED'],
  runWork: 'show',
  async run({ params }, { db, runReviews }) {
    const stored = await storedRun(db, params.run_id);
    const view =
      stored.state === 'open' ? viewComputed(await runReviews.review(stored)) : await viewRun(db, stored);
    const run = await viewStoredRun(db, view, stored);
    return new Answer(run, { headers: runHeaders(run) });
  },
});

export const getPayrollRunOutline = operation({
  id: 'getPayrollRunOutline',
  group: 'Payroll runs',
  method: 'GET',
  path: '/v1/payroll-runs/:run_id/outline',
  scope: 'runs:read',
  employers: 'run',
  isForConsole: true,
  summary: 'Get a payroll run without its lines',
  description: 'Returns the run without computing it, so the response is fast for a run of any size.',
  params: RunId,
  response: { 200: PayrollRunOutline },
  refuses: ['NOT_FOUND'],
  run: async ({ params }, { db }) => outlineOf(db, await storedRun(db, params.run_id)),
});

export const deletePayrollRun = operation({
  id: 'deletePayrollRun',
  group: 'Payroll runs',
  method: 'DELETE',
  path: '/v1/payroll-runs/:run_id',
  scope: 'runs:write',
  employers: 'run',
  action: 'run.delete',
  summary: 'Delete an open payroll run',
  description: 'Deletes an open run. A finalized run cannot be deleted, only voided.',
  params: RunId,
  response: { 204: Type.Null({ description: 'The run was deleted.' }) },
  refuses: ['NOT_FOUND', 'CONFLICT'],
  async run(call, { db, now }) {
    const acting = actingIn(call, now());
    const outcome = await transact(db, (trx) => deleteOpenRun(trx, call.params.run_id, acting));
    if (outcome === 'unknown') throw noRun();
    if (outcome === 'not-open') throw notOpen();
  },
  logs: ({ params }) => [params, 'a payroll run was deleted'],
});

export const getPayrollRunReadiness = operation({
  id: 'getPayrollRunReadiness',
  group: 'Payroll runs',
  method: 'GET',
  path: '/v1/payroll-runs/:run_id/readiness',
  scope: 'runs:read',
  employers: 'run',
  summary: 'Check whether a payroll run can be finalized',
  description:
    'Computes an open run and runs every check of the ledger and of the run. A failed check stops `finalize` unless it is accepted by name. The `ETag` header identifies the lines and the findings.',
  params: RunId,
  response: { 200: RunReadiness },
  refuses: ['NOT_FOUND', 'CONFLICT', 'RUN_REFUSED'],
  async run(call, parts) {
    const stored = await storedRun(parts.db, call.params.run_id);
    if (stored.state !== 'open') {
      throw conflict(
        `The run is ${stored.state}. Readiness is checked while a run is open. Verify this run instead.`,
      );
    }
    const report = await readinessOfReviewed(call, parts, stored);
    const approval = await approvalOf(parts.db, stored, report, call.caller?.person ?? null);
    const shown = { ...viewReadiness(report, mayAlso(call.caller, 'ledger:read')), approval };
    return new Answer(shown, { headers: etagHeader(report.etag) });
  },
});

export const verifyPayrollRun = operation({
  id: 'verifyPayrollRun',
  group: 'Payroll runs',
  method: 'GET',
  path: '/v1/payroll-runs/:run_id/verify',
  scope: 'runs:read',
  employers: 'run',
  summary: 'Verify a finalized payroll run',
  description:
    'Recomputes the run from the ledger at its position, with the options, pay dates, codes and roster stored with it. A run that another release finalized by different rules is a 409.',
  params: RunId,
  response: { 200: Verification },
  refuses: ['NOT_FOUND', 'CONFLICT'],
  runWork: 'verify',
  async run(call, parts) {
    const stored = await storedRun(parts.db, call.params.run_id);
    if (stored.state === 'open') throw conflict('The run is open. Finalize it first.');
    const otherRules = whyOtherRules(stored);
    if (otherRules !== null) throw conflict(otherRules);
    return verifyRun(parts.db, stored, viewerOf(call, parts));
  },
});

export async function storedRun(db: Parts['db'], runId: string): Promise<StoredRun> {
  const stored = await findRun(db, runId);
  if (stored === null) throw noRun();
  return stored;
}

export function noRun(): Refusal {
  return notFound('payroll run');
}

export function notOpen(): Refusal {
  return conflict('The run is no longer open. Void it and create another one.');
}

/** Returns the answer of creating a run, which may have existed. */
function made<R>(outcome: 'created' | string, result: R, headers = {}): Answer<R> {
  const isUnchanged = outcome !== 'created';
  return new Answer(result, { status: isUnchanged ? 200 : 201, headers, isUnchanged });
}

function createdLine({ id, employer_id }: { id: string; employer_id: string }) {
  return [{ run_id: id, employer_id }, 'a payroll run was created'] as const;
}

function etagHeader(etag: string): { etag: string } {
  return { etag: `"${etag}"` };
}

/** Returns the headers of a response about a run: its ETag, and the head of the audit records if it is final. */
export function runHeaders({ etag, audit_head }: { etag: string | null; audit_head: string | null }) {
  return { ...(etag !== null && etagHeader(etag)), ...(audit_head !== null && { 'audit-head': audit_head }) };
}

const checkBody = compileValidator({ schema: RunBody, method: '', url: '', httpPart: 'body' });

/** Returns the run that a body defines. Throws 422 as an `Refusal` that names each wrong field. */
function runIn(body: unknown): RequestedRun {
  const checked = checkBody(body) as { error?: Refusal };
  if (checked.error !== undefined) throw broken('RUN_REFUSED', checked.error.problems);
  const asked = runOf(body);
  if (!asked.ok) throw broken('RUN_REFUSED', asked.problems);
  return asked.run;
}
