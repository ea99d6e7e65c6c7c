/** Finalizes and deletes runs. Only the totals that were reviewed are finalized: the form sends their ETag. */
import type { ResultOf } from '../../../api/operation.ts';
import { ENDS_IN_WORDS, listPayrollRunApprovals } from '../../../api/operations/payroll-run-approvals.ts';
import { finalizePayrollRun } from '../../../api/operations/payroll-run-work.ts';
import {
  deletePayrollRun,
  getPayrollRun,
  getPayrollRunReadiness,
} from '../../../api/operations/payroll-runs.ts';
import { titleOfCheck } from '../../../api/operations/readiness.ts';
import type { ProblemDetails } from '../../../api/problem.ts';
import { acceptanceId, acceptedIn, checkNames, isChoice } from '../../elements/checks.ts';
import { later } from '../../elements/facts.ts';
import { filledForm, hiddenFields, type Place, problemSummary, reasonSpec } from '../../elements/fields.ts';
import { actorName, capitalized, counted, instant, money, term } from '../../elements/format.ts';
import { address, type Query, runEmployeesPath, runPath } from '../../elements/links.ts';
import { type Column, table } from '../../elements/list.ts';
import {
  blockingOf,
  isApproved,
  type RunReadiness,
  readinessOf,
  whyNot,
} from '../../elements/run-readiness.ts';
import { type Content, type Html, html } from '../../html.ts';
import type { Console, Visit } from '../../page.ts';
import { attempt } from '../../performing.ts';
import { openFindings } from './findings.ts';
import type { ComputedRun } from './labels.ts';
import { overridesOf } from './overrides.ts';
import { REVIEWED, type Reviewed, reviewedOf } from './run.ts';
import { pageOfRun, toApprovals } from './state.ts';
import { breakdown } from './totals.ts';

type Approval = ResultOf<typeof listPayrollRunApprovals>['approvals'][number];
type Figure = keyof typeof REVIEWED;
type Totals = { readonly name: string; readonly values: Partial<Reviewed> };

export function finalizePages(pages: Console): void {
  const { part, action, button } = pages;
  const scope = 'runs:write';

  pageOfRun(pages, '/finalize', scope, async ({ query }, { id, state }) => ({
    title: 'Finalize',
    body:
      state === 'open'
        ? later(address(runPath(id, '/review'), query), 'Computing the run …')
        : html`<p>${`This run is already ${state}.`}</p>`,
  }));

  part('/runs/:run_id/review', scope, (visit) => review(visit, FINALIZE, visit.query));

  action('/runs/:run_id/finalize', scope, async (act) => {
    const { reason, failed, etag = '' } = act.form;
    const accept = acceptedIn(act.form);
    // An empty list is refused with the checks to select, instead of with the reason.
    const isAccepting = accept.length > 0 || failed !== undefined;
    const body = { ...(isAccepting && { accept }), ...(reason && { reason }) };
    const call = act.api.perform(finalizePayrollRun, { body, ifMatch: `"${etag}"` });
    const { problem } = await attempt(call, 400, 409, 412);
    const path = address(runPath(act.params.run_id ?? ''), { finalized: 'true' });
    return problem === undefined ? { go: path } : review(act, FINALIZE, act.form, problem);
  });

  button('/runs/:run_id/delete', deletePayrollRun, ({ run_id }) => address('/runs', { deleted: run_id }));
}

/** What a person does with a run on a page that shows it first: its verb, and the form, or why the user may not. */
export type Step = {
  readonly verb: 'finalize' | 'approve';
  confirm(visit: Visit, shown: Computed, typed: Query, problem?: ProblemDetails): Promise<Html>;
};
export type Computed = { readonly run: ComputedRun; readonly readiness: RunReadiness };

const FINALIZE: Step = { verb: 'finalize', confirm: confirmation };

/** Shows the run as it is now. `typed`: what the user saw before, and the reason. */
export async function review(
  visit: Visit,
  step: Step,
  typed: Query,
  problem?: ProblemDetails,
): Promise<Html> {
  const { api } = visit;
  const { data: run, problem: uncomputable } = await attempt(api.perform(getPayrollRun), 422);
  if (run?.state !== 'open') {
    const shown = uncomputable ?? problem;
    return html`<div id="review">${shown !== undefined && problemSummary(shown)}</div>`;
  }
  const readiness = await api.perform(getPayrollRunReadiness);
  const wasRejected = problem?.status === 412;
  const isStale = step === FINALIZE && typed.etag !== undefined && typed.etag.split('.')[0] !== run.etag;
  const hasChanged = wasRejected || isStale;
  const whatHappened = wasRejected
    ? `The run changed since it was reviewed. Nothing was ${step.verb}d.`
    : 'The run changed since you opened it.';
  return html`
    <div id="review">
      ${hasChanged && changedNotice(run.id, whatHappened, step.verb)}
      ${problem !== undefined && !wasRejected && problemSummary(problem, placeOf)}
      ${totals(run, hasChanged ? typed : {})}
      ${await step.confirm(visit, { run, readiness }, typed, problem)}
      ${await overridesOf(visit, run)}
      ${await approvalsOf(visit)}
      ${breakdown(run, visit)}
    </div>
  `;
}

/** Reports that the totals changed after the user saw them. */
function changedNotice(runId: string, whatHappened: string, next: string): Html {
  return html`
    <div class="problem changed-since" role="alert" tabindex="-1" autofocus>
      <strong>${whatHappened}</strong>
      <p>${'An event arrived, or other data that the run is computed from changed. '}<a href=${runEmployeesPath(runId)}>Review the current lines</a>${`, then ${next}.`}</p>
    </div>
  `;
}

/** Lists who approved the run, the newest approval first, folded; null without any. */
export async function approvalsOf({ api }: Visit): Promise<Html | null> {
  const { approvals } = await api.perform(listPayrollRunApprovals);
  if (approvals.length === 0) return null;
  const list = table(approvals, { caption: 'Approvals, newest first', captionHidden: true }, [
    ['Action', ({ action }) => term(action), 'name'],
    ['Time', ({ approved_at }) => instant(approved_at), 'date'],
    ['No longer counts', endOf],
    ['By', ({ approved_by }) => actorName(approved_by)],
    ['Accepted checks', ({ accepted_checks }) => checkNames(accepted_checks) || '–', 'wide'],
    ['Reason', ({ reason }) => reason, 'wide'],
  ]);
  return html`<details><summary>${counted(approvals.length, 'approval')}</summary>${list}</details>`;
}

/** Shows since when, or why, an approval does not count. */
function endOf({ ended_at, no_longer_counts: end }: Approval): Content {
  if (ended_at !== null) return instant(ended_at);
  return end === null ? '–' : capitalized(ENDS_IN_WORDS[end]);
}

function totals(run: ComputedRun, before: Partial<Reviewed>): Html {
  const isCompared = before.member_amount !== undefined;
  const figures = Object.entries(REVIEWED) as [Figure, string][];
  const shown = (name: Figure, value = '–') => (name.endsWith('amount') ? money(value) : value);
  const now = { name: 'Now', values: reviewedOf(run) };
  const rows = isCompared ? [{ name: 'Reviewed', values: before }, now] : [now];
  return html`
    <section aria-labelledby="totals">
      <h2 id="totals">Totals to finalize</h2>
      ${table(rows, { caption: 'Totals', captionHidden: true }, [
        ...(isCompared ? [['Totals', (row) => row.name, 'name'] satisfies Column<Totals>] : []),
        ...figures.map(([figure, title]): Column<Totals> => {
          return [title, ({ values }) => shown(figure, values[figure]), 'number'];
        }),
      ])}
    </section>
  `;
}

/** Renders the checks, which the user may accept, and the button that finalizes the run, or why the user may not. */
async function confirmation(
  visit: Visit,
  { run, readiness }: Computed,
  reviewed: Query,
  problem?: ProblemDetails,
): Promise<Html> {
  const { ready: isReady, checks, etag, approval } = readiness;
  // If a run needs an approval, only the approval accepts findings.
  const isAccepting = approval === null && blockingOf(readiness) === null && visit.may('runs:approve');
  const obstacle = whyNot(visit, readiness);
  const isAccepted = isReady || isApproved(readiness);
  const accepting = {
    findings: await openFindings(visit, run, readiness),
    results: !isAccepting ? [] : isReady ? (['warn'] as const) : (['fail'] as const),
    selected: acceptedIn(reviewed),
  };
  const shown = readinessOf(readiness, run, visit, accepting);
  if (obstacle !== null)
    return html`<p class="notice">${obstacle} ${toApprovals(run.id, approval, visit)}</p>${shown}`;
  const reason = {
    ...reasonSpec(
      'Stored with the run and with each finding. A finding stays accepted until its data changes.',
    ),
    ...{ rows: 3, required: !isReady, ...(isReady && { label: 'Reason to accept warnings' }) },
  };
  const { fieldOf } = filledForm({ reason }, reviewed, problem);
  const isWarned = isReady && checks.some((check) => isChoice(check, accepting));
  return html`
    <form novalidate hx-post=${runPath(run.id, '/finalize')} hx-target="#review" hx-swap="outerHTML" hx-config="timeout:600s">
      ${hiddenFields({ ...reviewedOf(run), etag, ...(!isAccepted && { failed: 'true' }) })}
      ${!isAccepted && shown}
      <div class="card">
        <p>A finalized run cannot be changed, only voided. Payroll deducts its amounts.</p>
        ${!isAccepted && fieldOf('reason')}
        <div class="actions">
          <button type="submit" class=${isAccepted ? 'while-unchanged' : 'while-unchanged danger'}>${isAccepted ? 'Finalize' : 'Accept findings and finalize'}</button>
          <span class="busy soft" role="status">Finalizing …</span>
        </div>
      </div>
      ${isAccepted && shown}
      ${isWarned && html`<div class="card">${fieldOf('reason')}</div>`}
    </form>
  `;
}

/** Returns what a problem of the form is about: the reason, or a check that is not accepted. */
export function placeOf(name: string): Place {
  return name === 'reason'
    ? { id: name, label: 'Reason' }
    : { id: acceptanceId(name), label: titleOfCheck(name) };
}
