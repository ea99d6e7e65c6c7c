import Type from 'typebox';
import * as field from '../../contract/fields.ts';
import { etagRequired } from '../../payroll/lifecycle/reviewed.ts';
import { acceptChecked } from '../../readiness/run-report.ts';
import { actingIn } from '../auth.ts';
import { Answer, operation } from '../operation.ts';
import { invalid } from '../problem.ts';
import { RunId } from '../run-schemas.ts';
import { acceptProblems, checkId, ReviewedReport } from './payroll-run-work.ts';
import { questionOf } from './readiness.ts';

const Accepting = field.component(
  'AcceptanceRequest',
  {
    accept: Type.Array(checkId, {
      ...{ minItems: 1, uniqueItems: true },
      rule: 'must be a list of at least one check ID, each once',
      description:
        'The checks whose findings are accepted: failures, and warnings that name versions, events or dates.',
    }),
    reason: field.reasonField('Why the findings are accepted. Kept with each finding.'),
  },
  'An acceptance of the readiness findings of an open run.',
);

const Accepted = field.component(
  'AcceptedFindings',
  {
    run_id: field.text('The run.'),
    accepted_checks: Type.Array(Type.String(), { description: 'The checks whose findings are accepted.' }),
    findings: field.integer('The number of accepted findings.'),
  },
  'Readiness findings of a run that are now accepted.',
);

export const acceptFindings = operation({
  id: 'acceptFindings',
  method: 'POST',
  path: '/v1/payroll-runs/:run_id/acceptances',
  scope: 'runs:approve',
  employers: 'run',
  action: 'run.accept-findings',
  summary: 'Accept readiness findings of an open payroll run',
  description:
    'Finalizing then needs no `accept` for these findings. A finding with `ids` stays accepted for the employer until its versions or ' +
    'events change, and a finding without `ids` for this run while it is the same. `If-Match` takes the ETag of the readiness report that was ' +
    'reviewed. Deleting the run removes its acceptances. If the employer requires a second approval, accept findings with the approval instead.',
  params: RunId,
  headers: ReviewedReport,
  body: Accepting,
  response: { 201: Accepted },
  refuses: ['NOT_FOUND', 'CONFLICT', 'PRECONDITION_FAILED', 'PRECONDITION_REQUIRED', 'RUN_REFUSED'],
  async run(call, parts) {
    const { params, ifMatch, body } = call;
    const { accept, reason } = body;
    const problems = acceptProblems(accept);
    if (problems.length > 0) throw invalid(problems);
    if (ifMatch === null) throw etagRequired('readiness report');
    const accepting = { checks: accept, reason, ifMatch, ...actingIn(call, parts.now()) };
    const question = await questionOf(parts);
    const { stored, count } = await acceptChecked(parts.db, params.run_id, accepting, question);
    const { run_id, employer_id } = stored;
    return new Answer(
      { run_id, accepted_checks: accept, findings: count },
      { logged: { employer_id, count } },
    );
  },
  logs: ({ params }) => [params, 'findings of a payroll run were accepted'],
});
