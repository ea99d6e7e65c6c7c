/** Payroll runs: the list, and one with its options, totals, readiness and lines. Slow parts load separately. */
import type { Schemas } from '../../../client.ts';
import { attempt } from '../../api-client.ts';
import { checkNames, readinessOf } from '../../elements/checks.ts';
import { empty, facts, state } from '../../elements/facts.ts';
import { type Choice, choicesOf, problemSummary } from '../../elements/fields.ts';
import { count, counted, instant, money } from '../../elements/format.ts';
import { address, idLink, runLink, runPath } from '../../elements/links.ts';
import { filterForm, filtersIn, PAGE_ROWS, pager, table } from '../../elements/list.ts';
import { type Html, html } from '../../html.ts';
import type { Console, Visit } from '../../page.ts';
import * as labels from './labels.ts';
import { linesOfRun } from './lines.ts';
import { figures } from './totals.ts';

type Run = labels.Run;
type Summary = Schemas['PayrollRunSummary'];

/** Ids listed of an option; a run may have 100,000. */
const LISTED = 50;
const FILTERS = [
  { name: 'employer_id', label: 'Employer ID' },
  { name: 'state', label: 'State', choices: choicesOf(Object.keys(labels.STATES)) },
];

export function runPages({ page, part }: Console): void {
  page('/runs', 'runs:read', async (visit) => {
    const { api, query, may } = visit;
    const { employer_id, cursor } = query;
    const list = { limit: PAGE_ROWS, cursor, ...filtersIn(query, FILTERS) };
    const { data, next_cursor } = await api.get('/v1/payroll-runs', list);
    const body = html`
      <div class="actions">
        ${may('runs:write') && html`<a class="button" href=${address('/runs/new', { employer_id })}>New run</a>`}
        <a class="button quiet" href=${address('/settings', { employer_id })}>Payroll settings</a>
      </div>
      ${filterForm('/runs', query, FILTERS)}
      ${data.length === 0 ? nothing(visit) : runTable(data)}
      ${pager('/runs', query, next_cursor)}
    `;
    return { title: 'Payroll runs', body };
  });

  page('/runs/:run_id', 'runs:read', async (visit) => {
    const run = await outlineOf(visit);
    const { settled_by, cursor } = visit.query;
    const isOpen = run.state === 'open';
    const isFirstPage = cursor === undefined;
    const body = html`
      ${settled_by !== undefined && html`<p role="status">${`Finalized runs with adjustments or arrears for this run: ${settled_by}`}</p>`}
      ${summary(run)}
      ${actions(run, visit)}
      ${isFirstPage && isOpen && later(runPath(run.id, '/readiness'), 'Checking readiness …')}
      ${isFirstPage && later(runPath(run.id, '/figures'), isOpen ? 'Computing the run …' : 'Loading the totals …')}
      ${await linesOfRun(visit, run)}
      ${isFirstPage && !isOpen && verification(run.id)}
    `;
    return { title: `Payroll run ${run.id}`, body };
  });

  part('/runs/:run_id/figures', 'runs:read', async ({ api, may }) => {
    const { data: run, problem } = await attempt(api.get('/v1/payroll-runs/{run_id}'), 422);
    if (problem !== undefined) {
      // The pay schedule or the roster of an open run changed.
      return html`
        <section aria-labelledby="totals">
          <h2 id="totals">This run cannot be computed</h2>
          ${problemSummary(problem)}
          <p>Data that it needs has changed since it was created. Fix that, or delete the run and create a new one.</p>
        </section>
      `;
    }
    return html`
      <section aria-labelledby="totals">
        <h2 id="totals">Totals</h2>
        ${figures(run)}
        ${run.state === 'open' && may('runs:write') && html`<div class="actions"><a class="button" href=${address(runPath(run.id, '/finalize'), reviewedOf(run))}>Finalize …</a></div>`}
        <details class="hint">
          <summary>Calculation details</summary>
          ${facts([
            ['Ledger position', run.position],
            ['Rules version', run.rules_version],
            ['ETag', html`<code>${run.etag}</code>`],
            ['Pay dates of the year', run.pay_dates_used?.join(', ')],
          ])}
        </details>
      </section>
    `;
  });

  part('/runs/:run_id/readiness', 'runs:read', async (visit) => {
    const { data } = await attempt(visit.api.get('/v1/payroll-runs/{run_id}/readiness'), 422);
    return data === undefined ? html`<div></div>` : readinessOf(data, await outlineOf(visit), visit);
  });

  part('/runs/:run_id/verification', 'runs:read', async ({ api }) =>
    verified(await api.get('/v1/payroll-runs/{run_id}/verify')),
  );
}

function runTable(runs: readonly Summary[]): Html {
  const caption = 'Payroll runs, latest pay date first';
  return table(runs, { caption, stacked: true, captionHidden: true }, [
    ['Run', ({ id }) => runLink(id), 'name'],
    ['State', (run) => state(run.state)],
    ['Employer', ({ employer_id }) => idLink(address('/runs', { employer_id }), employer_id)],
    ['Pay date', ({ pay_date }) => pay_date, 'date'],
    ['Pay period', labels.periodOf, 'date'],
    ['Pay frequency', frequencyOf],
    ['Lines', ({ totals }) => (totals === null ? '–' : count(totals.lines)), 'number'],
    ['Employee amount', ({ totals }) => money(totals?.member_amount), 'number'],
    ['Employer amount', ({ totals }) => money(totals?.employer_amount), 'number'],
  ]);
}

function frequencyOf({ pay_frequency, pay_group, kind }: Summary): string {
  const group = pay_group === null ? '' : `, pay group ${pay_group}`;
  return pay_frequency + group + (kind === 'off_cycle' ? ', off-cycle' : '');
}

function nothing({ query, may }: Visit): Html {
  if (Object.keys(query).length > 0) return empty('No matching payroll runs');
  const next = may('runs:write')
    ? html`<span>${'Then create a '}<a href="/runs/new">new run</a>.</span>`
    : 'To create a run, your token needs the scope runs:write.';
  const advice = html`<p>${'A payroll run computes what to deduct on one pay date. Upload the '}<a href="/census">census</a>${' of the employer first. '}${next}</p>`;
  return empty('No payroll runs yet', advice);
}

/** Reads the run's options without computing it. Throws NOT_FOUND for an unknown id. */
export function outlineOf({ api }: Visit): Promise<Run> {
  return api.get('/v1/payroll-runs/{run_id}/outline');
}

/** A part of a page that takes as long as computing the run. */
export function later(path: string, message: string): Html {
  return html`
    <div hx-get=${path} hx-trigger="load" hx-swap="outerHTML">
      <p class="card soft" role="status">${message}</p>
    </div>
  `;
}

/** The figures that a user reviews before finalizing. They are sent along, to notice when they changed. */
export const REVIEWED = {
  lines: 'Lines',
  employees: 'Employees',
  member_amount: 'Employee amount',
  employer_amount: 'Employer amount',
} as const;
export type Reviewed = Readonly<Record<keyof typeof REVIEWED | 'etag', string>>;

export function reviewedOf(run: Schemas['PayrollRun']): Reviewed {
  const { lines, member_amount, employer_amount } = run.totals;
  const { etag, employees } = run;
  return { etag, lines: String(lines), employees: String(employees), member_amount, employer_amount };
}

function summary(run: Run): Html {
  const { employer_id, finalized_at, accepted_checks, voided_at } = run;
  const report = run.taken_reports.at(-1);
  const taken =
    report &&
    html`<span>${`report ${report.id}, ${counted(report.lines, 'line')}, `}${instant(report.recorded_at)}</span>`;
  const option = ({ label, hint = '' }: Pick<Choice, 'label' | 'hint'> = { label: '–' }) =>
    html`<span><strong>${label}</strong>${' – '}${hint}</span>`;
  return html`
    <section class="card" aria-label="Summary">
      ${facts([
        ['State', html`<span>${state(run.state)}${` ${labels.STATES[run.state]}`}</span>`],
        ['Employer', idLink(address('/runs', { employer_id }), employer_id)],
        ['Pay date', run.pay_date],
        ['Pay period', labels.periodOf(run)],
        ['Created', instant(run.created_at)],
        ['Finalized', finalized_at && instant(finalized_at)],
        ['Accepted findings', accepted_checks.length > 0 && checkNames(accepted_checks, run)],
        ['Reason', run.accept_reason],
        ['Voided', voided_at && instant(voided_at)],
        ['Reason for voiding', run.void_reason],
        ['Deductions taken', taken],
      ])}
      <details>
        <summary>Options</summary>
        ${facts([
          ['Kind', option(labels.RUN_KINDS.find(({ value }) => value === run.kind))],
          ['Pay frequency', run.pay_frequency],
          ['Pay group', run.pay_group ?? 'all'],
          ...labels.OPTION_NAMES.map((name) => {
            return [labels.OPTIONS[name].label, option(labels.choiceOf(name, run[name]))] as const;
          }),
          ['Reason for a different policy', run.policy_reason],
          ['Pay dates', listed(run.pay_dates)],
          ['Only these employees', listed(run.employee_ids)],
          ['Only these deductions', listed(run.deductions)],
          ['Final paychecks', listed(run.final_checks)],
        ])}
      </details>
    </section>
  `;
}

function listed(ids: readonly string[] | null): string | null {
  if (ids === null || ids.length === 0) return null;
  const more = ids.length - LISTED;
  return ids.slice(0, LISTED).join(', ') + (more > 0 ? `, and ${more} more` : '');
}

function actions({ id: run_id, state, employer_id }: Run, { may }: Visit): Html {
  const [isOpen, isFinalized] = [state === 'open', state === 'finalized'];
  const mayWrite = may('runs:write');
  const link = (path: string, title: string, kind = 'quiet') =>
    html`<a class=${`button ${kind}`} href=${path}>${title}</a>`;
  return html`
    <div class="actions">
      ${isOpen && link(runPath(run_id), 'Recompute')}
      ${link(runPath(run_id, '/audit'), 'Compare with payroll')}
      ${mayWrite && isFinalized && link(runPath(run_id, '/taken'), 'Report deductions taken')}
      ${mayWrite && link(address('/runs/new', { like: run_id }), 'Copy to a new run')}
      ${link(address('/settings', { employer_id }), 'Payroll settings')}
      ${mayWrite && isFinalized && link(runPath(run_id, '/void'), 'Void …', 'danger')}
      ${mayWrite && isOpen && html`<button type="button" class="danger" hx-post=${runPath(run_id, '/delete')} hx-confirm=${`Delete the run ${run_id}? This cannot be undone.`}>Delete</button>`}
    </div>
  `;
}

function verification(runId: string): Html {
  return html`
    <section aria-labelledby="verify">
      <h2 id="verify">Verification</h2>
      <p class="hint">Recomputes the run from the ledger, with the options and data stored when it was finalized, and compares every line.</p>
      <div class="actions">
        <button type="button" class="quiet" hx-get=${runPath(runId, '/verification')} hx-target="#verification" hx-indicator="closest .actions">Verify</button>
        <span class="busy soft" role="status">Recomputing the run …</span>
      </div>
      <div id="verification" aria-live="polite"></div>
    </section>
  `;
}

function verified(result: Schemas['PayrollRunVerification']): Html {
  const { identical, lines, difference_count, differences } = result;
  if (identical) return html`<p>${state('identical')}${` All ${counted(lines, 'line')} match.`}</p>`;
  const compared = differences.map(
    ({ employee_id, line, frozen, computed }) => html`
      <details class="card">
        <summary>${employee_id}${`, ${line ?? 'membership in the run'}`}</summary>
        <p>Finalized</p>
        <pre tabindex="0">${JSON.stringify(frozen, null, 2)}</pre>
        <p>Recomputed</p>
        <pre tabindex="0">${JSON.stringify(computed, null, 2)}</pre>
      </details>
    `,
  );
  return html`
    <p>${state('different')}${` ${counted(difference_count, 'difference')} in ${counted(lines, 'line')}. The stored run or the ledger was altered. Keep a copy of the database and contact support.`}</p>
    ${compared}
  `;
}
