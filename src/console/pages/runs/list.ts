/** Payroll runs, latest pay date first. */
import type { FastifyInstance } from 'fastify';
import type { Schemas } from '../../../client.ts';
import { defined, need } from '../../api-client.ts';
import { empty, state } from '../../elements/facts.ts';
import { ANY, filterForm, selectField, textField } from '../../elements/fields.ts';
import { count, money } from '../../elements/format.ts';
import { address, idLink, runLink } from '../../elements/links.ts';
import { PAGE_ROWS, pager, table } from '../../elements/table.ts';
import { type Html, html } from '../../html.ts';
import { type ConsoleParts, page, type Visit } from '../../page.ts';
import { periodOf } from './labels.ts';

type Summary = Schemas['PayrollRunSummary'];
const STATES = ['open', 'finalized', 'voided'] as const;

export function runListPages(app: FastifyInstance, parts: ConsoleParts): void {
  page(app, parts, { url: '/runs', scope: 'runs:read' }, async (visit) => {
    const { api, query, may } = visit;
    const { employer_id, cursor } = query;
    const state = STATES.find((one) => one === query.state);
    const list = { limit: PAGE_ROWS, ...defined({ employer_id, state, cursor }) };
    const { data, next_cursor } = need(await api.GET('/v1/payroll-runs', { params: { query: list } }));
    const choices = [ANY, ...STATES.map((value) => ({ value, label: value }))];
    return {
      title: 'Payroll runs',
      place: 'runs',
      body: html`
        <div class="actions">
          ${may('runs:write') && html`<a class="button" href=${address('/runs/new', { employer_id })}>New run</a>`}
          <a class="button quiet" href=${address('/settings', { employer_id })}>Payroll settings</a>
        </div>
        ${filterForm('/runs', (employer_id ?? state) !== undefined, [
          textField({ name: 'employer_id', label: 'Employer ID', value: employer_id ?? '' }),
          selectField({ name: 'state', label: 'State', value: state ?? '', choices }),
        ])}
        ${data.length === 0 ? nothing(visit) : runTable(data)}
        ${pager('/runs', { ...query, state }, next_cursor)}
      `,
    };
  });
}

function runTable(runs: readonly Summary[]): Html {
  return table<Summary>({
    caption: 'Payroll runs, latest pay date first',
    stacked: true,
    captionHidden: true,
    columns: [
      { title: 'Run', kind: 'name', cell: ({ id }) => runLink(id) },
      { title: 'State', cell: (run) => state(run.state) },
      {
        title: 'Employer',
        cell: ({ employer_id }) => idLink(address('/runs', { employer_id }), employer_id),
      },
      { title: 'Pay date', kind: 'date', cell: ({ pay_date }) => pay_date },
      { title: 'Pay period', kind: 'date', cell: periodOf },
      { title: 'Pay frequency', cell: frequencyOf },
      { title: 'Lines', kind: 'number', cell: ({ totals }) => (totals === null ? '–' : count(totals.lines)) },
      { title: 'Employee amount', kind: 'number', cell: ({ totals }) => money(totals?.member_amount) },
      { title: 'Employer amount', kind: 'number', cell: ({ totals }) => money(totals?.employer_amount) },
    ],
    rows: runs,
  });
}

function frequencyOf({ pay_frequency, pay_group, kind }: Summary): string {
  return [
    pay_frequency,
    ...(pay_group === null ? [] : [`pay group ${pay_group}`]),
    ...(kind === 'off_cycle' ? ['off-cycle'] : []),
  ].join(', ');
}

function nothing({ query, may }: Visit): Html {
  if (Object.keys(query).length > 0) return empty('No matching payroll runs');
  return empty(
    'No payroll runs yet',
    html`
      <p>
        ${'A payroll run computes what to deduct on one pay date. Upload the '}<a href="/census">census</a>${' of the employer first. '}
        ${may('runs:write') ? html`<span>${'Then create a '}<a href="/runs/new">new run</a>.</span>` : 'To create a run, your token needs the scope runs:write.'}
      </p>
    `,
  );
}
