import type { FastifyReply } from 'fastify';
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
import { actingIn, by, mayAlso } from '../auth.ts';
import { assertOwnEmployer, employersOf, lineSightOf, viewerOf } from '../employers.ts';
import { broken, conflict, notFound, type Refusal } from '../problem.ts';
import { type Api, type ApiParts, operation } from '../route.ts';
import { DescribedRunBody, RunId } from '../run-schemas.ts';
import { cursor, idFilter, LIMIT_DEFAULT, limit, pageOf } from '../schemas.ts';
import { compileValidator, exceptBody } from '../validation.ts';
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

export function payrollRunRoutes(app: Api, parts: ApiParts): void {
  const { db, now, log, runReviews } = parts;
  app.put(
    '/v1/payroll-runs/:run_id',
    operation('Payroll runs', 'runs:write', {
      operationId: 'putPayrollRun',
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
      validatorCompiler: exceptBody,
    }),
    async (request, reply) => {
      const { run_id } = request.params;
      const run = runIn(request.body);
      assertOwnEmployer(request, run.employer_id);
      const begun = await beginRun(db, run_id, run, actingIn(request, now()));
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
      if (begun.outcome === 'created') {
        log.info({ run_id, employer_id: run.employer_id, ...by(request) }, 'a payroll run was created');
      }
      withEtag(reply, begun.view.etag).code(begun.outcome === 'created' ? 201 : 200);
      return viewStoredRun(db, begun.view, begun.stored);
    },
  );

  app.post(
    '/v1/payroll-runs',
    operation('Payroll runs', 'runs:write', {
      operationId: 'openPayrollRun',
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
      employers: 'request',
      action: 'run.create',
    }),
    async (request, reply) => {
      const { pay_group = null, ...payroll } = request.body;
      assertOwnEmployer(request, payroll.employer_id);
      const acting = actingIn(request, now());
      const { outcome, stored } = await openOnPayDate(db, { ...payroll, pay_group }, acting);
      if (outcome === 'created') {
        const { run_id, employer_id } = stored;
        log.info({ run_id, employer_id, ...by(request) }, 'a payroll run was created');
      }
      reply.code(outcome === 'created' ? 201 : 200);
      return outlineOf(db, stored);
    },
  );

  app.post(
    '/v1/payroll-runs/preview',
    operation('Payroll runs', 'runs:read', {
      operationId: 'previewPayrollRun',
      employers: 'request',
      action: 'none',
      summary: 'Preview a payroll run',
      description: `Computes a run without storing it. With \`employee_ids\`, the response includes the first ${PREVIEWED_LINES} lines.`,
      body: DescribedRunBody,
      response: { 200: PayrollRunPreview },
      refuses: ['RUN_REFUSED'],
      bodyLimit: RUN_BYTES_MAX,
      validatorCompiler: exceptBody,
    }),
    async (request) => {
      const requested = runIn(request.body);
      assertOwnEmployer(request, requested.employer_id);
      const { view, lines } = await previewWithLines(db, requested);
      return viewPreview(db, view, lines, lineSightOf(request, parts));
    },
  );

  app.get(
    '/v1/payroll-runs',
    operation('Payroll runs', 'runs:read', {
      operationId: 'listPayrollRuns',
      employers: 'list',
      summary: 'List payroll runs',
      description:
        'Lists runs by pay date, latest first. Open runs are not computed, so they have no totals here.',
      querystring: field.closed({
        employer_id: idFilter('Only results for this employer.'),
        state: Type.Optional(field.oneOf(['open', 'finalized', 'voided'])),
        cursor,
        limit,
      }),
      response: { 200: pageOf(PayrollRunSummary) },
    }),
    async (request) => {
      const { query } = request;
      const filter = { ...query, employerId: query.employer_id, employers: employersOf(request) };
      const page = { after: runCursor.decode(query.cursor), limit: query.limit ?? LIMIT_DEFAULT };
      const { runs, next } = await listRuns(db, filter, page);
      return runCursor.page(runs.map(viewRunSummary), next);
    },
  );

  app.get(
    '/v1/payroll-runs/:run_id',
    operation('Payroll runs', 'runs:read', {
      operationId: 'getPayrollRun',
      employers: 'run',
      summary: 'Get a payroll run',
      description: 'Computes an open run from the current ledger. The `ETag` header identifies its lines.',
      params: RunId,
      response: { 200: PayrollRun },
      refuses: ['NOT_FOUND', 'RUN_REFUSED'],
    }),
    async ({ params }, reply) => {
      const stored = await storedRun(db, params.run_id);
      const view =
        stored.state === 'open' ? viewComputed(await runReviews.review(stored)) : await viewRun(db, stored);
      return withRunHeaders(reply, await viewStoredRun(db, view, stored));
    },
  );

  app.get(
    '/v1/payroll-runs/:run_id/outline',
    operation('Payroll runs', 'runs:read', {
      operationId: 'getPayrollRunOutline',
      employers: 'run',
      summary: 'Get a payroll run without its lines',
      description: 'Returns the run without computing it, so the response is fast for a run of any size.',
      params: RunId,
      response: { 200: PayrollRunOutline },
      refuses: ['NOT_FOUND'],
    }),
    async ({ params }) => outlineOf(db, await storedRun(db, params.run_id)),
  );

  app.delete(
    '/v1/payroll-runs/:run_id',
    operation('Payroll runs', 'runs:write', {
      operationId: 'deletePayrollRun',
      employers: 'run',
      action: 'run.delete',
      summary: 'Delete an open payroll run',
      description: 'Deletes an open run. A finalized run cannot be deleted, only voided.',
      params: RunId,
      response: { 204: Type.Null({ description: 'The run was deleted.' }) },
      refuses: ['NOT_FOUND', 'CONFLICT'],
    }),
    async (request, reply) => {
      const { run_id } = request.params;
      const acting = actingIn(request, now());
      const outcome = await transact(db, (trx) => deleteOpenRun(trx, run_id, acting));
      if (outcome === 'unknown') throw noRun();
      if (outcome === 'not-open') throw notOpen();
      log.info({ run_id, ...by(request) }, 'a payroll run was deleted');
      return reply.code(204).send(null);
    },
  );

  app.get(
    '/v1/payroll-runs/:run_id/readiness',
    operation('Payroll runs', 'runs:read', {
      operationId: 'getPayrollRunReadiness',
      employers: 'run',
      summary: 'Check whether a payroll run can be finalized',
      description:
        'Computes an open run and runs every check of the ledger and of the run. A failed check stops `finalize` unless it is accepted by name. The `ETag` header identifies the lines and the findings.',
      params: RunId,
      response: { 200: RunReadiness },
      refuses: ['NOT_FOUND', 'CONFLICT', 'RUN_REFUSED'],
    }),
    async (request, reply) => {
      const stored = await storedRun(db, request.params.run_id);
      if (stored.state !== 'open') {
        throw conflict(
          `The run is ${stored.state}. Readiness is checked while a run is open. Verify this run instead.`,
        );
      }
      const report = await readinessOfReviewed(request, parts, stored);
      withEtag(reply, report.etag);
      const approval = await approvalOf(db, stored, report, request.caller?.person ?? null);
      return { ...viewReadiness(report, mayAlso(request.caller, 'ledger:read')), approval };
    },
  );

  app.get(
    '/v1/payroll-runs/:run_id/verify',
    operation('Payroll runs', 'runs:read', {
      operationId: 'verifyPayrollRun',
      employers: 'run',
      summary: 'Verify a finalized payroll run',
      description:
        'Recomputes the run from the ledger at its position, with the options, pay dates, codes and roster stored with it. A run that another release finalized by different rules is a 409.',
      params: RunId,
      response: { 200: Verification },
      refuses: ['NOT_FOUND', 'CONFLICT'],
    }),
    async (request) => {
      const stored = await storedRun(db, request.params.run_id);
      if (stored.state === 'open') throw conflict('The run is open. Finalize it first.');
      const otherRules = whyOtherRules(stored);
      if (otherRules !== null) throw conflict(otherRules);
      return verifyRun(db, stored, viewerOf(request, parts));
    },
  );
}

export async function storedRun(db: ApiParts['db'], runId: string): Promise<StoredRun> {
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

function withEtag(reply: FastifyReply, etag: string): FastifyReply {
  return reply.header('etag', `"${etag}"`);
}

/** Sets the headers of a response about a run: its ETag, and the head of the audit records if it is final. */
export function withRunHeaders<R extends { etag: string | null; audit_head: string | null }>(
  reply: FastifyReply,
  run: R,
): R {
  if (run.etag !== null) withEtag(reply, run.etag);
  if (run.audit_head !== null) reply.header('audit-head', run.audit_head);
  return run;
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
