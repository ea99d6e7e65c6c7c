/** Finalizes, voids and deletes runs. Only the totals that were reviewed are finalized: the form sends their ETag. */
import type { ProblemDetails } from '../../../api/problem.ts';
import { titleOfCheck } from '../../../api/routes/readiness.ts';
import type { Schemas } from '../../../client.ts';
import { attempt, dataOrNull } from '../../api-client.ts';
import {
  acceptanceId,
  acceptedIn,
  blockingOf,
  checkNames,
  isChoice,
  readinessOf,
} from '../../elements/checks.ts';
import { facts, later } from '../../elements/facts.ts';
import { filledForm, hiddenFields, type Place, problemSummary } from '../../elements/fields.ts';
import { actorName, dayOf, instant, lacksScope, money, term } from '../../elements/format.ts';
import { address, runPath } from '../../elements/links.ts';
import { type Column, table } from '../../elements/list.ts';
import { type Html, html } from '../../html.ts';
import type { Act, Console, Visit } from '../../page.ts';
import { openFindings } from './findings.ts';
import { nameOf, periodOf } from './labels.ts';
import { overridesOf } from './overrides.ts';
import { outlineOf, REVIEWED, type Reviewed, reviewedOf } from './run.ts';
import { type Approval, approvalOf, approverOf, type RunApproval, stateOf, waitsForOf } from './state.ts';
import { breakdown } from './totals.ts';

type Run = Schemas['PayrollRun'];
type Figure = keyof typeof REVIEWED;
type Totals = { readonly name: string; readonly values: Partial<Reviewed> };

export function finalizePages({ page, part, action }: Console): void {
  const scope = 'runs:write';

  page('/runs/:run_id/finalize', scope, async (visit) => {
    const run = await outlineOf(visit);
    const { id, state } = run;
    const body =
      state === 'open'
        ? html`${await stateOf(visit, run, { shown: state })}${later(address(runPath(id, '/review'), visit.query), 'Computing the run …')}`
        : html`<p>${`This run is already ${state}. `}<a href=${runPath(id)}>Back to the run</a></p>`;
    return { title: `Finalize ${nameOf(run)}`, body };
  });

  part('/runs/:run_id/review', scope, (visit) => review(visit, visit.query));

  action('/runs/:run_id/finalize', scope, async (act) => {
    const { reason, failed, etag = '' } = act.form;
    const accept = acceptedIn(act.form);
    // An empty list is refused with the checks to select, instead of with the reason.
    const isAccepting = accept.length > 0 || failed !== undefined;
    const body = { ...(isAccepting && { accept }), ...(reason && { reason }) };
    const headers = { 'if-match': `"${etag}"` };
    const call = act.api.send('post', '/v1/payroll-runs/{run_id}/finalize', {}, body, headers);
    const { problem } = await attempt(call, 400, 409, 412);
    const path = address(runPath(act.params.run_id ?? ''), { finalized: 'true' });
    return problem === undefined ? { go: path } : review(act, act.form, problem);
  });

  action('/runs/:run_id/delete', scope, async ({ api, params: { run_id } }) => {
    await api.send('delete', '/v1/payroll-runs/{run_id}');
    return { go: address('/runs', { deleted: run_id }) };
  });

  page('/runs/:run_id/void', 'runs:approve', async (visit) => {
    const run = await outlineOf(visit);
    const body = html`
      ${await stateOf(visit, run, { shown: run.state })}
      <section class="card" aria-label="Run">
        ${facts([
          ['Employer', run.employer_id],
          ['Pay date', dayOf(run.pay_date)],
          ['Pay period', periodOf(run)],
          ['Employee amount', run.totals && money(run.totals.member_amount)],
          ['Employer amount', run.totals && money(run.totals.employer_amount)],
        ])}
      </section>
      ${voidForm(run.id, {})}
    `;
    return { title: `Void ${nameOf(run)}`, body };
  });

  action('/runs/:run_id/void', 'runs:approve', async ({ api, params: { run_id = '' }, form }) => {
    const call = api.send('post', '/v1/payroll-runs/{run_id}/void', {}, { reason: form.reason ?? '' });
    const { data, problem } = await attempt(call, 400);
    if (problem !== undefined) return voidForm(run_id, form, problem);
    const taken = data.taken_reports.map(({ id }) => id).join(', ');
    return {
      go: address(runPath(run_id), { voided: 'true', settled_by: data.settled_by.join(', '), taken }),
    };
  });
}

/** Shows the run as it is now. `reviewed`: what the user saw before, and the reason they typed. */
async function review(visit: Visit | Act, reviewed: Visit['query'], problem?: ProblemDetails): Promise<Html> {
  const { api, params } = visit;
  const path = runPath(params.run_id ?? '');
  const { data: run, problem: uncomputable } = await attempt(api.get('/v1/payroll-runs/{run_id}'), 422);
  if (run?.state !== 'open') {
    const shown = uncomputable ?? problem;
    return html`<div id="review">${shown !== undefined && problemSummary(shown)}<p><a href=${path}>Back to the run</a></p></div>`;
  }
  const readiness = await api.get('/v1/payroll-runs/{run_id}/readiness');
  const { approvals } = await api.get('/v1/payroll-runs/{run_id}/approvals');
  const approval = await approvalOf(visit, run, approvals);
  const wasRejected = problem?.status === 412;
  const hasChanged = wasRejected || (reviewed.etag !== undefined && reviewed.etag.split('.')[0] !== run.etag);
  const whatHappened = wasRejected
    ? 'The run changed since it was reviewed. Nothing was finalized.'
    : 'The run changed since you opened it.';
  const changedNotice = html`
    <div class="problem" role="alert" tabindex="-1" autofocus>
      <strong>${whatHappened}</strong>
      <p>${'An event arrived, or other data that the run is computed from changed. '}<a href=${`${path}#lines`}>Review the current lines</a>${', then finalize.'}</p>
    </div>
  `;
  return html`
    <div id="review">
      ${hasChanged && changedNotice}
      ${problem !== undefined && !wasRejected && problemSummary(problem, placeOf)}
      ${totals(run, hasChanged ? reviewed : {}, visit)}
      ${await overridesOf(visit, run)}
      ${approvals.length > 0 && approvalTable(approvals)}
      ${await confirmation(visit, { run, readiness, approval }, await withReason(visit, readiness, reviewed), problem)}
    </div>
  `;
}

/** Suggests the reason of the run that the user finalized before, if it covers every check that fails here. */
async function withReason(
  { api }: Visit,
  { checks }: Schemas['Readiness'],
  reviewed: Visit['query'],
): Promise<Visit['query']> {
  const { after, reason } = reviewed;
  if (after === undefined || reason !== undefined) return reviewed;
  const before = await dataOrNull(api.get('/v1/payroll-runs/{run_id}/outline', { run_id: after }));
  const failed = checks.filter(({ result }) => result === 'fail');
  const isCovered = failed.length > 0 && failed.every(({ id }) => before?.accepted_checks.includes(id));
  return isCovered && before?.accept_reason != null
    ? { ...reviewed, reason: before.accept_reason }
    : reviewed;
}

/** Lists who approved the run, the newest approval first. */
export function approvalTable(approvals: readonly Approval[]): Html {
  return table(approvals, { caption: 'Approvals, newest first', stacked: true }, [
    ['Action', ({ action }) => term(action), 'name'],
    ['Time', ({ approved_at }) => instant(approved_at), 'date'],
    ['Ended', ({ ended_at }) => (ended_at === null ? '–' : instant(ended_at)), 'date'],
    ['By', ({ approved_by }) => actorName(approved_by)],
    ['Accepted checks', ({ accepted_checks }) => checkNames(accepted_checks) || '–', 'wide'],
    ['Reason', ({ reason }) => reason, 'wide'],
  ]);
}

export function totals(run: Run, before: Partial<Reviewed>, visit: Pick<Visit, 'may'>): Html {
  const isCompared = before.member_amount !== undefined;
  const figures = Object.entries(REVIEWED) as [Figure, string][];
  const shown = (name: Figure, value = '–') => (name.endsWith('amount') ? money(value) : value);
  const now = { name: 'Now', values: reviewedOf(run) };
  const rows = isCompared ? [{ name: 'Reviewed', values: before }, now] : [now];
  return html`
    <section aria-labelledby="totals">
      <h2 id="totals">Totals to finalize</h2>
      <p>${`Pay period ${periodOf(run)}`}</p>
      ${table(rows, { caption: 'Totals', captionHidden: true, stacked: true }, [
        ...(isCompared ? [['Totals', (row) => row.name, 'name'] satisfies Column<Totals>] : []),
        ...figures.map(([figure, title]): Column<Totals> => {
          return [title, ({ values }) => shown(figure, values[figure]), 'number'];
        }),
      ])}
      ${breakdown(run, visit)}
    </section>
  `;
}

/** Renders the checks, which the user may accept, and the button that finalizes the run, or why the user may not. */
async function confirmation(
  visit: Visit | Act,
  { run, readiness, approval }: { run: Run; readiness: Schemas['Readiness']; approval: RunApproval },
  reviewed: Visit['query'],
  problem?: ProblemDetails,
): Promise<Html> {
  const { ready: isReady, checks, etag } = readiness;
  const path = runPath(run.id);
  const approvedBy = approverOf(approval, readiness);
  // Only the approval accepts findings of a run that needs one.
  const isAccepting = approval === null && blockingOf(readiness) === null && visit.may('runs:approve');
  const obstacle = obstacleOf(visit, approval, readiness);
  const isAccepted = isReady || approvedBy !== null;
  const accepting = {
    findings: await openFindings(visit, run),
    results: !isAccepting ? [] : isReady ? (['warn'] as const) : (['fail'] as const),
    selected: acceptedIn(reviewed),
  };
  const waitsFor = waitsForOf(approval, visit);
  const shown = readinessOf(readiness, run, visit, { approvedBy, waitsFor, accepting });
  if (obstacle !== null)
    return html`${shown}<p class="notice">${obstacle} <a href=${path}>Back to the run</a></p>`;
  const label = isReady ? 'Reason to accept warnings' : 'Reason';
  const stored =
    'Stored with the run and with each finding. A finding stays accepted until its data changes. At most 500 characters.';
  const isSuggested = problem === undefined && reviewed.after !== undefined && reviewed.reason !== undefined;
  const hint = isSuggested
    ? `The reason of ${reviewed.after}. Change it if it differs here. ${stored}`
    : stored;
  const { fieldOf } = filledForm({ reason: { rows: 3, label, hint, required: !isReady } }, reviewed, problem);
  const isWarned = isReady && checks.some((check) => isChoice(check, accepting));
  return html`
    <form novalidate hx-post=${`${path}/finalize`} hx-target="#review" hx-swap="outerHTML" hx-config="timeout:600s">
      ${hiddenFields({ ...reviewedOf(run), etag, ...(!isAccepted && { failed: 'true' }) })}
      ${shown}
      <div class="card">
        <p>A finalized run cannot be changed, only voided. Payroll deducts its amounts.</p>
        ${(!isAccepted || isWarned) && fieldOf('reason')}
        <div class="actions">
          <button type="submit" class=${isAccepted ? 'while-unchanged' : 'while-unchanged danger'}>${isAccepted ? 'Finalize' : 'Accept findings and finalize'}</button>
          <a class="button quiet" href=${path}>Back to the run</a>
          <span class="busy soft" role="status">Finalizing …</span>
        </div>
      </div>
    </form>
  `;
}

/** Returns why the user may not finalize the run; null if they may. */
function obstacleOf(visit: Visit, approval: RunApproval, readiness: Schemas['Readiness']): string | null {
  const blocking = blockedBy(readiness);
  if (blocking !== null) return blocking;
  if (approval === null)
    return readiness.ready || visit.may('runs:approve')
      ? null
      : lacksScope('To accept the findings', 'runs:approve');
  if (approval === 'missing') return 'Another person must approve this run before it is finalized.';
  const { approved_by, is_yours } = approval;
  if (is_yours) return 'You approved this run, so another person must finalize it.';
  if (visit.caller?.person == null) return 'A person must finalize this run: your token names none.';
  if (approverOf(approval, readiness) !== null) return null;
  return `Another check fails since ${actorName(approved_by)} approved this run, so it must be approved again.`;
}

/** Returns why nobody can finalize the run; null if somebody can. */
export function blockedBy(readiness: Schemas['Readiness']): string | null {
  const id = blockingOf(readiness);
  return id && `The run cannot be finalized: ${titleOfCheck(id).toLowerCase()}.`;
}

/** Returns what a problem of the form is about: the reason, or a check that is not accepted. */
export function placeOf(name: string): Place {
  return name === 'reason'
    ? { id: name, label: 'Reason' }
    : { id: acceptanceId(name), label: titleOfCheck(name) };
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
