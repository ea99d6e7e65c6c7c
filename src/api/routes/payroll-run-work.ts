import Type, { type Static } from 'typebox';
import { transact } from '../../database/transaction.ts';
import { keyProblem } from '../../employment/key.ts';
import type { ReadinessReport } from '../../payroll/readiness.ts';
import { settledBy } from '../../payroll/runs/compute.ts';
import type { Finalized } from '../../payroll/runs/finalize.ts';
import { finalizeChecked } from '../../payroll/runs/finalize-gate.ts';
import { type StoredRun, viewRun, voidRun } from '../../payroll/runs/store.ts';
import { by } from '../auth.ts';
import { ifMatchOf } from '../if-match.ts';
import type { ApiParts } from '../parts.ts';
import { invalid, Refusal } from '../problem.ts';
import { PayrollRun, RunId } from '../run-schemas.ts';
import { runOfView } from '../run-view.ts';
import { type Api, closed } from '../schemas.ts';
import { bodyMayBeLeftOut } from '../validation.ts';
import { noRun, notOpen, RunAnswer, storedRun, withEtag } from './payroll-runs.ts';

const REASON_MAX_CHARACTERS = 500;

const reason = (description: string) =>
  Type.String({
    pattern: '\\S',
    maxLength: REASON_MAX_CHARACTERS,
    rule: `must say why, in at most ${REASON_MAX_CHARACTERS} characters`,
    description,
  });

const Finalizing = closed(
  {
    force: Type.Optional(
      Type.Boolean({
        rule: 'must be true or false',
        description: 'Finalize although a check of readiness fails.',
      }),
    ),
    reason: Type.Optional(reason('Why it is to stand all the same. Kept with the run when a check failed.')),
  },
  'May be left out.',
);
type Finalizing = Static<typeof Finalizing>;

const Voiding = closed({ reason: reason('Why the run is taken back. Kept with it.') }, 'Why.');

const Voided = closed(
  {
    ...PayrollRun.properties,
    settled_by: Type.Array(Type.String(), {
      description: 'The later finalized runs that settled something for this run, by pay date.',
    }),
  },
  'A voided payroll run.',
);

/** What people do with a run that they have reviewed, and with one that was wrong. */
export function payrollRunWorkRoutes(app: Api, { db, now, log, overdueMs }: ApiParts): void {
  app.post(
    '/v1/payroll-runs/:run_id/finalize',
    {
      config: {
        scope: 'runs:write',
        refuses: ['not-found', 'conflict', 'readiness-failed', 'precondition-failed', 'run-refused'],
      },
      validatorCompiler: bodyMayBeLeftOut,
      schema: {
        operationId: 'finalizePayrollRun',
        tags: ['Payroll runs'],
        summary: 'Finalize a payroll run',
        description:
          'Freezes its lines with all that they were computed from. With `If-Match` only the lines of that ETag: ' +
          'others are answered 412 with the present one. A failed check of readiness is answered 409 with its name, ' +
          'unless `force` is given with a reason. A repeat with the ETag that was finalized, or with the same ' +
          '`Idempotency-Key`, returns the run.',
        params: RunId,
        headers: Type.Object({
          'if-match': Type.Optional(
            Type.String({ description: 'The ETag of the lines that were reviewed.' }),
          ),
          'idempotency-key': Type.Optional(
            Type.String({ description: 'A repeat with the same key returns the finalized run.' }),
          ),
        }),
        body: Finalizing,
        response: { 200: RunAnswer },
      },
    },
    async (request, reply) => {
      const { run_id } = request.params;
      const finalized = await finalizeChecked(db, run_id, {
        ifMatch: ifMatchOf(request.headers['if-match']),
        idempotencyKey: idempotencyKeyOf(request.headers['idempotency-key']),
        force: forceOf(request.body ?? {}),
        question: { now: now(), overdueMs },
      });
      if (!('stored' in finalized)) throw await refusalOf(finalized, run_id);
      const { stored } = finalized;
      const view = await viewRun(db, stored);
      if (finalized.outcome === 'finalized') {
        const fields = { run_id, employer_id: stored.employer_id, count: view.totals.lines, ...by(request) };
        log.info(fields, `a payroll run was finalized${stored.force_reason === null ? '' : ' by force'}`);
      }
      withEtag(reply, view.etag);
      return runOfView(db, view, stored);
    },
  );

  app.post(
    '/v1/payroll-runs/:run_id/void',
    {
      config: { scope: 'runs:write', refuses: ['not-found', 'conflict'] },
      schema: {
        operationId: 'voidPayrollRun',
        tags: ['Payroll runs'],
        summary: 'Take a finalized payroll run back',
        description:
          'It stays readable and counts as nothing: its pay date is free again, and what it settled of earlier runs is due again. ' +
          '`settled_by` names the later finalized runs that settled something for it.',
        params: RunId,
        body: Voiding,
        response: { 200: Voided },
      },
    },
    async (request, reply) => {
      const { run_id } = request.params;
      const { reason } = request.body;
      const at = now().toISOString();
      const outcome = await transact(db, (trx) => voidRun(trx, run_id, { reason, now: at }));
      if (outcome === 'unknown') throw noRun();
      const stored = await storedRun(db, run_id);
      if (outcome === 'not-finalized') throw notFinalized(stored);
      const view = await viewRun(db, stored);
      const fields = { run_id, employer_id: stored.employer_id, count: view.totals.lines, ...by(request) };
      log.info(fields, 'a payroll run was voided');
      withEtag(reply, view.etag);
      return { ...(await runOfView(db, view, stored)), settled_by: await settledBy(db, stored) };
    },
  );

  async function refusalOf(
    finalized: Exclude<Finalized, { stored: unknown }>,
    runId: string,
  ): Promise<Refusal> {
    switch (finalized.outcome) {
      case 'unknown':
        return noRun();
      case 'not-open':
        return notOpen();
      case 'stale':
        return stale((await viewRun(db, await storedRun(db, runId))).etag);
      case 'changed':
        return new Refusal('conflict', 'payroll changed while the run was frozen: look at it, then finalize');
      case 'date-taken':
        return new Refusal(
          'conflict',
          `the run ${finalized.by} is finalized for this pay date, frequency and pay group: void it first, or delete this one`,
        );
      case 'not-ready':
        return notReady(finalized.report);
    }
  }
}

/** The answer has the ETag of the lines as they are by now, so that they can be reviewed. */
function stale(etag: string): Refusal {
  const detail = `the lines changed since they were reviewed: review them, then send their ETag, "${etag}" by now`;
  return new Refusal('precondition-failed', detail, { headers: { etag: `"${etag}"` } });
}

/** Why a route that needs a finalized run refuses this one. */
export function notFinalized({ state }: StoredRun): Refusal {
  const todo = state === 'open' ? 'finalize it first' : 'put another run in its place';
  return new Refusal('conflict', `the run is ${state}: ${todo}`);
}

function notReady({ checks }: ReadinessReport): Refusal {
  const failed = checks.filter((check) => check.result === 'fail');
  const detail = `readiness fails: ${failed.map(({ id }) => id).join(', ')}; mend what it names, or finalize with force and a reason`;
  return new Refusal('readiness-failed', detail, {
    errors: failed.map(({ id, count, advice }) => ({ path: id, rule: `${count} found. ${advice}` })),
  });
}

function idempotencyKeyOf(header: string | undefined): string | null {
  if (header === undefined) return null;
  const problem = keyProblem('Idempotency-Key', header);
  if (problem !== null) throw invalid([problem]);
  return header;
}

function forceOf({ force, reason }: Finalizing): { reason: string } | null {
  if (force === true) {
    if (reason === undefined) throw invalid([{ path: 'reason', rule: 'is required with force' }]);
    return { reason };
  }
  if (reason !== undefined) throw invalid([{ path: 'reason', rule: 'is for force: true' }]);
  return null;
}
