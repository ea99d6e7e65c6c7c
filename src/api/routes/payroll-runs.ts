import type { FastifyReply } from 'fastify';
import Type from 'typebox';
import { identifier, oneOf } from '../../contract/fields.ts';
import { transact } from '../../database/transaction.ts';
import { outlineOf, runCursor, viewPreview, viewRunSummary, viewStoredRun } from '../../payroll/run-view.ts';
import { beginRun, PREVIEWED_LINES, previewWithLines } from '../../payroll/runs/begin.ts';
import { RunBody, runOf, type StatedRun } from '../../payroll/runs/body.ts';
import { deleteRun, findRun, listRuns, type StoredRun, viewRun } from '../../payroll/runs/store.ts';
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
  Totals,
} from '../run-schemas.ts';
import { type Api, closed, cursor, LIMIT_DEFAULT, limit, named, pageOf } from '../schemas.ts';
import { compileValidator, exceptBody } from '../validation.ts';

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
