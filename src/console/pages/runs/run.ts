/** Payroll runs: the list, and one with its options, totals, readiness and lines. Slow parts load separately. */
import type { Schemas } from '../../../client.ts';
import { attempt } from '../../api-client.ts';
import { readinessOf } from '../../elements/checks.ts';
import { empty, facts, state } from '../../elements/facts.ts';
import { choicesOf, problemSummary } from '../../elements/fields.ts';
import { actorName, count, counted, instant, money } from '../../elements/format.ts';
import { address, idLink, runLink, runPath } from '../../elements/links.ts';
import { filterForm, filtersIn, PAGE_ROWS, pager, table } from '../../elements/list.ts';
import { type Html, html } from '../../html.ts';
import type { Console, Visit } from '../../page.ts';
import * as labels from './labels.ts';
import { linesOfRun } from './lines.ts';
import { overridesOf } from './overrides.ts';
import { runSummary, stateOf, statePart } from './state.ts';
import { figures } from './totals.ts';

type Run = labels.Run;
type Summary = Schemas['PayrollRunSummary'];

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
    const { settled_by, taken, cursor } = visit.query;
    const isOpen = run.state === 'open';
    const isFirstPage = cursor === undefined;
    const body = html`
      ${settled_by !== undefined && html`<p role="status">${`Finalized runs with adjustments or arrears for this run: ${settled_by}`}</p>`}
      ${taken !== undefined && html`<p role="status">${`Report these deductions taken again for the run that replaces this one: ${taken}`}</p>`}
      ${stateOf(visit, run, run.state, runSummary)}
      ${isFirstPage && isOpen && html`<div class="while-unchanged">${later(runPath(run.id, '/readiness'), 'Checking readiness …')}</div>`}
      ${isFirstPage && later(runPath(run.id, '/figures'), isOpen ? 'Computing the run …' : 'Loading the totals …')}
      ${isFirstPage && (await overridesOf(visit, run))}
      ${await linesOfRun(visit, run)}
      ${isFirstPage && !isOpen && verification(run.id)}
      ${isFirstPage && visit.may('audit:read') && (await historyOf(visit))}
    `;
    return { title: `Payroll run ${run.id}`, body };
  });

  statePart(part);

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
        ${run.state === 'open' && may('runs:write') && html`<div class="actions while-unchanged"><a class="button" href=${address(runPath(run.id, '/finalize'), reviewedOf(run))}>Finalize …</a></div>`}
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

/** Renders who did what with the run. */
async function historyOf({ api, params }: Visit): Promise<Html> {
  const list = await api.get('/v1/audit', {
    resource_type: 'run',
    resource_id: params.run_id,
    limit: PAGE_ROWS,
  });
  const caption = `Actions on run ${params.run_id}, oldest first`;
  return html`
    <details>
      <summary>History</summary>
      ${table(list.data, { caption, stacked: true, captionHidden: true }, [
        ['Action', ({ action }) => action, 'name'],
        ['Time', ({ recorded_at }) => instant(recorded_at), 'date'],
        ['By', ({ actor }) => actorName(actor)],
        ['Reason', ({ reason }) => reason ?? '–', 'wide'],
      ])}
      ${list.has_more && html`<p class="hint">${`Only the first ${PAGE_ROWS} are shown. The API lists all of them.`}</p>`}
    </details>
  `;
}

function verification(runId: string): Html {
  return html`
    <section class="while-stored" aria-labelledby="verify">
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
