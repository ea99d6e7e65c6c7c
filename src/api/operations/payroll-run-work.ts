import Type, { type Static } from 'typebox';
import * as field from '../../contract/fields.ts';
import type { Db } from '../../database/tables.ts';
import { transact } from '../../database/transaction.ts';
import { isAppError, type Problem } from '../../errors.ts';
import type { Acceptance } from '../../payroll/lifecycle/acceptances.ts';
import { viewRun } from '../../payroll/lifecycle/results.ts';
import { PayrollRun, viewStoredRun } from '../../payroll/lifecycle/run-view.ts';
import { CONCERNED, concernedByVoid } from '../../payroll/reconciliation/concerned-by-void.ts';
import { type ApprovedAction, requestApproval } from '../../payroll/records/approvals.ts';
import { notFinalized, storedRun, voidRun } from '../../payroll/records/runs.ts';
import { settledBy } from '../../payroll/records/settlements.ts';
import { finalizeChecked, notAcceptable } from '../../readiness/run-report.ts';
import { actingIn, alsoNeeds } from '../auth.ts';
import { Answer, operation, type Parts } from '../operation.ts';
import { invalid } from '../problem.ts';
import { RunId } from '../run-schemas.ts';
import { runHeaders } from './payroll-runs.ts';
import { questionOf } from './readiness.ts';

// No check has a longer id, and an error quotes it.
export const checkId = Type.String({ maxLength: 100, description: 'The ID of a check.' });

export const ReviewedReport = Type.Object({
  'if-match': Type.Optional(field.text('The ETag of the readiness report that was reviewed.')),
});

export const acceptField = Type.Optional(
  Type.Array(checkId, {
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
  'What voiding a run affects.',
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
    const finalizing = {
      ...{ ifMatch, idempotencyKey, accept, sharedNow },
      actor: call.actor(),
      person: caller?.person ?? null,
      question: await questionOf(parts),
    };
    const { outcome, stored } = await asApproved(parts, params.run_id, 'finalize', () =>
      finalizeChecked(db, params.run_id, finalizing),
    );
    const run = await viewStoredRun(db, await viewRun(db, stored), stored);
    const isUnchanged = outcome === 'repeated';
    if (!isUnchanged) await parts.keepHead();
    return new Answer(run, { headers: runHeaders(run), isUnchanged });
  },
  logs: (_call, run) => {
    const how = run.accept_reason === null ? '' : ' with accepted findings';
    return [fieldsOf(run), `a payroll run was finalized${how}`];
  },
});

/** What a person does after voiding a run, because no later run returns what payroll took for it. */
export const AFTER_VOIDING = 'If payroll has loaded its file, remove the amounts there.';

export const voidPayrollRun = operation({
  id: 'voidPayrollRun',
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
  async run(call, parts) {
    const { db, now } = parts;
    const { run_id } = call.params;
    const how = { reason: call.body.reason, person: call.caller?.person ?? null, ...actingIn(call, now()) };
    await asApproved(parts, run_id, 'void', () => transact(db, (trx) => voidRun(trx, run_id, how)));
    const stored = await storedRun(db, run_id);
    const run = await viewStoredRun(db, await viewRun(db, stored), stored);
    const voided = { ...run, ...(await effectsOfVoid(db, run_id)) };
    return new Answer(voided, { headers: runHeaders(run) });
  },
  logs: (_call, run) => [fieldsOf(run), 'a payroll run was voided'],
});

export const previewVoidOfPayrollRun = operation({
  id: 'previewVoidOfPayrollRun',
  method: 'GET',
  path: '/v1/payroll-runs/:run_id/void',
  scope: 'runs:read',
  employers: 'run',
  summary: 'Preview the void of a payroll run',
  description:
    'Returns the runs, decisions and overrides that voiding a finalized run affects. Changes nothing.',
  params: RunId,
  response: { 200: VoidEffects },
  refuses: ['NOT_FOUND', 'CONFLICT'],
  async run({ params }, { db }) {
    const stored = await storedRun(db, params.run_id);
    if (stored.state !== 'finalized') throw notFinalized(stored);
    return effectsOfVoid(db, params.run_id);
  },
});

/** Does what a run may need an approval for, and tells that it waits for another person if it is refused for that. */
async function asApproved<Result>(
  { db, sharedNow }: Parts,
  runId: string,
  action: ApprovedAction,
  work: () => Promise<Result>,
): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (isAppError(error, 'APPROVAL_MISSING'))
      await transact(db, async (trx) => {
        const now = (await sharedNow(trx)).toISOString();
        await requestApproval(trx, await storedRun(trx, runId), action, now);
      });
    throw error;
  }
}

function fieldsOf({ id, employer_id, totals }: PayrollRun) {
  return { run_id: id, employer_id, count: totals.lines };
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
