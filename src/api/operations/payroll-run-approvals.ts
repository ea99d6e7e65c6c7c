import Type, { type Static } from 'typebox';
import * as field from '../../contract/fields.ts';
import { transact } from '../../database/transaction.ts';
import { isAppError, type Problem } from '../../errors.ts';
import { approveRun, withdrawApproval } from '../../payroll/lifecycle/approve.ts';
import { etagRequired, linesEtagOf } from '../../payroll/lifecycle/reviewed.ts';
import {
  APPROVAL_ENDS,
  APPROVED_ACTIONS,
  Approval,
  type ApprovalEnd,
  approvalsOf,
  viewApproval,
  whyEnded,
} from '../../payroll/records/approvals.ts';
import { bodyOf, type StoredRun, storedRun } from '../../payroll/records/runs.ts';
import {
  SecondApproval,
  SecondApprovalRequest,
  setApproval,
  viewApprovalSetting,
} from '../../payroll/settings/approval.ts';
import { readinessOfRun } from '../../readiness/run-report.ts';
import { isSamePerson } from '../../security/tokens.ts';
import { actingIn } from '../auth.ts';
import { Answer, operation, type Parts } from '../operation.ts';
import { invalid, Refusal } from '../problem.ts';
import { RunId } from '../run-schemas.ts';
import { EmployerId } from '../schemas.ts';
import { acceptField, acceptProblems, ReviewedReport } from './payroll-run-work.ts';
import { questionOf, readinessOfReviewed } from './readiness.ts';

const Approving = field.component(
  'ApprovalRequest',
  {
    action: { ...field.oneOf(APPROVED_ACTIONS), description: 'What another person may do with the run.' },
    accept: acceptField,
    reason: field.reasonField('The reason. With accepted findings, it is kept with each of them.'),
  },
  'An approval of finalizing or voiding a run.',
);

const ListedApproval = field.closed({
  ...Approval.properties,
  is_yours: field.boolean('You gave it, so another person must finalize or void the run.'),
  no_longer_counts: field.nullable(
    field.oneOfDescribed(
      APPROVAL_ENDS,
      'Why it no longer counts: `ended`, see `ended_at`; `lines_changed`: a line of the open run changed since, or the run cannot be ' +
        'computed; `finding_failed`: a finding fails that it does not accept. Null while it counts, and if the run became final or void with it.',
    ),
  ),
});

/** Why an approval does not count, for people. */
export const ENDS_IN_WORDS: Readonly<Record<ApprovalEnd, string>> = {
  ended: 'ended',
  lines_changed: 'a line changed',
  finding_failed: 'another finding fails',
};

const Approvals = field.component(
  'PayrollRunApprovals',
  { approvals: Type.Array(ListedApproval, { description: 'The newest first.' }) },
  'The approvals of a payroll run.',
);

export const listPayrollRunApprovals = operation({
  id: 'listPayrollRunApprovals',
  method: 'GET',
  path: '/v1/payroll-runs/:run_id/approvals',
  scope: 'runs:read',
  employers: 'run',
  summary: 'List the approvals of a payroll run',
  description:
    'Lists them newest first. An approval ends when a line changes or another finding fails, when its giver withdraws it, and with the token that gave it.',
  params: RunId,
  response: { 200: Approvals },
  refuses: ['NOT_FOUND'],
  async run({ params, caller }, parts) {
    const { db, now } = parts;
    const stored = await storedRun(db, params.run_id);
    const person = caller?.person ?? null;
    const approvals = await approvalsOf(db, stored.run_id, now().toISOString());
    const isAnyOpen = stored.state === 'open' && approvals.some(({ ended_at }) => ended_at === null);
    const covered = isAnyOpen ? await toApprove(parts, stored) : null;
    return {
      approvals: approvals.map((approval) => ({
        ...viewApproval(approval),
        is_yours: person !== null && isSamePerson(approval.person, person),
        no_longer_counts: whyEnded(approval, covered ?? { etag: approval.etag, failed: [] }),
      })),
    };
  },
});

export const approvePayrollRun = operation({
  id: 'approvePayrollRun',
  method: 'POST',
  path: '/v1/payroll-runs/:run_id/approval',
  scope: 'runs:approve',
  employers: 'run',
  action: 'run.approve',
  summary: 'Approve finalizing or voiding a payroll run',
  description:
    'Needed if the employer requires a second approval. Another person then finalizes or voids the run. To approve finalizing, send the ' +
    'ETag of the readiness report that was reviewed as `If-Match`, and name each failed check in `accept`. The approval covers the lines ' +
    'and the findings of this report. The token must belong to a person.',
  params: RunId,
  headers: ReviewedReport,
  body: Approving,
  response: { 201: Approval },
  refuses: [
    'NOT_FOUND',
    'CONFLICT',
    'READINESS_FAILED',
    'PRECONDITION_FAILED',
    'PRECONDITION_REQUIRED',
    'RUN_REFUSED',
  ],
  async run(call, parts) {
    const { db, now } = parts;
    const { caller, params, ifMatch, body } = call;
    const person = caller?.person ?? null;
    if (person === null) throw needsPerson('An approval');
    const { action, reason } = body;
    const problems = approvingProblems(body);
    if (problems.length > 0) throw invalid(problems);
    if (action === 'finalize' && ifMatch === null) throw etagRequired('readiness report');
    const approving = { action, reason, person, ifMatch, accept: body.accept ?? [] };
    const acting = actingIn(call, now());
    const { approval, stored } = await approveRun(db, params.run_id, approving, acting, async (run) =>
      readinessOfRun(db, bodyOf(run), run.run_id, await questionOf(parts)),
    );
    return new Answer(viewApproval(approval), { logged: { employer_id: stored.employer_id } });
  },
  logs: ({ params }) => [params, 'a payroll run was approved'],
});

export const withdrawPayrollRunApproval = operation({
  id: 'withdrawPayrollRunApproval',
  method: 'DELETE',
  path: '/v1/payroll-runs/:run_id/approval',
  scope: 'runs:approve',
  employers: 'run',
  action: 'run.approval-withdraw',
  summary: 'Withdraw your approval of a payroll run',
  description:
    'Ends every approval of the run that the person of the token gave. A run that was finalized or voided with it stays so.',
  params: RunId,
  response: { 204: Type.Null({ description: 'The approval no longer counts.' }) },
  refuses: ['NOT_FOUND', 'CONFLICT'],
  async run(call, { db, now }) {
    const { run_id } = call.params;
    await storedRun(db, run_id);
    const person = call.caller?.person ?? null;
    if (person === null) throw needsPerson('An approval');
    const { employer_id } = await withdrawApproval(db, run_id, person, actingIn(call, now()));
    return new Answer(null, { logged: { employer_id } });
  },
  logs: ({ params }) => [params, 'an approval of a payroll run was withdrawn'],
});

export const getSecondApproval = operation({
  id: 'getSecondApproval',
  method: 'GET',
  path: '/v1/employers/:employer_id/second-approval',
  scope: 'runs:read',
  employers: 'employer',
  summary: 'Get whether the runs of an employer need a second approval',
  description: 'Without the setting, they do not.',
  params: EmployerId,
  response: { 200: SecondApproval },
  run: ({ params, caller }, { db, now }) =>
    viewApprovalSetting(db, params.employer_id, now().toISOString(), caller?.person ?? null),
});

export const putSecondApproval = operation({
  id: 'putSecondApproval',
  method: 'PUT',
  path: '/v1/employers/:employer_id/second-approval',
  scope: 'runs:approve',
  employers: 'employer',
  action: 'approval-setting.put',
  summary: 'Require a second approval, or stop requiring it',
  description:
    'Requiring it takes effect at once, for open and finalized runs. To stop requiring it, two persons send `required: false`: the first ' +
    'request waits in `switching_off`, and `required: true` withdraws it.',
  params: EmployerId,
  body: SecondApprovalRequest,
  response: { 200: SecondApproval },
  async run(call, { db, now }) {
    const { employer_id } = call.params;
    const setting = { ...call.body, person: call.caller?.person ?? null };
    const acting = actingIn(call, now());
    const outcome = await transact(db, (trx) => setApproval(trx, employer_id, setting, acting));
    if (outcome === 'person-missing') throw needsPerson('Switching second approval off');
    const shown = await viewApprovalSetting(db, employer_id, acting.now, setting.person);
    return new Answer(shown, { isUnchanged: outcome === 'same' });
  },
  logs: ({ params }) => [params, 'second approval was set'],
});

/** Returns the lines and failed findings of an open run. */
async function toApprove(parts: Parts, stored: StoredRun) {
  try {
    const { etag, failed } = await readinessOfReviewed({ caller: null }, parts, stored);
    return { etag: linesEtagOf(etag), failed };
  } catch (error) {
    if (!isAppError(error, 'RUN_REFUSED')) throw error;
    return { etag: null, failed: [] };
  }
}

/** Returns the problems of a request that no run can resolve. */
function approvingProblems({ action, accept }: Static<typeof Approving>): Problem[] {
  if (action === 'finalize') return acceptProblems(accept ?? []);
  const rule = 'must be omitted: voiding accepts no findings';
  return accept === undefined ? [] : [{ path: 'accept', rule }];
}

export function needsPerson(what: string): Refusal {
  return new Refusal(
    'FORBIDDEN',
    `${what} needs a token of a person. Create one with "benefits-sidecar token create --person", or sign in with OpenID Connect.`,
  );
}
