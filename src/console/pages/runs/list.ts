/** Payroll runs, the latest pay date first. */
import type { FastifyInstance } from 'fastify';
import type { Schemas } from '../../../client.ts';
import { command, empty } from '../../elements/empty.ts';
import { idLink } from '../../elements/links.ts';
import { address, PAGE_ROWS, pager } from '../../elements/pager.ts';
import { state } from '../../elements/state.ts';
import { table } from '../../elements/table.ts';
import { type Html, html } from '../../html.ts';
import { need } from '../../own-api.ts';
import { page, type Visit } from '../../page.ts';
import type { ConsoleParts } from '../../parts.ts';
import { runLink } from './run-path.ts';
import { periodOf } from './words.ts';

type Summary = Schemas['PayrollRunSummary'];
const STATES = ['open', 'finalized', 'voided'] as const;

export function runListPages(app: FastifyInstance, parts: ConsoleParts): void {
  page(app, parts, { url: '/runs', scope: 'runs:read' }, async (visit) => {
    const { api, query, may } = visit;
    const state = STATES.find((one) => one === query.state);
    const asked = {
      limit: PAGE_ROWS,
      ...(query.employer_id !== undefined && { employer_id: query.employer_id }),
      ...(state !== undefined && { state }),
      ...(query.cursor !== undefined && { cursor: query.cursor }),
    };
    const { data, next_cursor } = need(await api.GET('/v1/payroll-runs', { params: { query: asked } }));
    return {
      title: 'Payroll runs',
      place: 'runs',
      body: html`
        <div>
          <div class="actions">
            ${may('runs:write') && html`<a class="button" href=${address('/runs/new', { employer_id: query.employer_id })}>New run</a>`}
            <a class="button quiet" href=${address('/settings', { employer_id: query.employer_id })}>Pay schedules and payroll codes</a>
          </div>
          ${filters(query)}
          ${data.length === 0 ? nothing(visit) : runTable(data)}
          ${pager('/runs', { ...query, state }, next_cursor)}
        </div>
      `,
    };
  });
}

function filters(query: Visit['query']): Html {
  return html`
    <form class="fields" method="get" action="/runs" role="search">
      <div class="field">
        <label for="employer_id">Employer id</label>
        <input id="employer_id" name="employer_id" value=${query.employer_id} autocomplete="off" />
      </div>
      <div class="field">
        <label for="state">State</label>
        <select id="state" name="state">
          <option value="">any</option>
          ${STATES.map((one) => html`<option value=${one} selected=${one === query.state}>${one}</option>`)}
        </select>
      </div>
      <button type="submit" class="quiet">Show</button>
    </form>
  `;
}

function runTable(runs: readonly Summary[]): Html {
  return table({
    caption: 'Payroll runs, the latest pay date first',
    stacked: true,
    captionHidden: true,
    columns: [
      { title: 'Run', kind: 'name', cell: ({ run_id }: Summary) => runLink(run_id) },
      { title: 'State', cell: (run) => state(run.state) },
      {
        title: 'Employer',
        cell: ({ employer_id }) => idLink(address('/runs', { employer_id }), employer_id),
      },
      { title: 'Pay date', kind: 'date', cell: ({ pay_date }) => pay_date },
      { title: 'Pay period', kind: 'date', cell: periodOf },
      { title: 'Paid', cell: ({ pay_frequency, pay_group, kind }) => paidOf(pay_frequency, pay_group, kind) },
      { title: 'Lines', kind: 'number', cell: ({ totals }) => totals?.lines.toLocaleString('en-US') ?? '–' },
      { title: 'Employees pay', kind: 'number', cell: ({ totals }) => totals?.member_amount ?? '–' },
      { title: 'Employer pays', kind: 'number', cell: ({ totals }) => totals?.employer_amount ?? '–' },
    ],
    rows: runs,
  });
}

function paidOf(frequency: string, group: string | null, kind: Summary['kind']): string {
  return [
    frequency,
    ...(group === null ? [] : [`pay group ${group}`]),
    ...(kind === 'off_cycle' ? ['off-cycle'] : []),
  ].join(', ');
}

function nothing({ query, may }: Visit): Html {
  if (Object.keys(query).length > 0) return empty('There is no such payroll run.');
  return empty(
    'There is no payroll run yet.',
    html`
      <div>
        <p>
          ${'A run answers what to deduct on one paycheck. Bring the census of the employer first, so that it is known who works there; then put a run'}${may('runs:write') && html`<span>${' with '}<a href="/runs/new">New run</a></span>`}${', or have payroll put it:'}
        </p>
        ${command(
          [
            'curl -X PUT -H "Authorization: Bearer $TOKEN" -H "Content-Type: application/json" \\',
            '     $API/v1/payroll-runs/acme-2026-07-17 -d \'{"employer_id": "acme", "pay_frequency": "biweekly",',
            '     "period_start": "2026-06-29", "period_end": "2026-07-12", "pay_date": "2026-07-17"}\'',
          ].join('\n'),
        )}
      </div>
    `,
  );
}
