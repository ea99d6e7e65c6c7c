/** The state of a run. It refreshes, because others may finalize, void or delete the run while a page of it is open. */
import { getSecondApproval, listPayrollRunApprovals } from '../../../api/operations/payroll-run-approvals.ts';
import { getPayrollRunFreshness } from '../../../api/operations/payroll-run-employees.ts';
import { getPayrollRun, getPayrollRunOutline } from '../../../api/operations/payroll-runs.ts';
import type { Scope } from '../../../security/scopes.ts';
import { facts, live } from '../../elements/facts.ts';
import type { Choice } from '../../elements/fields.ts';
import { actorName, count, counted, dayText, instant } from '../../elements/format.ts';
import { address, employerLink, nameIn, overridePath, runPath } from '../../elements/links.ts';
import { obstacleOf, type RunApproval } from '../../elements/run-readiness.ts';
import { type Content, type Html, html } from '../../html.ts';
import { type Console, mayApprove, type Page, type Visit } from '../../page.ts';
import { attempt, dataOrNull } from '../../performing.ts';
import * as labels from './labels.ts';

type Run = labels.Run;

/** Ids listed of an option; a run may have 100,000. */
const LISTED = 50;

/** Only this part refreshes: the other parts take as long as computing the run. */
export function statePart({ part }: Console): void {
  part('/runs/:run_id/state', 'runs:read', async (visit) => {
    const { shown, since, summary } = visit.query;
    const run = await dataOrNull(outlineOf(visit));
    return stateOf(visit, run, { shown, since, hasSummary: summary !== undefined });
  });
}

/** Declares a page below the page of a run. The body that `show` returns follows the run's state; its title precedes the run's name. */
export function pageOfRun(
  { page }: Console,
  below: string,
  scope: Scope,
  show: (visit: Visit, run: Run) => Promise<Page>,
): void {
  page(`/runs/:run_id${below}`, scope, async (visit) => {
    const run = await outlineOf(visit);
    const { title, body } = await show(visit, run);
    return { title: html`${title} ${labels.nameOf(run)}`, body: html`${await stateOf(visit, run)}${body}` };
  });
}

/** Reads the run's options without computing it. Throws NOT_FOUND for an unknown id. */
export function outlineOf({ api }: Visit): Promise<Run> {
  return api.perform(getPayrollRunOutline);
}

/** Computes the run; undefined if it cannot be computed, which the bar of its page explains. */
export async function computedOf({ api }: Visit): Promise<labels.ComputedRun | undefined> {
  return (await attempt(api.perform(getPayrollRun), 422)).data;
}

type Opened = { shown?: string | undefined; since?: string | undefined; hasSummary?: boolean };

/**
 * Renders the state of a run, with a notice once it differs from `shown`, the state when the page was opened, or once data
 * of an open run's employer changed `since` then. The stylesheet hides what a notice outdates, by the `while-` classes.
 */
export async function stateOf(
  { api, params }: Visit,
  run: Run | null,
  { shown = run?.state, since, hasSummary = false }: Opened = {},
): Promise<Html> {
  const { run_id = '' } = params;
  const fresh =
    run?.state === 'open' ? await api.perform(getPayrollRunFreshness, { query: { since } }) : null;
  const opened = { shown, since: since ?? fresh?.state, summary: hasSummary || undefined };
  const path = address(runPath(run_id, '/state'), opened);
  const content = html`
    ${run?.state !== shown && changedNotice(run_id, run?.state)}
    ${fresh?.changed && outdatedNotice}
    ${run !== null && hasSummary && runSummary(run)}
  `;
  return live({ id: 'run-state', path, every: '5s' }, content);
}

/** The link opens the address of the page again. */
const outdatedNotice = html`
  <div class="notice run-outdated" role="status">
    <strong>Data of this employer changed after you opened this page.</strong>
    <p>${'The page still shows the run as it was then. '}<a href="">Reload</a></p>
  </div>
`;

function changedNotice(runId: string, now: Run['state'] | undefined): Html {
  const link =
    now === undefined
      ? html`<a href="/runs">All payroll runs</a>`
      : html`<a href=${runPath(runId)}>${`Show the ${now} run`}</a>`;
  return html`
    <div class=${`problem run-changed ${now ?? 'deleted'}`} role="alert">
      <strong>${`This run was ${now ?? 'deleted'} after you opened this page.`}</strong>
      <p>${'The page still shows its amounts as they were then. '}${link}</p>
    </div>
  `;
}

/** Renders who made a run final or void. The bar has all that is known of an open run. */
function runSummary(run: Run): Html | null {
  const { finalized_at, voided_at, last_download } = run;
  if (run.state === 'open') return null;
  const report = run.taken_reports.at(-1);
  const taken =
    report &&
    html`<a href=${runPath(run.id, '/taken')}>${`report ${report.id}, ${counted(report.lines, 'line')}, `}${instant(report.recorded_at)}</a>`;
  return html`
    <section class="card" aria-label="Summary">
      ${facts([
        ['Finalized', finalized_at && instant(finalized_at)],
        ['Finalized by', actorName(run.finalized_by)],
        ['Approved by', actorName(run.approved_by)],
        ['Accepted by', actorName(run.accepted_by)],
        ['Reason', run.accept_reason],
        ['Voided', voided_at && instant(voided_at)],
        ['Voided by', actorName(run.voided_by)],
        ['Voiding approved by', actorName(run.void_approved_by)],
        ['Reason for voiding', run.void_reason],
        [
          'File downloaded',
          last_download && [instant(last_download.at), ` by ${actorName(last_download.by)}`],
        ],
        ['Deductions taken', taken],
      ])}
    </section>
  `;
}

/** Renders the id and the options of a run, which never change, and what its amounts were computed from, if they could be. */
export function optionsOf(run: Run, computed: labels.ComputedRun | undefined): Html {
  const option = ({ label, hint = '' }: Pick<Choice, 'label' | 'hint'> = { label: '–' }) =>
    html`<span><strong>${label}</strong>${' – '}${hint}</span>`;
  return html`
    <section aria-label="Options">
      ${facts([
        ['Run ID', html`<code>${run.id}</code>`],
        ['Created', instant(run.created_at)],
        ['Employer', employerLink(run.employer_id, '/runs')],
        ['Kind', option(labels.RUN_KINDS.find(({ value }) => value === run.kind))],
        ['Pay frequency', run.pay_frequency],
        ['Pay group', run.pay_group ?? 'all'],
        ...labels.OPTION_NAMES.map((name) => {
          const value = name === 'open_items' ? run.open_items_policy : run[name];
          return [labels.OPTIONS[name].label, option(labels.choiceOf(name, value))] as const;
        }),
        [labels.RECOUP.label, labels.recoupLimit(run.recoup)],
        ['Only these employees', listed(run.employee_ids, (id) => nameIn('employee', id))],
        ['Deductions', listed(run.deductions)],
        ['Open items', listed(run.items)],
        ['Final paychecks', listed(run.final_checks, (id) => nameIn('employee', id))],
        ['Pay dates of the year', computed?.pay_dates_used?.map(dayText).join('; ')],
        ['Ledger position', computed && count(computed.position)],
        ['Rules version', computed?.rules_version],
        ['ETag', computed && html`<code>${computed.etag}</code>`],
      ])}
    </section>
  `;
}

function listed(ids: readonly string[] | null, shown: (id: string) => Content = (id) => id): Content {
  if (ids === null || ids.length === 0) return null;
  const more = ids.length - LISTED;
  const items = ids.slice(0, LISTED).map((id, at) => [at > 0 && ', ', shown(id)]);
  return [items, more > 0 && `, and ${more} more`];
}

/** Returns the approval of voiding a final run; null if none is required. */
export async function voidApprovalOf({ api }: Visit, { state: now, employer_id }: Run): Promise<RunApproval> {
  if (now !== 'finalized') return null;
  const { required } = await api.perform(getSecondApproval, { params: { employer_id } });
  if (!required) return null;
  const { approvals } = await api.perform(listPayrollRunApprovals);
  const counting = approvals.filter(({ action, ended_at }) => action === 'void' && ended_at === null);
  const byAnother = counting.find(({ is_yours }) => !is_yours);
  const approved_by = (byAnother ?? counting[0])?.approved_by ?? null;
  const state = approved_by === null ? 'missing' : byAnother === undefined ? 'yours' : 'given';
  return { state, approved_by };
}

/** Links the page where a person approves or withdraws an approval. */
export function toApprovals(runId: string, approval: RunApproval, visit: Visit): Html | null {
  if (approval === null || !mayApprove(visit)) return null;
  return html`<a href=${runPath(runId, '/approve')}>Approvals of this run</a>`;
}

/** Renders the buttons that the state of a run allows. The bar has the next action. `voiding`: the approval of it. */
export function otherActions(run: Run, visit: Visit, voiding: RunApproval): Html {
  const { may } = visit;
  const isVoidApprover = voiding !== null && mayApprove(visit);
  const { id: run_id, employer_id } = run;
  const isEditable = run.state === 'open' && may('runs:write');
  const link = (path: string, title: string, kind = 'quiet') =>
    html`<a class=${`button ${kind}`} href=${path}>${title}</a>`;
  return html`
    <div class="actions while-unchanged">
      ${link(runPath(run_id, '/audit'), 'Compare with payroll')}
      ${isEditable && link(overridePath(run_id), 'Override an amount …')}
      ${link(address('/settings', { employer_id, run: run_id }), 'Payroll settings')}
      ${isVoidApprover && voiding.state === 'missing' && link(runPath(run_id, '/approve'), 'Approve voiding …')}
      ${isVoidApprover && voiding.state === 'yours' && link(runPath(run_id, '/approve'), 'Withdraw your approval …')}
      ${may('runs:approve') && run.state === 'finalized' && obstacleOf(voiding, visit, 'void') === null && link(runPath(run_id, '/void'), 'Void …', 'danger')}
      ${isEditable && html`<button type="button" class="danger" hx-post=${runPath(run_id, '/delete')} hx-confirm=${`Delete the run ${run_id}? This cannot be undone.`}>Delete</button>`}
    </div>
  `;
}
