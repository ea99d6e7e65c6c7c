import type { FastifyReply } from 'fastify';
import Type from 'typebox';
import { closed, identifier, nullable, oneOf } from '../../contract/fields.ts';
import { transact } from '../../database/transaction.ts';
import { outlineOf, runCursor, viewPreview, viewRunSummary, viewStoredRun } from '../../payroll/run-view.ts';
import { beginRun, PREVIEWED_LINES, previewWithLines } from '../../payroll/runs/begin.ts';
import { RunBody, runOf, type StatedRun } from '../../payroll/runs/body.ts';
import { bodyOf, deleteRun, findRun, listRuns, type StoredRun, viewRun } from '../../payroll/runs/store.ts';
import { Totals } from '../../payroll/runs/totals.ts';
import { verifyRun, whyOtherRules } from '../../payroll/runs/verify.ts';
import { viewReadiness } from '../../readiness/report.ts';
import { readinessOfRun } from '../../readiness/run-report.ts';
import { by } from '../auth.ts';
import type { ApiParts } from '../parts.ts';
import { broken, notFound, Refusal } from '../problem.ts';
import {
  DescribedRunBody,
  Line,
  PayrollRun,
  PayrollRunOutline,
  PayrollRunPreview,
  PayrollRunSummary,
  RunId,
} from '../run-schemas.ts';
import { type Api, cursor, LIMIT_DEFAULT, limit, named, pageOf } from '../schemas.ts';
import { compileValidator, exceptBody } from '../validation.ts';
import type { Readiness } from './readiness.ts';

/** A run that names all 100,000 employees of an employer twice, by ids of 36 characters. */
export const RUN_BYTES_MAX = 8 * 1024 * 1024;

const RunQuery = closed({
  employer_id: Type.Optional({ ...identifier, description: 'Of this employer.' }),
  state: Type.Optional(oneOf(['open', 'finalized', 'voided'])),
  cursor,
  limit,
});

/** The names of the schemas in the reference, for the routes that answer them. */
export const RunAnswer = Type.Unsafe<PayrollRun>({ $ref: 'PayrollRun#' });

const COMPUTED_FIRST =
  'It is computed before it is kept: one that can not be computed is refused with the fields to change, and not kept.';

/** Payroll runs: put, seen, listed, removed while they are open. */
export function payrollRunRoutes(app: Api, { db, now, log }: ApiParts): void {
  named(app, 'Totals', Totals);
  named(app, 'Line', Line);
  named(app, 'PayrollRun', PayrollRun);
  const Outline = named(app, 'PayrollRunOutline', PayrollRunOutline);
  const Summary = named(app, 'PayrollRunSummary', PayrollRunSummary);
  const Preview = named(app, 'PayrollRunPreview', PayrollRunPreview);

  app.put(
    '/v1/payroll-runs/:run_id',
    {
      config: { scope: 'runs:write', refuses: ['conflict', 'run-refused'] },
      bodyLimit: RUN_BYTES_MAX,
      validatorCompiler: exceptBody,
      schema: {
        operationId: 'putPayrollRun',
        tags: ['Payroll runs'],
        summary: 'Put a payroll run',
        description:
          `Under an id of your own. The same body again changes nothing; what is left out counts as its default. ${COMPUTED_FIRST} ` +
          'To change an open run, delete it and put another one. The header `ETag` is that of its lines.',
        params: RunId,
        body: DescribedRunBody,
        response: {
          200: Type.Unsafe<PayrollRun>({
            ...RunAnswer,
            description: 'The run was here already, as it is put.',
          }),
          201: Type.Unsafe<PayrollRun>({ ...RunAnswer, description: 'The run is new.' }),
        },
      },
    },
    async (request, reply) => {
      const { run_id } = request.params;
      const run = runIn(request.body);
      const begun = await beginRun(db, run_id, run, now().toISOString());
      if (begun.outcome === 'different') {
        throw new Refusal(
          'conflict',
          'a run with another body has this id: use another id, or delete that run',
        );
      }
      if (begun.outcome === 'created') {
        log.info({ run_id, employer_id: run.employer_id, ...by(request) }, 'a payroll run was put');
      }
      withEtag(reply, begun.view.etag).code(begun.outcome === 'created' ? 201 : 200);
      return viewStoredRun(db, begun.view, begun.stored);
    },
  );

  app.post(
    '/v1/payroll-runs/preview',
    {
      config: { scope: 'runs:read', refuses: ['run-refused'] },
      bodyLimit: RUN_BYTES_MAX,
      validatorCompiler: exceptBody,
      schema: {
        operationId: 'previewPayrollRun',
        tags: ['Payroll runs'],
        summary: 'Look at what a payroll run would come to',
        description: `The body of a run, of which nothing is kept. With \`employee_ids\` the lines come along, the first ${PREVIEWED_LINES}: name one employee to answer a question.`,
        body: DescribedRunBody,
        response: { 200: Preview },
      },
    },
    async ({ body }) => {
      const stated = runIn(body);
      const { view, lines } = await previewWithLines(db, stated);
      return viewPreview(db, view, stated, lines);
    },
  );

  app.get(
    '/v1/payroll-runs',
    {
      config: { scope: 'runs:read' },
      schema: {
        operationId: 'listPayrollRuns',
        tags: ['Payroll runs'],
        summary: 'List payroll runs',
        description:
          'The latest pay date first. Nothing is computed: an open run has its totals when it is asked for.',
        querystring: RunQuery,
        response: { 200: pageOf(Summary) },
      },
    },
    async ({ query }) => {
      const { employer_id, state } = query;
      const page = { after: runCursor.decode(query.cursor), limit: query.limit ?? LIMIT_DEFAULT };
      const { runs, next } = await listRuns(db, { employerId: employer_id, state }, page);
      return { data: runs.map(viewRunSummary), next_cursor: runCursor.encode(next) };
    },
  );

  app.get(
    '/v1/payroll-runs/:run_id',
    {
      config: { scope: 'runs:read', refuses: ['not-found', 'run-refused'] },
      schema: {
        operationId: 'getPayrollRun',
        tags: ['Payroll runs'],
        summary: 'Get a payroll run',
        description:
          'An open one is computed from what the ledger knows now. The header `ETag` is that of its lines.',
        params: RunId,
        response: { 200: RunAnswer },
      },
    },
    async ({ params }, reply) => {
      const stored = await storedRun(db, params.run_id);
      const view = await viewRun(db, stored);
      withEtag(reply, view.etag);
      return viewStoredRun(db, view, stored);
    },
  );

  app.get(
    '/v1/payroll-runs/:run_id/outline',
    {
      config: { scope: 'runs:read', refuses: ['not-found'] },
      schema: {
        operationId: 'getPayrollRunOutline',
        tags: ['Payroll runs'],
        summary: 'Get what was asked for of a payroll run, and its state',
        description: 'Nothing is computed, so the answer comes at once however large the run is.',
        params: RunId,
        response: { 200: Outline },
      },
    },
    async ({ params }) => outlineOf(db, await storedRun(db, params.run_id)),
  );

  app.delete(
    '/v1/payroll-runs/:run_id',
    {
      config: { scope: 'runs:write', refuses: ['not-found', 'conflict'] },
      schema: {
        operationId: 'deletePayrollRun',
        tags: ['Payroll runs'],
        summary: 'Delete an open payroll run',
        description: 'A finalized one is proof and stays: it can be voided.',
        params: RunId,
        response: { 204: Type.Null({ description: 'The run is gone.' }) },
      },
    },
    async (request, reply) => {
      const { run_id } = request.params;
      const outcome = await transact(db, (trx) => deleteRun(trx, run_id));
      if (outcome === 'unknown') throw noRun();
      if (outcome === 'not-open') throw notOpen();
      log.info({ run_id, ...by(request) }, 'a payroll run was deleted');
      return reply.code(204).send(null);
    },
  );
}

/** The run of the path. Throws 404 as a `Refusal`. */
export async function storedRun(db: ApiParts['db'], runId: string): Promise<StoredRun> {
  const stored = await findRun(db, runId);
  if (stored === null) throw noRun();
  return stored;
}

export function noRun(): Refusal {
  return notFound('payroll run');
}

export function notOpen(): Refusal {
  return new Refusal('conflict', 'the run is not open any more: void it, and put another one');
}

/** The ETag of a run's lines as the header has it: in quotes. */
export function withEtag(reply: FastifyReply, etag: string): FastifyReply {
  return reply.header('etag', `"${etag}"`);
}

const checkBody = compileValidator({ schema: RunBody, method: '', url: '', httpPart: 'body' });

/** The run that a body asks for. Throws 422 as a `Refusal`, which names each field. */
function runIn(body: unknown): StatedRun {
  const checked = checkBody(body) as { error?: Refusal };
  if (checked.error !== undefined) throw broken('run-refused', checked.error.errors);
  const asked = runOf(body);
  if (!asked.ok) throw broken('run-refused', asked.problems);
  return asked.run;
}

const Verification = closed(
  {
    identical: Type.Boolean({ description: 'Every line comes out as it was frozen.' }),
    lines: Type.Integer({ description: 'Lines that were frozen.' }),
    difference_count: Type.Integer({ description: 'All that differs.' }),
    differences: Type.Array(
      closed({
        employee_id: Type.String({ description: 'Whose.' }),
        line: nullable(
          Type.String({
            description: "Kind, deduction and run of the line; null: the employee's being in the run.",
          }),
        ),
        frozen: Type.Unknown({ description: 'As it was frozen; null when it was not.' }),
        computed: Type.Unknown({ description: 'As it is computed; null when it is not.' }),
      }),
      { description: 'The first of them.' },
    ),
  },
  'Whether a finalized run comes out the same again.',
);

/** Whether a run can be trusted: before it is finalized, and ever after. */
export function payrollRunProofRoutes(app: Api, { db, now, overdueMs, silentAfterMs }: ApiParts): void {
  app.get(
    '/v1/payroll-runs/:run_id/readiness',
    {
      config: { scope: 'runs:read', refuses: ['not-found', 'conflict', 'run-refused'] },
      schema: {
        operationId: 'getPayrollRunReadiness',
        tags: ['Payroll runs'],
        summary: 'Can this payroll run be finalized?',
        description:
          'Computes an open run and runs every check, including those of the run itself. A failed check stops `finalize` unless it is accepted by name. The header `ETag` is that of the lines and the failures.',
        params: RunId,
        response: { 200: Type.Unsafe<Readiness>({ $ref: 'Readiness#' }) },
      },
    },
    async ({ params }, reply) => {
      const stored = await storedRun(db, params.run_id);
      if (stored.state !== 'open') {
        throw new Refusal(
          'conflict',
          `the run is ${stored.state}: readiness is checked before that, verify proves it afterward`,
        );
      }
      const question = { now: now(), overdueMs, silentAfterMs };
      const report = await readinessOfRun(db, bodyOf(stored), stored.run_id, question);
      withEtag(reply, report.etag);
      return viewReadiness(report);
    },
  );

  app.get(
    '/v1/payroll-runs/:run_id/verify',
    {
      config: { scope: 'runs:read', refuses: ['not-found', 'conflict'] },
      schema: {
        operationId: 'verifyPayrollRun',
        tags: ['Payroll runs'],
        summary: 'Prove a finalized payroll run',
        description:
          'Computes it again from the ledger at its position, by the options, pay dates, codes and roster frozen with it. A run that was finalized by the rules of another release is a 409.',
        params: RunId,
        response: { 200: named(app, 'Verification', Verification) },
      },
    },
    async ({ params }) => {
      const stored = await storedRun(db, params.run_id);
      if (stored.state === 'open') {
        throw new Refusal('conflict', 'the run is open, so nothing is frozen yet: finalize it first');
      }
      const otherRules = whyOtherRules(stored);
      if (otherRules !== null) throw new Refusal('conflict', otherRules);
      return verifyRun(db, stored);
    },
  );
}
