/** Voids a final run, and approves finalizing or voiding one for an employer that requires a second person. */
import {
  approvePayrollRun,
  withdrawPayrollRunApproval,
} from '../../../api/operations/payroll-run-approvals.ts';
import { voidPayrollRun } from '../../../api/operations/payroll-run-work.ts';
import { getPayrollRun, getPayrollRunReadiness } from '../../../api/operations/payroll-runs.ts';
import type { ProblemDetails } from '../../../api/problem.ts';
import { acceptedIn } from '../../elements/checks.ts';
import { facts, later } from '../../elements/facts.ts';
import { filledForm, hiddenFields, problemSummary } from '../../elements/fields.ts';
import { actorName, dayOf, money } from '../../elements/format.ts';
import { address, nameIn, runPath } from '../../elements/links.ts';
import { blockedBy, obstacleOf, type RunApproval, readinessOf } from '../../elements/run-readiness.ts';
import { type Html, html } from '../../html.ts';
import { type Act, type Console, mayApprove, type Visit } from '../../page.ts';
import { attempt } from '../../performing.ts';
import { approvalsOf, changedNotice, placeOf, totals } from './finalize.ts';
import { openFindings } from './findings.ts';
import { nameOf, periodOf, type Run } from './labels.ts';
import { outlineOf } from './run.ts';
import { stateOf, toApprovals, voidApprovalOf } from './state.ts';
import { breakdown } from './totals.ts';

export function approvalPages({ page, part, action, button }: Console): void {
  const scope = 'runs:approve';

  page('/runs/:run_id/approve', scope, async (visit) => {
    const run = await outlineOf(visit);
    const { id, state } = run;
    const body = html`
      ${await stateOf(visit, run, { shown: state })}
      ${state === 'open' && later(runPath(id, '/approval'), 'Computing the run …')}
      ${state === 'finalized' && (await approvingVoid(visit, run))}
      ${state === 'voided' && html`<p>${'This run is voided. '}<a href=${runPath(id)}>Back to the run</a></p>`}
    `;
    return { title: html`Approve ${state === 'finalized' && 'voiding '}${nameOf(run)}`, body };
  });

  part('/runs/:run_id/approval', scope, (visit) => finalizing(visit, {}));

  action('/runs/:run_id/approve', scope, async (act) => {
    const { api, form, params } = act;
    const { action: approved = '', reason = '', etag } = form;
    const accept = acceptedIn(form);
    const body = { action: approved, ...(accept.length > 0 && { accept }), reason };
    const call = api.perform(approvePayrollRun, { body, ifMatch: etag && `"${etag}"` });
    const { problem } = await attempt(call, 400, 409, 412);
    const runId = params.run_id ?? '';
    if (problem === undefined) return { go: address(runPath(runId), { approved }) };
    return approved === 'void' ? approvalForm(runId, form, { problem }) : finalizing(act, form, problem);
  });

  button('/runs/:run_id/approval/withdraw', withdrawPayrollRunApproval, ({ run_id = '' }) =>
    address(runPath(run_id), { withdrawn: 'true' }),
  );

  page('/runs/:run_id/void', scope, async (visit) => {
    const run = await outlineOf(visit);
    const body = html`
      ${await stateOf(visit, run, { shown: run.state })}
      ${voidedAmounts(run)}
      ${await voiding(visit, run, {})}
    `;
    return { title: html`Void ${nameOf(run)}`, body };
  });

  action('/runs/:run_id/void', scope, async (act) => {
    const { api, form } = act;
    const call = api.perform(voidPayrollRun, { body: { reason: form.reason ?? '' } });
    const { data, problem } = await attempt(call, 400, 409);
    const { run_id = '' } = act.params;
    if (problem !== undefined) return voiding(act, await outlineOf(act), form, problem);
    const taken = data.taken_reports.map(({ id }) => id).join(', ');
    return {
      go: address(runPath(run_id), { voided: 'true', settled_by: data.settled_by.join(', '), taken }),
    };
  });
}

/** Returns why the user cannot approve finalizing or voiding a run, and what else the user can do; null if they can. */
function whyNot(
  runId: string,
  approval: RunApproval,
  visit: Visit,
  action: 'finalize' | 'void',
): Html | null {
  const back = html`<a href=${runPath(runId)}>Back to the run</a>`;
  if (approval === null)
    return html`<p class="notice">${`This employer requires no second approval: one person can ${action} the run. `}${back}</p>`;
  if (!mayApprove(visit))
    return html`<p class="notice">${'To approve this run, sign in as a person: your token names none. '}${back}</p>`;
  if (approval.state === 'missing') return null;
  const obstacle = obstacleOf(approval, visit, action);
  const text =
    obstacle ??
    `${actorName(approval.approved_by)} approved ${action === 'void' ? 'voiding ' : ''}this run. `;
  const next =
    visit.may(action === 'void' ? 'runs:approve' : 'runs:write') &&
    html`<a class="button" href=${runPath(runId, `/${action}`)}>${action === 'void' ? 'Void …' : 'Finalize …'}</a>`;
  return html`
    <p class="notice">${text} ${back}</p>
    ${obstacle === null ? next : withdrawForm(runId)}
  `;
}

/** Withdraws the approvals that the user gave. */
function withdrawForm(id: string): Html {
  return html`<form hx-post=${runPath(id, '/approval/withdraw')}><button class="quiet">Withdraw your approval</button></form>`;
}

async function approvingVoid(visit: Visit, run: Run): Promise<Html> {
  const obstacle = whyNot(run.id, await voidApprovalOf(visit, run), visit, 'void');
  return html`${voidedAmounts(run)}${obstacle ?? approvalForm(run.id, { action: 'void' })}${await approvalsOf(visit)}`;
}

/** Shows what is approved: the totals and findings as they are now. */
async function finalizing(
  visit: Visit | Act,
  typed: Visit['query'],
  problem?: ProblemDetails,
): Promise<Html> {
  const { api, params } = visit;
  const { run_id: runId = '' } = params;
  const { data: run, problem: uncomputable } = await attempt(api.perform(getPayrollRun), 422);
  if (run?.state !== 'open') {
    const shown = uncomputable ?? problem;
    return html`<div id="approval">${shown !== undefined && problemSummary(shown)}<p><a href=${runPath(runId)}>Back to the run</a></p></div>`;
  }
  const readiness = await api.perform(getPayrollRunReadiness);
  const blocked = blockedBy(readiness);
  const obstacle =
    blocked === null
      ? whyNot(runId, readiness.approval, visit, 'finalize')
      : html`<p class="notice">${blocked}</p>`;
  const fields = { ...typed, action: 'finalize', etag: readiness.etag };
  const accepting = {
    findings: await openFindings(visit, run, readiness),
    results: obstacle === null ? (['fail'] as const) : [],
    selected: acceptedIn(typed),
  };
  const checks = readinessOf(readiness, run, visit, accepting);
  const hasChanged = problem?.status === 412;
  return html`
    <div id="approval">
      ${hasChanged && changedNotice(runPath(runId), 'The run changed since it was reviewed. Nothing was approved.', 'approve')}
      ${totals(run, {})}
      ${obstacle === null ? approvalForm(runId, fields, { checks, problem: hasChanged ? undefined : problem }) : html`${obstacle}${checks}`}
      ${await approvalsOf(visit)}
      ${breakdown(run, visit)}
    </div>
  `;
}

/** `checks`: the failed checks to accept. */
function approvalForm(
  runId: string,
  typed: Visit['query'],
  { checks, problem }: { checks?: Html; problem?: ProblemDetails | undefined } = {},
): Html {
  const { action = '', etag } = typed;
  const hint = 'Kept in the audit record. At most 500 characters.';
  const specs = { reason: { rows: 3, label: 'Reason', hint, required: true } };
  const { summary, fieldOf } = filledForm(specs, typed, problem, placeOf);
  const target = action === 'void' ? 'this' : '#approval';
  return html`
    <form novalidate hx-post=${runPath(runId, '/approve')} hx-target=${target} hx-swap="outerHTML">
      ${summary}
      ${hiddenFields({ action, etag })}
      ${checks}
      <div class="card">
        <p>${action === 'void' ? 'Another person can then void the run.' : 'Another person can then finalize the run, until a line changes or another check fails.'}</p>
        ${fieldOf('reason')}
        <div class="actions">
          <button type="submit" class="while-unchanged">${action === 'void' ? 'Approve voiding' : 'Approve finalizing'}</button>
          <a class="button quiet" href=${runPath(runId)}>Back to the run</a>
        </div>
      </div>
    </form>
  `;
}

/** Renders what voiding a run takes back. */
function voidedAmounts(run: Run): Html {
  return html`
    <section class="card" aria-label="Run">
      ${facts([
        ['Employer', nameIn('employer', run.employer_id)],
        ['Pay date', dayOf(run.pay_date)],
        ['Pay period', periodOf(run)],
        ['Employee amount', run.totals && money(run.totals.member_amount)],
        ['Employer amount', run.totals && money(run.totals.employer_amount)],
      ])}
    </section>
  `;
}

/** Renders the form that voids a run, or why the user may not. */
async function voiding(
  visit: Visit | Act,
  run: Run,
  typed: Visit['query'],
  problem?: ProblemDetails,
): Promise<Html> {
  const approval = await voidApprovalOf(visit, run);
  const obstacle =
    run.state === 'open'
      ? 'This run is open, so there is nothing to void: it can be deleted.'
      : run.state === 'voided'
        ? 'This run is already voided.'
        : obstacleOf(approval, visit, 'void');
  if (obstacle === null) return voidForm(run.id, typed, problem);
  return html`<p id="void" class="notice">${obstacle} ${toApprovals(run.id, approval, visit)}<a href=${runPath(run.id)}>Back to the run</a></p>`;
}

function voidForm(runId: string, typed: Visit['query'], problem?: ProblemDetails): Html {
  const hint = 'Stored with the run. At most 500 characters.';
  const specs = { reason: { rows: 3, label: 'Reason', hint, required: true } };
  const { summary, fieldOf } = filledForm(specs, typed, problem);
  return html`
    <form id="void" class="card" novalidate hx-post=${runPath(runId, '/void')} hx-target="#void" hx-swap="outerHTML">
      ${summary}
      <p>Voiding cannot be undone. The run stays readable but no longer counts, and its pay date is free for a new run. If payroll has loaded its file, remove the amounts there. Adjustments and arrears that it included become due again. If a later run has corrected this one, void the later run first.</p>
      ${fieldOf('reason')}
      <div class="actions">
        <button type="submit" class="danger while-unchanged">Void the run</button>
        <a class="button quiet" href=${runPath(runId)}>Back to the run</a>
      </div>
    </form>
  `;
}
