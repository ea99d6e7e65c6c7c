import Type, { type Static } from 'typebox';
import * as field from '../../contract/fields.ts';
import { transact } from '../../database/transaction.ts';
import {
  APPROVED_ACTIONS,
  Approval,
  approvalsOf,
  insertApproval,
  type NewApproval,
  viewApproval,
} from '../../payroll/records/approvals.ts';
import { bodyOf, type StoredRun, stateOf } from '../../payroll/records/runs.ts';
import {
  SecondApproval,
  SecondApprovalRequest,
  setApproval,
  viewApprovalSetting,
} from '../../payroll/settings/approval.ts';
import { lockPayroll } from '../../payroll/settings/lock.ts';
import { readinessOfRun } from '../../readiness/run-report.ts';
import { actingIn, by } from '../auth.ts';
import { ifMatchOf } from '../headers.ts';
import { invalid, Refusal } from '../problem.ts';
import { type Api, type ApiParts, operation } from '../route.ts';
import { RunId } from '../run-schemas.ts';
import { EmployerId } from './censuses.ts';
import { acceptField, acceptProblems, notFinalized, notReady, reviewAgain } from './payroll-run-work.ts';
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

const Approvals = field.component(
  'PayrollRunApprovals',
  { approvals: Type.Array(Approval, { description: 'The newest first.' }) },
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
      description: 'Lists them newest first. An approval ends when a line changes or another finding fails.',
      params: RunId,
      response: { 200: Approvals },
      refuses: ['NOT_FOUND'],
    }),
    async ({ params }) => {
      const { run_id } = await storedRun(db, params.run_id);
      return { approvals: (await approvalsOf(db, run_id)).map(viewApproval) };
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
      refuses: ['NOT_FOUND', 'CONFLICT', 'READINESS_FAILED', 'PRECONDITION_FAILED', 'RUN_REFUSED'],
    }),
    async (request, reply) => {
      const { caller, params, body } = request;
      const person = caller?.person ?? null;
      if (person === null) throw needsPerson('An approval');
      const stored = await storedRun(db, params.run_id);
      const ifMatch = ifMatchOf(request.headers['if-match']);
      const reviewed =
        body.action === 'void' ? finalLines(stored, body, ifMatch) : await openLines(stored, body, ifMatch);
      const { run_id: runId, employer_id: employerId } = stored;
      const { action, reason } = body;
      const approval: NewApproval = { runId, employerId, action, person, reason, ...reviewed };
      const acting = actingIn(request, now());
      const id = await transact(db, async (trx) => {
        await lockPayroll(trx);
        const state = await stateOf(trx, runId);
        if (state === undefined) throw noRun();
        if (state !== stored.state) throw state === 'open' ? notOpen() : notFinalized({ state });
        return insertApproval(trx, approval, acting);
      });
      log.info({ run_id: runId, employer_id: employerId, ...by(request) }, 'a payroll run was approved');
      const given = (await approvalsOf(db, runId)).find(({ recordId }) => recordId === id);
      if (given === undefined) throw noRun();
      return reply.code(201).send(viewApproval(given));
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
    ({ params }) => viewApprovalSetting(db, params.employer_id),
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
      return viewApprovalSetting(db, employer_id);
    },
  );

  /** Returns the open lines and the findings that were reviewed. */
  async function openLines(
    stored: StoredRun,
    { accept = [] }: Static<typeof Approving>,
    ifMatch: string | null,
  ): Promise<Pick<NewApproval, 'etag' | 'checks' | 'findings'>> {
    if (stored.state !== 'open') throw notOpen();
    if (ifMatch === null)
      throw invalid([
        { path: 'if-match', rule: 'must be the ETag of the readiness report that was reviewed' },
      ]);
    const problems = acceptProblems(accept);
    if (problems.length > 0) throw invalid(problems);
    const report = await readinessOfRun(db, bodyOf(stored), stored.run_id, await questionOf(parts));
    if (report.etag !== ifMatch) {
      const detail = `The run changed since it was reviewed. Review it again, then send the ETag of its readiness report, "${report.etag}".`;
      throw reviewAgain(report.etag, detail);
    }
    const findings = report.acceptable.filter(({ checkId }) => accept.includes(checkId));
    if (report.acceptable.some((finding) => finding.result === 'fail' && !findings.includes(finding)))
      throw notReady(report);
    return { etag: report.etag.split('.')[0] as string, checks: accept, findings };
  }
}

/** Returns the lines of a final run. */
function finalLines(
  stored: StoredRun,
  { accept }: Static<typeof Approving>,
  ifMatch: string | null,
): Pick<NewApproval, 'etag' | 'checks' | 'findings'> {
  if (stored.state !== 'finalized') throw notFinalized(stored);
  if (accept !== undefined)
    throw invalid([{ path: 'accept', rule: 'must be omitted: voiding accepts no findings' }]);
  const etag = stored.etag as string;
  if (ifMatch !== null && ifMatch !== etag)
    throw reviewAgain(etag, 'This is not the ETag of the final lines. Review the run again.');
  return { etag, checks: [], findings: [] };
}

function needsPerson(what: string): Refusal {
  return new Refusal(
    'FORBIDDEN',
    `${what} needs a token of a person. Create one with "benefits-sidecar token create --person", or sign in with OpenID Connect.`,
  );
}
