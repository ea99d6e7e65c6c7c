/** Approves finalizing or voiding a run, for an employer that requires a second person. */
import {
  approvePayrollRun,
  withdrawPayrollRunApproval,
} from '../../../api/operations/payroll-run-approvals.ts';
import type { ProblemDetails } from '../../../api/problem.ts';
import { acceptedIn } from '../../elements/checks.ts';
import { later } from '../../elements/facts.ts';
import { filledForm, hiddenFields, reasonSpec } from '../../elements/fields.ts';
import { actorName } from '../../elements/format.ts';
import { address, type Query, runPath } from '../../elements/links.ts';
import { blockedBy, obstacleOf, type RunApproval, readinessOf } from '../../elements/run-readiness.ts';
import { type Html, html } from '../../html.ts';
import { type Console, mayApprove, type Visit } from '../../page.ts';
import { attempt } from '../../performing.ts';
import { approvalsOf, type Computed, placeOf, review, type Step } from './finalize.ts';
import { openFindings } from './findings.ts';
import type { Run } from './labels.ts';
import { pageOfRun, voidApprovalOf } from './state.ts';
import { voidedAmounts } from './void.ts';

const APPROVE: Step = { verb: 'approve', confirm: confirmation };

export function approvalPages(pages: Console): void {
  const { part, action, button } = pages;
  const scope = 'runs:approve';

  pageOfRun(pages, '/approve', scope, async (visit, run) => {
    if (run.state === 'finalized') return { title: 'Approve voiding', body: await approvingVoid(visit, run) };
    const body =
      run.state === 'open'
        ? later(runPath(run.id, '/approval'), 'Computing the run …')
        : html`<p>This run is voided.</p>`;
    return { title: 'Approve', body };
  });

  part('/runs/:run_id/approval', scope, (visit) => review(visit, APPROVE, {}));

  action('/runs/:run_id/approve', scope, async (act) => {
    const { api, form, params } = act;
    const { action: approved = '', reason = '', etag } = form;
    const accept = acceptedIn(form);
    const body = { action: approved, ...(accept.length > 0 && { accept }), reason };
    const call = api.perform(approvePayrollRun, { body, ifMatch: etag && `"${etag}"` });
    const { problem } = await attempt(call, 400, 409, 412);
    const runId = params.run_id ?? '';
    if (problem === undefined) return { go: address(runPath(runId), { approved }) };
    return approved === 'void' ? approvalForm(runId, form, { problem }) : review(act, APPROVE, form, problem);
  });

  button('/runs/:run_id/approval/withdraw', withdrawPayrollRunApproval, ({ run_id = '' }) =>
    address(runPath(run_id), { withdrawn: 'true' }),
  );
}

/** Returns why the user cannot approve finalizing or voiding a run, and what else the user can do; null if they can. */
function whyNot(
  runId: string,
  approval: RunApproval,
  visit: Visit,
  action: 'finalize' | 'void',
): Html | null {
  if (approval === null)
    return html`<p class="notice">${`This employer requires no second approval: one person can ${action} the run.`}</p>`;
  if (!mayApprove(visit))
    return html`<p class="notice">To approve this run, sign in as a person: your token names none.</p>`;
  if (approval.state === 'missing') return null;
  const obstacle = obstacleOf(approval, visit, action);
  const text =
    obstacle ?? `${actorName(approval.approved_by)} approved ${action === 'void' ? 'voiding ' : ''}this run.`;
  const next =
    visit.may(action === 'void' ? 'runs:approve' : 'runs:write') &&
    html`<a class="button" href=${runPath(runId, `/${action}`)}>${action === 'void' ? 'Void …' : 'Finalize …'}</a>`;
  return html`
    <p class="notice">${text}</p>
    ${obstacle === null ? next : html`<form hx-post=${runPath(runId, '/approval/withdraw')}><button class="quiet">Withdraw your approval</button></form>`}
  `;
}

async function approvingVoid(visit: Visit, run: Run): Promise<Html> {
  const obstacle = whyNot(run.id, await voidApprovalOf(visit, run), visit, 'void');
  return html`${voidedAmounts(run)}${obstacle ?? approvalForm(run.id, { action: 'void' })}${await approvalsOf(visit)}`;
}

/** Renders the checks, which the approval may accept, and the form, or why the user may not. */
async function confirmation(
  visit: Visit,
  { run, readiness }: Computed,
  typed: Query,
  problem?: ProblemDetails,
): Promise<Html> {
  const blocked = blockedBy(readiness);
  const obstacle =
    blocked === null
      ? whyNot(run.id, readiness.approval, visit, 'finalize')
      : html`<p class="notice">${blocked}</p>`;
  const checks = readinessOf(readiness, run, visit, {
    findings: await openFindings(visit, run, readiness),
    results: obstacle === null ? ['fail'] : [],
    selected: acceptedIn(typed),
  });
  const fields = { ...typed, action: 'finalize', etag: readiness.etag };
  return obstacle === null ? approvalForm(run.id, fields, { checks, problem }) : html`${obstacle}${checks}`;
}

/** `checks`: the failed checks to accept. */
function approvalForm(
  runId: string,
  typed: Query,
  { checks, problem }: { checks?: Html; problem?: ProblemDetails | undefined } = {},
): Html {
  const { action = '', etag } = typed;
  const specs = { reason: { ...reasonSpec('Kept in the audit record.'), rows: 3 } };
  const { summary, fieldOf } = filledForm(specs, typed, problem, placeOf);
  const isVoid = action === 'void';
  return html`
    <form novalidate hx-post=${runPath(runId, '/approve')} hx-target=${isVoid ? 'this' : '#review'} hx-swap="outerHTML">
      ${isVoid && summary}
      ${hiddenFields({ action, etag })}
      ${checks}
      <div class="card">
        <p>${isVoid ? 'Another person can then void the run.' : 'Another person can then finalize the run, until a line changes or another check fails.'}</p>
        ${fieldOf('reason')}
        <button type="submit" class="while-unchanged">${isVoid ? 'Approve voiding' : 'Approve finalizing'}</button>
      </div>
    </form>
  `;
}
