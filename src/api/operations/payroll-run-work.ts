import Type, { type Static } from 'typebox';
import type { ReadinessReport } from '../../checks.ts';
import * as field from '../../contract/fields.ts';
import type { Db } from '../../database/tables.ts';
import { transact } from '../../database/transaction.ts';
import { type Problem, unknownResource } from '../../errors.ts';
import type { Acceptance } from '../../payroll/lifecycle/acceptances.ts';
import type { Finalized } from '../../payroll/lifecycle/finalize.ts';
import { viewRun } from '../../payroll/lifecycle/results.ts';
import { PayrollRun, viewStoredRun } from '../../payroll/lifecycle/run-view.ts';
import { CONCERNED, concernedByVoid } from '../../payroll/reconciliation/concerned-by-void.ts';
import { approvalMissing } from '../../payroll/records/approvals.ts';
import { notFinalized, storedRun, voidRun } from '../../payroll/records/runs.ts';
import { settledBy } from '../../payroll/records/settlements.ts';
import { finalizeChecked, isBlocking, notAcceptable } from '../../readiness/run-report.ts';
import { actingIn, alsoNeeds } from '../auth.ts';
import { Answer, operation, type Parts } from '../operation.ts';
import { conflict, invalid, Refusal } from '../problem.ts';
import { RunId } from '../run-schemas.ts';
import { runHeaders } from './payroll-runs.ts';
import { questionOf } from './readiness.ts';

export const acceptField = Type.Optional(
  // No check has a longer id, and an error quotes it.
  Type.Array(Type.String({ maxLength: 100, description: 'The ID of a check.' }), {
    uniqueItems: true,
    rule: 'must be a list of different check IDs',
    description:
      'The checks whose findings are accepted: failures and, to have them remembered, warnings that name versions, events or dates. ' +
      'Send the ETag of the readiness report that was reviewed as `If-Match`.',
  }),
);

const Finalizing = field.component(
  'FinalizeRequest',
  {
    accept: acceptField,
    reason: Type.Optional(
      field.reasonField('Why the findings are accepted. Kept with the run and with each finding.'),
    ),
  },
  'Accepted readiness findings.',
);

const VoidEffects = field.component(
  'VoidEffects',
  {
    settled_by: Type.Array(Type.String(), {
      description: 'The later finalized runs that settled an amount of this run, by pay date.',
    }),
    ...CONCERNED,
  },
  'What voiding a run concerns besides the run.',
);

const Voided = field.component(
  'VoidedPayrollRun',
  { ...PayrollRun.properties, ...VoidEffects.properties },
  'A voided payroll run.',
);

async function effectsOfVoid(db: Db, runId: string) {
  return { settled_by: await settledBy(db, runId), ...(await concernedByVoid(db, runId)) };
}

export const finalizePayrollRun = operation({
  id: 'finalizePayrollRun',
  group: 'Payroll runs',
  method: 'POST',
  path: '/v1/payroll-runs/:run_id/finalize',
  scope: 'runs:write',
  employers: 'run',
  action: 'run.finalize',
  summary: 'Finalize a payroll run',
  description:
    'Freezes its lines with everything they were computed from. `If-Match` takes the ETag of the run or of its ' +
    'readiness report that was reviewed; without it the response is 428, and if the lines changed since, 412 with the current ETag. A failed readiness ' +
    'check is a 409 that names it, unless `accept` names the check: then `If-Match` must be the ETag of the ' +
    'readiness report, and the token needs the scope `runs:approve` too. An accepted finding stays accepted until its versions or events change. A repeat ' +
    'with the ETag that was finalized, or with the same `Idempotency-Key`, returns the run.',
  params: RunId,
  headers: Type.Object({
    'if-match': Type.Optional(field.text('The ETag of the run or readiness report that was reviewed.')),
    'idempotency-key': Type.Optional(field.text('A repeat with the same key returns the finalized run.')),
  }),
  body: Finalizing,
  response: { 200: PayrollRun },
  refuses: [
    'NOT_FOUND',
    'CONFLICT',
    'READINESS_FAILED',
    'APPROVAL_MISSING',
    'PRECONDITION_FAILED',
    'PRECONDITION_REQUIRED',
    'RUN_REFUSED',
  ],
  isBodyOptional: true,
  runWork: 'finalize',
  async run(call, parts) {
    const { db, sharedNow } = parts;
    const { caller, params, ifMatch, idempotencyKey } = call;
    const accept = acceptanceOf(call.body);
    if (accept !== null) alsoNeeds(call, 'runs:approve');
    const finalized = await finalizeChecked(db, params.run_id, {
      ...{ ifMatch, idempotencyKey, accept, sharedNow },
      actor: call.actor(),
      person: caller?.person ?? null,
      question: await questionOf(parts),
    });
    if (!('stored' in finalized)) throw await refusalOf(finalized, db, params.run_id, accept);
    const { stored } = finalized;
    const run = await viewStoredRun(db, await viewRun(db, stored), stored);
    const isUnchanged = finalized.outcome === 'repeated';
    if (!isUnchanged) await parts.keepHead();
    return new Answer(run, { headers: runHeaders(run), isUnchanged });
  },
  logs: (_call, run) => {
    const how = run.accept_reason === null ? '' : ' with accepted findings';
    return [fieldsOf(run), `a payroll run was finalized${how}`];
  },
});

export const voidPayrollRun = operation({
  id: 'voidPayrollRun',
  group: 'Payroll runs',
  method: 'POST',
  path: '/v1/payroll-runs/:run_id/void',
  scope: 'runs:approve',
  employers: 'run',
  action: 'run.void',
  summary: 'Void a finalized payroll run',
  description:
    'A voided run remains readable but no longer counts: its pay date is free again, and the amounts it settled for earlier runs are due again. ' +
    '`settled_by` names the later finalized runs that settled an amount of it. Report the amounts of `taken_reports` again for the run that replaces it.',
  params: RunId,
  body: field.component(
    'VoidRequest',
    { reason: field.reasonField('The reason for voiding the run. It is stored with the run.') },
    'The reason for voiding a run.',
  ),
  response: { 200: Voided },
  refuses: ['NOT_FOUND', 'CONFLICT', 'APPROVAL_MISSING'],
  async run(call, { db, now }) {
    const { run_id } = call.params;
    const how = { reason: call.body.reason, person: call.caller?.person ?? null, ...actingIn(call, now()) };
    await transact(db, (trx) => voidRun(trx, run_id, how));
    const stored = await storedRun(db, run_id);
    const run = await viewStoredRun(db, await viewRun(db, stored), stored);
    const voided = { ...run, ...(await effectsOfVoid(db, run_id)) };
    return new Answer(voided, { headers: runHeaders(run) });
  },
  logs: (_call, run) => [fieldsOf(run), 'a payroll run was voided'],
});

export const previewVoidOfPayrollRun = operation({
  id: 'previewVoidOfPayrollRun',
  group: 'Payroll runs',
  method: 'GET',
  path: '/v1/payroll-runs/:run_id/void',
  scope: 'runs:read',
  employers: 'run',
  summary: 'Preview the void of a payroll run',
  description: 'Returns what voiding a finalized run concerns besides the run. Changes nothing.',
  params: RunId,
  response: { 200: VoidEffects },
  refuses: ['NOT_FOUND', 'CONFLICT'],
  async run({ params }, { db }) {
    const stored = await storedRun(db, params.run_id);
    if (stored.state !== 'finalized') throw notFinalized(stored);
    return effectsOfVoid(db, params.run_id);
  },
});

function fieldsOf({ id, employer_id, totals }: PayrollRun) {
  return { run_id: id, employer_id, count: totals.lines };
}

async function refusalOf(
  finalized: Exclude<Finalized, { stored: unknown }>,
  db: Parts['db'],
  id: string,
  accept: Acceptance | null,
): Promise<Error> {
  switch (finalized.outcome) {
    case 'unknown':
      return unknownResource('payroll run');
    case 'not-open':
      return notFinalized(await storedRun(db, id));
    case 'etag-missing':
      return etagRequired('run or readiness report');
    case 'stale': {
      const stored = await storedRun(db, id);
      const { etag } = await viewRun(db, stored);
      const detail =
        stored.state === 'open'
          ? `The lines changed since they were reviewed. Review them again, then send their current ETag, "${etag}".`
          : `The run was finalized with other lines. Their ETag is "${etag}". Review them, and void the run if they are wrong.`;
      return reviewAgain(etag, detail);
    }
    case 'changed':
      return conflict(
        'Payroll data changed while the run was being finalized. Review the run, then finalize it again.',
      );
    case 'date-taken':
      return conflict(
        `The run ${finalized.by} is already finalized for this pay date, frequency and pay group. Void it first, or delete this one.`,
      );
    case 'approval-missing':
      return approvalMissing('finalize');
    case 'not-ready':
      return notReady(finalized.report, accept?.checks);
    case 'findings-changed': {
      const { etag } = finalized.report;
      const detail = `To accept findings, send the ETag of the readiness report that was reviewed. It is "${etag}" now: review it first.`;
      return reviewAgain(etag, detail);
    }
  }
}

/** Returns the refusal of lines for the failed checks that the request does not accept. */
export function notReady({ checks }: ReadinessReport, accept: readonly string[] = []): Refusal {
  const failed = checks.filter(({ id, result }) => result === 'fail' && !accept.includes(id));
  const todo = failed.some(({ id }) => isBlocking(id))
    ? 'Fix what the readiness report lists.'
    : 'Fix what the readiness report lists, or accept each check by name with a reason.';
  const detail = `These readiness checks fail: ${failed.map(({ id }) => id).join(', ')}. ${todo}`;
  const problems = failed.map(({ id, count, advice }) => ({ path: id, rule: `${count} found. ${advice}` }));
  return new Refusal('READINESS_FAILED', detail, { problems });
}

/** Returns a refusal with the current ETag, for another attempt after a review. */
export function reviewAgain(etag: string, detail: string): Refusal {
  return new Refusal('PRECONDITION_FAILED', detail, { headers: { etag: `"${etag}"` } });
}

/** Returns the refusal of a request without the ETag of what was reviewed. */
export function etagRequired(reviewed: string): Refusal {
  return new Refusal(
    'PRECONDITION_REQUIRED',
    `Send the ETag of the ${reviewed} that was reviewed as If-Match, so that nothing else is accepted.`,
  );
}

/** Returns the problem of unknown checks. */
export function acceptProblems(accept: readonly string[]): Problem[] {
  const wrong = notAcceptable(accept);
  if (wrong.length === 0) return [];
  const rule = `must name checks of the readiness report that can be accepted. These cannot: ${wrong.join(', ')}`;
  return [{ path: 'accept', rule }];
}

function acceptanceOf({ accept, reason }: Static<typeof Finalizing>): Acceptance | null {
  if (accept === undefined) {
    if (reason === undefined) return null;
    throw invalid([{ path: 'reason', rule: 'must be omitted without accept' }]);
  }
  if (accept.length === 0) return null;
  const problems = acceptProblems(accept);
  if (reason === undefined) problems.push({ path: 'reason', rule: 'is required to accept findings' });
  if (reason === undefined || problems.length > 0) throw invalid(problems);
  return { checks: accept, reason };
}
