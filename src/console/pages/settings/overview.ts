/** The payroll settings of an employer: pay schedules, payroll codes and payroll policy. */
import type { FastifyInstance } from 'fastify';
import type { Schemas } from '../../../client.ts';
import { need } from '../../api-client.ts';
import { empty } from '../../elements/facts.ts';
import { filterForm, textField } from '../../elements/fields.ts';
import { count } from '../../elements/format.ts';
import { address, idLink } from '../../elements/links.ts';
import { PAGE_ROWS, table } from '../../elements/table.ts';
import { type Html, html } from '../../html.ts';
import { type ConsoleParts, page, type Visit } from '../../page.ts';
import { codesOf, codeTable } from './codes.ts';
import { policiesOf, policyTable } from './policy.ts';

export type Schedule = Schemas['PaySchedules']['schedules'][number];
/** The key of a schedule among those of its employer. */
export type ScheduleKey = Pick<Schedule, 'pay_frequency' | 'pay_group'>;

/** Dates on one page: two schedules with ten years of weekly dates. An employer may have 100 schedules. */
const DATES_SHOWN = 1_100;

export function settingPages(app: FastifyInstance, parts: ConsoleParts): void {
  page(app, parts, { url: '/settings', scope: 'runs:read' }, async (visit) => {
    const { employer_id } = visit.query;
    return {
      title: employer_id === undefined ? 'Payroll settings' : `Payroll settings of ${employer_id}`,
      place: 'runs',
      body: employer_id === undefined ? await chooser(visit) : await ofEmployer(visit, employer_id),
    };
  });
}

async function chooser({ api }: Visit): Promise<Html> {
  const { data } = need(await api.GET('/v1/payroll-runs', { params: { query: { limit: PAGE_ROWS } } }));
  const employers = [...new Set(data.map(({ employer_id }) => employer_id))].sort();
  return html`
    <p>Pay schedules list the pay dates of an employer. Payroll codes name each deduction the way payroll does. The payroll policy sets the options of runs.</p>
    ${filterForm('/settings', false, textField({ name: 'employer_id', label: 'Employer ID', value: '', required: true }))}
    ${
      employers.length > 0 &&
      html`
        <section class="card" aria-labelledby="recent">
          <h2 id="recent">Employers with recent runs</h2>
          <ul>${employers.map((id) => html`<li>${idLink(address('/settings', { employer_id: id }), id)}</li>`)}</ul>
        </section>
      `
    }
  `;
}

async function ofEmployer({ api, may, query }: Visit, employer_id: string): Promise<Html> {
  const schedules = await schedulesOf(api, employer_id);
  const codes = await codesOf(api, employer_id);
  const policies = await policiesOf(api, employer_id);
  const edit = (path: string, title: string) =>
    may('runs:write') &&
    html`<div class="actions"><a class="button quiet" href=${address(`/settings/${path}`, { employer_id })}>${title}</a></div>`;
  return html`
    ${query.saved !== undefined && html`<p role="status"><strong>Saved.</strong>${' Open runs use the new settings; finalized runs do not change.'}</p>`}
    <p><a href=${address('/runs', { employer_id })}>Payroll runs of this employer</a></p>
    <section aria-labelledby="schedules">
      <h2 id="schedules">Pay schedules</h2>
      ${
        schedules.length === 0
          ? empty(
              'No pay schedule',
              html`<p>Without one, weekly and biweekly pay dates are counted from the pay date of each run. That is wrong when a holiday moves a pay date into another year.</p>`,
            )
          : scheduleCards(schedules, { employer_id, mayWrite: may('runs:write'), selected: query })
      }
      ${edit('pay-schedule', 'Add a pay schedule')}
    </section>
    <section aria-labelledby="codes">
      <h2 id="codes">Payroll codes</h2>
      ${
        codes.length === 0
          ? empty(
              'No payroll codes',
              html`<p>Lines have no payroll code. Once you add one, readiness reports lines that have none.</p>`,
            )
          : codeTable(codes, 'Payroll codes', true)
      }
      ${edit('payroll-codes', 'Edit payroll codes')}
    </section>
    <section aria-labelledby="policy">
      <h2 id="policy">Payroll policy</h2>
      ${policyTable(policies)}
      ${edit('payroll-policy', 'Edit payroll policy')}
    </section>
  `;
}

export async function schedulesOf(api: Visit['api'], employer_id: string): Promise<Schedule[]> {
  const path = { employer_id };
  return need(await api.GET('/v1/employers/{employer_id}/pay-schedule', { params: { path } })).schedules;
}

/** A missing pay group is null in some responses and absent in others. */
export function isFor(one: ScheduleKey, other: ScheduleKey): boolean {
  return one.pay_frequency === other.pay_frequency && (one.pay_group ?? null) === (other.pay_group ?? null);
}

/** Shows the dates of the first schedules, up to `DATES_SHOWN`, and of the `selected` one; the others are links. */
function scheduleCards(
  schedules: readonly Schedule[],
  given: { employer_id: string; mayWrite: boolean; selected: Readonly<Record<string, string>> },
): Html {
  let dates = 0;
  return html`
    ${schedules.map((schedule) => {
      dates += schedule.pay_dates.length;
      return card(schedule, { ...given, fits: dates <= DATES_SHOWN });
    })}
  `;
}

function card(
  schedule: Schedule,
  {
    employer_id,
    mayWrite,
    selected,
    fits,
  }: { employer_id: string; mayWrite: boolean; selected: Readonly<Record<string, string>>; fits: boolean },
): Html {
  const { pay_frequency, pay_group, pay_dates } = schedule;
  const [first, last] = [pay_dates.at(0), pay_dates.at(-1)];
  const key = { employer_id, pay_frequency, pay_group: pay_group ?? undefined };
  const isSelected = selected.pay_frequency === key.pay_frequency && selected.pay_group === key.pay_group;
  return html`
    <section class="card">
      <h3>${titleOf(schedule)}</h3>
      <p>${`${pay_dates.length} pay dates, ${first?.pay_date} to ${last?.pay_date}`}</p>
      ${
        fits || isSelected
          ? html`
              <details open=${isSelected}>
                <summary>Pay dates</summary>
                ${dateTable(schedule, `Pay dates, ${titleOf(schedule)}`)}
              </details>
            `
          : html`<p class="hint">${`This page shows at most ${count(DATES_SHOWN)} dates. `}<a href=${address('/settings', key)}>Show the dates of this schedule</a></p>`
      }
      ${mayWrite && html`<p><a href=${address('/settings/pay-schedule', key)}>Edit</a></p>`}
    </section>
  `;
}

export function dateTable({ pay_dates }: Schedule, caption: string): Html {
  return table<Schedule['pay_dates'][number]>({
    caption,
    captionHidden: true,
    columns: [
      { title: 'Pay date', kind: 'name', cell: ({ pay_date }) => pay_date },
      { title: 'Period start', kind: 'date', cell: ({ period_start }) => period_start },
      { title: 'Period end', kind: 'date', cell: ({ period_end }) => period_end },
    ],
    rows: pay_dates,
  });
}

export function titleOf({ pay_frequency, pay_group }: Schedule): string {
  return (pay_group ?? null) === null ? pay_frequency : `${pay_frequency}, pay group ${pay_group}`;
}
