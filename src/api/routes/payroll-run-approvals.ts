import Type, { type Static } from 'typebox';
import * as field from '../../contract/fields.ts';
import { transact } from '../../database/transaction.ts';
import type { Problem } from '../../errors.ts';
import { type Approved, approveRun, withdrawApproval } from '../../payroll/lifecycle/approve.ts';
import { APPROVED_ACTIONS, Approval, approvalsOf, viewApproval } from '../../payroll/records/approvals.ts';
import { bodyOf } from '../../payroll/records/runs.ts';
import {
  SecondApproval,
  SecondApprovalRequest,
  setApproval,
  viewApprovalSetting,
} from '../../payroll/settings/approval.ts';
import { readinessOfRun } from '../../readiness/run-report.ts';
import { isSamePerson } from '../../security/tokens.ts';
import { actingIn, by } from '../auth.ts';
import { ifMatchOf } from '../headers.ts';
import { conflict, invalid, Refusal } from '../problem.ts';
import { type Api, type ApiParts, operation } from '../route.ts';
import { RunId } from '../run-schemas.ts';
import { EmployerId } from '../schemas.ts';
import {
  acceptField,
  acceptProblems,
  etagRequired,
  notFinalized,
  notReady,
  reviewAgain,
} from './payroll-run-work.ts';
import { noRun, notOpen, storedRun } from './payroll-runs.ts';
import { questionOf } from './readiness.ts';

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
});

const Approvals = field.component(
  'PayrollRunApprovals',
  { approvals: Type.Array(ListedApproval, { description: 'The newest first.' }) },
  'The approvals of a payroll run.',
);

/** Second approvals: of finalizing and voiding a run, and the setting that requires them. */
export function payrollRunApprovalRoutes(app: Api, parts: ApiParts): void {
  const { db, now, log } = parts;

  app.get(
    '/v1/payroll-runs/:run_id/approvals',
    operation('Payroll runs', 'runs:read', {
      employers: 'run',
      operationId: 'listPayrollRunApprovals',
      summary: 'List the approvals of a payroll run',
      description:
        'Lists them newest first. An approval ends when a line changes or another finding fails, when its giver withdraws it, and with the token that gave it.',
      params: RunId,
      response: { 200: Approvals },
      refuses: ['NOT_FOUND'],
    }),
    async ({ params, caller }) => {
      const { run_id } = await storedRun(db, params.run_id);
      const person = caller?.person ?? null;
      const approvals = (await approvalsOf(db, run_id, now().toISOString())).map((approval) => {
        const is_yours = person !== null && isSamePerson(approval.person, person);
        return { ...viewApproval(approval), is_yours };
      });
      return { approvals };
    },
  );

  app.post(
    '/v1/payroll-runs/:run_id/approval',
    operation('Payroll runs', 'runs:approve', {
      employers: 'run',
      operationId: 'approvePayrollRun',
      action: 'run.approve',
      summary: 'Approve finalizing or voiding a payroll run',
      description:
        'Needed if the employer requires a second approval. Another person then finalizes or voids the run. To approve finalizing, send the ' +
        'ETag of the readiness report that was reviewed as `If-Match`, and name each failed check in `accept`. The approval covers the lines ' +
        'and the findings of this report. The token must belong to a person.',
      params: RunId,
      headers: Type.Object({
        'if-match': Type.Optional(field.text('The ETag of the readiness report that was reviewed.')),
      }),
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
    }),
    async (request, reply) => {
      const { caller, params, body } = request;
      const person = caller?.person ?? null;
      if (person === null) throw needsPerson('An approval');
      const { action, reason } = body;
      const ifMatch = ifMatchOf(request.headers['if-match']);
      const problems = approvingProblems(body);
      if (problems.length > 0) throw invalid(problems);
      if (action === 'finalize' && ifMatch === null) throw etagRequired('readiness report');
      const approving = { action, reason, person, ifMatch, accept: body.accept ?? [] };
      const acting = actingIn(request, now());
      const approved = await approveRun(db, params.run_id, approving, acting, async (stored) =>
        readinessOfRun(db, bodyOf(stored), stored.run_id, await questionOf(parts)),
      );
      if (approved.outcome !== 'approved') throw refusalOf(approved, action);
      const { run_id, employer_id } = approved.stored;
      log.info({ run_id, employer_id, ...by(request) }, 'a payroll run was approved');
      return reply.code(201).send(viewApproval(approved.approval));
    },
  );

  app.delete(
    '/v1/payroll-runs/:run_id/approval',
    operation('Payroll runs', 'runs:approve', {
      employers: 'run',
      operationId: 'withdrawPayrollRunApproval',
      action: 'run.approval-withdraw',
      summary: 'Withdraw your approval of a payroll run',
      description:
        'Ends every approval of the run that the person of the token gave. A run that was finalized or voided with it stays so.',
      params: RunId,
      response: { 204: Type.Null({ description: 'The approval no longer counts.' }) },
      refuses: ['NOT_FOUND', 'CONFLICT'],
    }),
    async (request, reply) => {
      const { caller, params } = request;
      await storedRun(db, params.run_id);
      const person = caller?.person ?? null;
      if (person === null) throw needsPerson('An approval');
      const withdrawn = await withdrawApproval(db, params.run_id, person, actingIn(request, now()));
      if (withdrawn.outcome === 'unknown') throw noRun();
      if (withdrawn.outcome === 'none') throw conflict('You have given no approval of this run that counts.');
      const { run_id, employer_id } = withdrawn.stored;
      log.info({ run_id, employer_id, ...by(request) }, 'an approval of a payroll run was withdrawn');
      return reply.code(204).send(null);
    },
  );

  app.get(
    '/v1/employers/:employer_id/second-approval',
    operation('Payroll settings', 'runs:read', {
      employers: 'employer',
      operationId: 'getSecondApproval',
      summary: 'Get whether the runs of an employer need a second approval',
      description: 'Without the setting, they do not.',
      params: EmployerId,
      response: { 200: SecondApproval },
    }),
    ({ params, caller }) =>
      viewApprovalSetting(db, params.employer_id, now().toISOString(), caller?.person ?? null),
  );

  app.put(
    '/v1/employers/:employer_id/second-approval',
    operation('Payroll settings', 'runs:approve', {
      employers: 'employer',
      operationId: 'putSecondApproval',
      action: 'approval-setting.put',
      summary: 'Require a second approval, or stop requiring it',
      description:
        'Requiring it takes effect at once, for open and finalized runs. To stop requiring it, two persons send `required: false`: the first ' +
        'request waits in `switching_off`, and `required: true` withdraws it.',
      params: EmployerId,
      body: SecondApprovalRequest,
      response: { 200: SecondApproval },
    }),
    async (request) => {
      const { employer_id } = request.params;
      const setting = { ...request.body, person: request.caller?.person ?? null };
      const acting = actingIn(request, now());
      const outcome = await transact(db, (trx) => setApproval(trx, employer_id, setting, acting));
      if (outcome === 'person-missing') throw needsPerson('Switching second approval off');
      if (outcome !== 'same') log.info({ employer_id, ...by(request) }, 'second approval was set');
      return viewApprovalSetting(db, employer_id, acting.now, setting.person);
    },
  );
}

/** Returns the problems of a request that no run can resolve. */
function approvingProblems({ action, accept }: Static<typeof Approving>): Problem[] {
  if (action === 'finalize') return acceptProblems(accept ?? []);
  const rule = 'must be omitted: voiding accepts no findings';
  return accept === undefined ? [] : [{ path: 'accept', rule }];
}

function refusalOf(
  refused: Exclude<Approved, { outcome: 'approved' }>,
  action: Static<typeof Approving>['action'],
): Refusal {
  switch (refused.outcome) {
    case 'unknown':
      return noRun();
    case 'wrong-state':
      return action === 'void' ? notFinalized(refused) : notOpen();
    case 'not-ready':
      return notReady(refused.report);
    case 'changed': {
      const { etag } = refused;
      const detail =
        action === 'void'
          ? 'This is not the ETag of the final lines. Review the run again.'
          : `The run changed since it was reviewed. Review it again, then send the ETag of its readiness report, "${etag}".`;
      return reviewAgain(etag, detail);
    }
  }
}

function needsPerson(what: string): Refusal {
  return new Refusal(
    'FORBIDDEN',
    `${what} needs a token of a person. Create one with "benefits-sidecar token create --person", or sign in with OpenID Connect.`,
  );
}
