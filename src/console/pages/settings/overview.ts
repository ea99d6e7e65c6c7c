/** The payroll settings of an employer: pay schedules, payroll codes and payroll policy. */
import type { Schemas } from '../../../client.ts';
import type { Api } from '../../api-client.ts';
import { empty } from '../../elements/facts.ts';
import { filterForm } from '../../elements/fields.ts';
import { count } from '../../elements/format.ts';
import { address, idLink } from '../../elements/links.ts';
import { PAGE_ROWS, table } from '../../elements/table.ts';
import { type Html, html } from '../../html.ts';
import type { Console, Visit } from '../../page.ts';
import { codesOf, codeTable } from './codes.ts';
import { policiesOf, policyTable } from './policy.ts';

export type Schedule = Schemas['PaySchedules']['schedules'][number];
/** The key of a schedule among those of its employer. */
export type ScheduleKey = Pick<Schedule, 'pay_frequency' | 'pay_group'>;

/** Dates on one page: two schedules with ten years of weekly dates. An employer may have 100 schedules. */
const DATES_SHOWN = 1_100;

export function settingPages({ page }: Console): void {
  page('/settings', 'runs:read', async (visit) => {
    const { employer_id } = visit.query;
    return employer_id === undefined
      ? { title: 'Payroll settings', body: await chooser(visit) }
      : { title: `Payroll settings of ${employer_id}`, body: await ofEmployer(visit, employer_id) };
  });
}

async function chooser({ api }: Visit): Promise<Html> {
  const { data } = await api.get('/v1/payroll-runs', { limit: PAGE_ROWS });
  const employers = [...new Set(data.map(({ employer_id }) => employer_id))].sort();
  return html`
    <p>Pay schedules list the pay dates of an employer. Payroll codes are the names that payroll uses for the deductions. The payroll policy sets the options of payroll runs.</p>
    ${filterForm('/settings', {}, [{ name: 'employer_id', label: 'Employer ID', required: true }])}
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
  const section = (id: string, title: string, content: Html, path: string, edit: string) => html`
    <section aria-labelledby=${id}>
      <h2 id=${id}>${title}</h2>
      ${content}
      ${may('runs:write') && html`<div class="actions"><a class="button quiet" href=${address(path, { employer_id })}>${edit}</a></div>`}
    </section>
  `;
  return html`
    ${query.saved !== undefined && html`<p role="status"><strong>Saved.</strong>${' Open runs use the new settings; finalized runs do not change.'}</p>`}
    <p><a href=${address('/runs', { employer_id })}>Payroll runs of this employer</a></p>
    ${section('schedules', 'Pay schedules', scheduleCards(schedules, { may, query }), '/settings/pay-schedule', 'Add a pay schedule')}
    ${section(
      'codes',
      'Payroll codes',
      codes.length === 0
        ? empty(
            'No payroll codes',
            html`<p>Lines have no payroll code. Once you add one, readiness reports lines that have none.</p>`,
          )
        : codeTable(codes, 'Payroll codes', true),
      '/settings/payroll-codes',
      'Edit payroll codes',
    )}
    ${section('policy', 'Payroll policy', policyTable(policies), '/settings/payroll-policy', 'Edit payroll policy')}
  `;
}

export async function schedulesOf(api: Api, employer_id: string): Promise<Schedule[]> {
  return (await api.get('/v1/employers/{employer_id}/pay-schedule', { employer_id })).schedules;
}

/** A missing pay group is null in some responses and absent in others. */
export function isFor(one: ScheduleKey, other: ScheduleKey | null): boolean {
  return one.pay_frequency === other?.pay_frequency && (one.pay_group ?? null) === (other.pay_group ?? null);
}

/** Shows the dates of the first schedules, up to `DATES_SHOWN`, and of the one in the address; the others are links. */
function scheduleCards(schedules: readonly Schedule[], { may, query }: Pick<Visit, 'may' | 'query'>): Html {
  if (schedules.length === 0) {
    return empty(
      'No pay schedule',
      html`<p>Without one, weekly and biweekly pay dates are counted from the pay date of each run. That is wrong when a holiday moves a pay date into another year.</p>`,
    );
  }
  let dates = 0;
  return html`
    ${schedules.map((schedule) => {
      const { pay_frequency, pay_group, pay_dates } = schedule;
      const [first, last] = [pay_dates.at(0), pay_dates.at(-1)];
      dates += pay_dates.length;
      const key = { employer_id: query.employer_id, pay_frequency, pay_group: pay_group ?? undefined };
      const isSelected = query.pay_frequency === key.pay_frequency && query.pay_group === key.pay_group;
      return html`
        <section class="card">
          <h3>${titleOf(schedule)}</h3>
          <p>${`${pay_dates.length} pay dates, ${first?.pay_date} to ${last?.pay_date}`}</p>
          ${
            dates <= DATES_SHOWN || isSelected
              ? html`
                  <details open=${isSelected}>
                    <summary>Pay dates</summary>
                    ${dateTable(schedule, `Pay dates, ${titleOf(schedule)}`)}
                  </details>
                `
              : html`<p class="hint">${`This page shows at most ${count(DATES_SHOWN)} dates. `}<a href=${address('/settings', key)}>Show the dates of this schedule</a></p>`
          }
          ${may('runs:write') && html`<p><a href=${address('/settings/pay-schedule', key)}>Edit</a></p>`}
        </section>
      `;
    })}
  `;
}

export function dateTable({ pay_dates }: Schedule, caption: string): Html {
  return table(pay_dates, { caption, captionHidden: true }, [
    ['Pay date', ({ pay_date }) => pay_date, 'name'],
    ['Period start', ({ period_start }) => period_start, 'date'],
    ['Period end', ({ period_end }) => period_end, 'date'],
  ]);
}

export function titleOf({ pay_frequency, pay_group }: Schedule): string {
  return (pay_group ?? null) === null ? pay_frequency : `${pay_frequency}, pay group ${pay_group}`;
}
