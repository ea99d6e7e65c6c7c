/** Approves finalizing or voiding a run, for an employer that requires a second person. */
import type { ProblemDetails } from '../../../api/problem.ts';
import { attempt } from '../../api-client.ts';
import { acceptedIn, readinessOf } from '../../elements/checks.ts';
import { later } from '../../elements/facts.ts';
import { filledForm, hiddenFields } from '../../elements/fields.ts';
import { address, runPath } from '../../elements/links.ts';
import { type Html, html } from '../../html.ts';
import type { Act, Console, Visit } from '../../page.ts';
import { approvalTable, blockedBy, placeOf, totals } from './finalize.ts';
import { openFindings } from './findings.ts';
import { nameOf } from './labels.ts';
import { outlineOf } from './run.ts';
import { stateOf } from './state.ts';

export function approvalPages({ page, part, action }: Console): void {
  const scope = 'runs:approve';

  page('/runs/:run_id/approve', scope, async (visit) => {
    const run = await outlineOf(visit);
    const { approvals } = await visit.api.get('/v1/payroll-runs/{run_id}/approvals');
    const body = html`
      ${await stateOf(visit, run, { shown: run.state })}
      ${approvals.length > 0 && approvalTable(approvals)}
      ${approvals.some(({ is_yours, ended_at }) => ended_at === null && is_yours) && withdrawForm(run.id)}
      ${run.state === 'open' && later(runPath(run.id, '/approval'), 'Computing the run …')}
      ${run.state === 'finalized' && approvalForm(run.id, { action: 'void' })}
      ${run.state === 'voided' && html`<p>This run is voided.</p>`}
    `;
    return { title: `Approve ${nameOf(run)}`, body };
  });

  part('/runs/:run_id/approval', scope, (visit) => openForm(visit, {}));

  action('/runs/:run_id/approve', scope, async (act) => {
    const { api, form, params } = act;
    const { action: approved = '', reason = '', etag } = form;
    const accept = acceptedIn(form);
    const body = { action: approved, ...(accept.length > 0 && { accept }), reason };
    const headers: Record<string, string> = etag === undefined ? {} : { 'if-match': `"${etag}"` };
    const call = api.send('post', '/v1/payroll-runs/{run_id}/approval', {}, body, headers);
    const { problem } = await attempt(call, 400, 409, 412);
    const runId = params.run_id ?? '';
    if (problem === undefined) return { go: address(runPath(runId), { approved }) };
    return approved === 'void' ? approvalForm(runId, form, { problem }) : openForm(act, form, problem);
  });

  action('/runs/:run_id/approval/withdraw', scope, async ({ api, params: { run_id = '' } }) => {
    await api.send('delete', '/v1/payroll-runs/{run_id}/approval');
    return { go: address(runPath(run_id), { withdrawn: 'true' }) };
  });
}

/** Withdraws the approvals that the user gave. */
function withdrawForm(id: string): Html {
  return html`<form hx-post=${runPath(id, '/approval/withdraw')}><button class="quiet">Withdraw your approval</button></form>`;
}

/** Shows what is approved: the totals and findings as they are now. */
async function openForm(visit: Visit | Act, typed: Visit['query'], problem?: ProblemDetails): Promise<Html> {
  const { api, params } = visit;
  const run = await api.get('/v1/payroll-runs/{run_id}');
  const readiness = await api.get('/v1/payroll-runs/{run_id}/readiness');
  const blocked = blockedBy(readiness);
  const fields = { ...typed, action: 'finalize', etag: readiness.etag };
  const accepting = {
    findings: await openFindings(visit, run),
    results: blocked === null ? (['fail'] as const) : [],
    selected: acceptedIn(typed),
  };
  const checks = readinessOf(readiness, run, visit, { waitsFor: 'approval', accepting });
  return html`
    <div id="approval">
      ${totals(run, {}, visit)}
      ${blocked === null ? approvalForm(params.run_id ?? '', fields, { checks, problem }) : html`${checks}<p class="notice">${blocked}</p>`}
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
