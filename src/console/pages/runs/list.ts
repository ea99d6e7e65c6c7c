/** The list of payroll runs and, for one employer, its next pay dates. */
import type { RowOf } from '../../../api/operation.ts';
import { listPayrollRuns } from '../../../api/operations/payroll-runs.ts';
import { empty, savedNotice, state } from '../../elements/facts.ts';
import { choicesOf } from '../../elements/fields.ts';
import { count, dayOf, dayText, lacksScope, money } from '../../elements/format.ts';
import { address, nameable, runPath } from '../../elements/links.ts';
import { type Filter, table, withNote } from '../../elements/list.ts';
import { type Html, html } from '../../html.ts';
import type { Console, Visit } from '../../page.ts';
import { EMPLOYER_FILTER, readList } from '../employers.ts';
import { payrollFields } from '../payrolls.ts';
import { scheduleYearsOf, titleOf } from '../settings/overview.ts';
import * as labels from './labels.ts';

type Summary = RowOf<typeof listPayrollRuns>;

/** Pay dates that a person may choose to start: two months of a biweekly schedule. */
const PAY_DATES_SHOWN = 4;
const FILTERS: readonly Filter[] = [
  EMPLOYER_FILTER,
  { name: 'state', label: 'State', choices: choicesOf(['open', 'finalized', 'voided']) },
];

export function runListPages({ page }: Console): void {
  page('/runs', 'runs:read', async (visit) => {
    const { may } = visit;
    const { deleted, employer_id } = visit.query;
    const { data, filter, form, pages } = await readList(visit, '/runs', listPayrollRuns, FILTERS);
    const body = html`
      ${savedNotice({ saved: deleted }, '/', 'All payrolls', `Run ${deleted} deleted.`)}
      <div class="actions">
        ${may('runs:write') && html`<a class="button quiet" href=${address('/runs/new', { employer_id })}>New off-cycle run</a>`}
        <a class="button quiet" href=${address('/settings', { employer_id })}>Payroll settings</a>
      </div>
      ${employer_id !== undefined && may('runs:write') && (await nextPayDates(visit, employer_id))}
      ${form}
      ${data.length === 0 ? nothing({ may, query: filter }) : runTable(data)}
      ${pages}
    `;
    return { title: 'Payroll runs', body };
  });
}

function runTable(runs: readonly Summary[]): Html {
  const caption = 'Payroll runs, latest pay date first';
  return table(runs, { caption, captionHidden: true }, [
    ['Run', named, 'name'],
    ['State', (run) => state(run.state)],
    ['Pay date', ({ pay_date }) => dayOf(pay_date), 'date'],
    ['Pay period', labels.periodOf],
    ['Lines', ({ totals }) => (totals === null ? '–' : count(totals.lines)), 'number'],
    ['Employee amount', ({ totals }) => money(totals?.member_amount), 'number'],
    ['Employer amount', ({ totals }) => money(totals?.employer_amount), 'number'],
    ['ID', ({ id }) => html`<span class="id">${id}</span>`, 'small'],
  ]);
}

/** Links a run by its employer and schedule. */
function named({ id, employer_id, pay_frequency, pay_group, kind }: Summary): Html {
  const group = pay_group === null ? '' : `, ${pay_group}`;
  const schedule = pay_frequency + group + (kind === 'off_cycle' ? ', off-cycle' : '');
  const link = html`<a href=${runPath(id)}>${employer_id}</a>`;
  return withNote(nameable('employer', employer_id, link, true), schedule);
}

function nothing({ query, may }: Pick<Visit, 'query' | 'may'>): Html {
  if (Object.keys(query).length > 0)
    return empty('No matching payroll runs', html`<p><a href="/runs">Show all payroll runs</a></p>`);
  const next = may('runs:write')
    ? html`<span>${'Then start its payroll on '}<a href="/">Home</a>.</span>`
    : lacksScope('To create a run', 'runs:write');
  const advice = html`<p>${'A payroll run computes what to deduct on one pay date. Upload the '}<a href="/census">census</a>${' of the employer first. '}${next}</p>`;
  return empty('No payroll runs yet', advice);
}

/** Renders a button that opens the run of each of the next pay dates. The first payroll may be that of a later date. */
async function nextPayDates({ api, today }: Visit, employer_id: string): Promise<Html | null> {
  const schedules = (await scheduleYearsOf(api, employer_id)).flatMap((year) => year.schedules);
  const payrolls = schedules.flatMap(({ pay_frequency, pay_group = null, pay_dates }) =>
    pay_dates.map(({ pay_date }) => ({ employer_id, pay_frequency, pay_group, pay_date })),
  );
  const next = payrolls
    .filter(({ pay_date }) => pay_date >= today)
    .toSorted((a, b) => (a.pay_date < b.pay_date ? -1 : 1))
    .slice(0, PAY_DATES_SHOWN);
  if (next.length === 0) return null;
  return html`
    <div class="actions">
      <span>Open the payroll of</span>
      ${next.map(
        (payroll) => html`
          <form hx-post="/payrolls/open">
            ${payrollFields(payroll)}
            <button type="submit" class="quiet">${dayText(payroll.pay_date)}${schedules.length > 1 && `, ${titleOf(payroll)}`}<span class="hidden-label">: ${labels.nameOf(payroll)}</span></button>
          </form>
        `,
      )}
    </div>
  `;
}
