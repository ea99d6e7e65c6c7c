import Type from 'typebox';
import * as field from '../../contract/fields.ts';
import { transact } from '../../database/transaction.ts';
import { codeOf, conflict } from '../../errors.ts';
import { beginRead, noteReadinessRead } from '../../payroll/lifecycle/outdated-runs.ts';
import { deleteOpenRun } from '../../payroll/lifecycle/overrides.ts';
import { viewComputed, viewRun } from '../../payroll/lifecycle/results.ts';
import {
  outlineOf,
  PayrollRun,
  PayrollRunOutline,
  PayrollRunSummary,
  viewRunSummary,
  viewStoredRun,
} from '../../payroll/lifecycle/run-view.ts';
import { Verification, verifyRun, whyOtherRules } from '../../payroll/lifecycle/verify.ts';
import { listRuns, storedRun } from '../../payroll/records/runs.ts';
import { viewReadiness } from '../../readiness/report.ts';
import { approvalOf } from '../../readiness/run-report.ts';
import { actingIn, mayAlso } from '../auth.ts';
import { assertKnownFilter, employersOf, viewerOf } from '../employers.ts';
import { Answer, operation, type Parts } from '../operation.ts';
import { RunId } from '../run-schemas.ts';
import { cursor, idFilter, instant, limit, pageOf, toMilliseconds } from '../schemas.ts';
import { RunReadiness, readinessOfReviewed } from './readiness.ts';

export const listPayrollRuns = operation({
  id: 'listPayrollRuns',
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
    pay_date: Type.Optional({ ...field.day, description: 'Only runs of this pay date.' }),
    finalized_from: instant('Only runs finalized at or after this time, including runs voided since.'),
    cursor,
    limit,
  }),
  response: { 200: pageOf(PayrollRunSummary) },
  refuses: ['NOT_FOUND'],
  async run(call, { db }) {
    const { query } = call;
    await assertKnownFilter(call, { db }, query.employer_id);
    const filter = {
      ...{ employerId: query.employer_id, employers: employersOf(call) },
      ...{ state: query.state, payDate: query.pay_date },
      ...{ finalizedFrom: query.finalized_from && toMilliseconds(query.finalized_from) },
    };
    const page = await listRuns(db, filter, query);
    return { ...page, data: page.data.map(viewRunSummary) };
  },
});

export const getPayrollRun = operation({
  id: 'getPayrollRun',
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
    await transact(db, (trx) => deleteOpenRun(trx, call.params.run_id, acting));
  },
  logs: ({ params }) => [params, 'a payroll run was deleted'],
});

export const getPayrollRunReadiness = operation({
  id: 'getPayrollRunReadiness',
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
    const read = await beginRead(parts.db, stored);
    const report = await readinessOfReviewed(call, parts, stored);
    if (read !== null) await noteRead(parts, read);
    const approval = await approvalOf(parts.db, stored, report, call.caller?.person ?? null);
    const shown = { ...viewReadiness(report, mayAlso(call.caller, 'ledger:read')), approval };
    return new Answer(shown, { headers: etagHeader(report.etag) });
  },
});

export const verifyPayrollRun = operation({
  id: 'verifyPayrollRun',
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

/** Stores that a readiness was read. A full disk must not keep its findings from whoever reads them. */
async function noteRead({ db, log }: Parts, read: Parameters<typeof noteReadinessRead>[1]): Promise<void> {
  try {
    await noteReadinessRead(db, read);
  } catch (error) {
    const fields = { run_id: read.run_id, code: codeOf(error) || 'INTERNAL' };
    log.warn(
      fields,
      'nobody will be told when the run changes: that its readiness was read could not be stored',
    );
  }
}

export function etagHeader(etag: string): { etag: string } {
  return { etag: `"${etag}"` };
}

/** Returns the headers of a response about a run: its ETag, and the head of the audit records if it is final. */
export function runHeaders({ etag, audit_head }: { etag: string | null; audit_head: string | null }) {
  return { ...(etag !== null && etagHeader(etag)), ...(audit_head !== null && { 'audit-head': audit_head }) };
}
