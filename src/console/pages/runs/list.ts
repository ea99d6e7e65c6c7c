/** Payroll runs, latest pay date first. */
import type { Schemas } from '../../../client.ts';
import { empty, state } from '../../elements/facts.ts';
import { choicesOf, filterForm, filtersIn } from '../../elements/fields.ts';
import { count, money } from '../../elements/format.ts';
import { address, idLink, runLink } from '../../elements/links.ts';
import { PAGE_ROWS, pager, table } from '../../elements/table.ts';
import { type Html, html } from '../../html.ts';
import type { Console, Visit } from '../../page.ts';
import { periodOf } from './labels.ts';

type Summary = Schemas['PayrollRunSummary'];
const FILTERS = [
  { name: 'employer_id', label: 'Employer ID' },
  { name: 'state', label: 'State', choices: choicesOf(['open', 'finalized', 'voided']) },
] as const;

export function runListPages({ page }: Console): void {
  page('/runs', 'runs:read', async (visit) => {
    const { api, query, may } = visit;
    const { employer_id, cursor } = query;
    const list = { limit: PAGE_ROWS, cursor, ...filtersIn(query, FILTERS) };
    const { data, next_cursor } = await api.get('/v1/payroll-runs', list);
    return {
      title: 'Payroll runs',
      body: html`
        <div class="actions">
          ${may('runs:write') && html`<a class="button" href=${address('/runs/new', { employer_id })}>New run</a>`}
          <a class="button quiet" href=${address('/settings', { employer_id })}>Payroll settings</a>
        </div>
        ${filterForm('/runs', query, FILTERS)}
        ${data.length === 0 ? nothing(visit) : runTable(data)}
        ${pager('/runs', query, next_cursor)}
      `,
    };
  });
}

function runTable(runs: readonly Summary[]): Html {
  const caption = 'Payroll runs, latest pay date first';
  return table(runs, { caption, stacked: true, captionHidden: true }, [
    ['Run', ({ id }) => runLink(id), 'name'],
    ['State', (run) => state(run.state)],
    ['Employer', ({ employer_id }) => idLink(address('/runs', { employer_id }), employer_id)],
    ['Pay date', ({ pay_date }) => pay_date, 'date'],
    ['Pay period', periodOf, 'date'],
    ['Pay frequency', frequencyOf],
    ['Lines', ({ totals }) => (totals === null ? '–' : count(totals.lines)), 'number'],
    ['Employee amount', ({ totals }) => money(totals?.member_amount), 'number'],
    ['Employer amount', ({ totals }) => money(totals?.employer_amount), 'number'],
  ]);
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
