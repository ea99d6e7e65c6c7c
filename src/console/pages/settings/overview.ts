/** What payroll says of an employer once: its pay dates, and its codes for what is deducted. */
import type { FastifyInstance } from 'fastify';
import { empty } from '../../elements/empty.ts';
import { idLink } from '../../elements/links.ts';
import { address, PAGE_ROWS } from '../../elements/pager.ts';
import { type Html, html } from '../../html.ts';
import { need } from '../../own-api.ts';
import { page, type Visit } from '../../page.ts';
import type { ConsoleParts } from '../../parts.ts';
import { codesOf, codeTable } from './codes.ts';
import { scheduleCards, schedulesOf } from './pay-dates.ts';

export function settingOverviewPages(app: FastifyInstance, parts: ConsoleParts): void {
  page(app, parts, { url: '/settings', scope: 'runs:read' }, async (visit) => {
    const { employer_id } = visit.query;
    return {
      title:
        employer_id === undefined ? 'Pay schedules and payroll codes' : `Payroll settings of ${employer_id}`,
      place: 'runs',
      body: employer_id === undefined ? await chooser(visit) : await ofEmployer(visit, employer_id),
    };
  });
}

async function chooser({ api }: Visit): Promise<Html> {
  const { data } = need(await api.GET('/v1/payroll-runs', { params: { query: { limit: PAGE_ROWS } } }));
  const employers = [...new Set(data.map(({ employer_id }) => employer_id))].sort();
  return html`
    <div>
      <p>A pay schedule tells on which days is paid, so that each check knows its place in the year. Payroll codes are what payroll calls a deduction; they stand on every line and in every file.</p>
      <form class="fields" method="get" action="/settings">
        <div class="field">
          <label for="employer_id">Employer id</label>
          <input id="employer_id" name="employer_id" required autocomplete="off" />
        </div>
        <button type="submit">Show</button>
      </form>
      ${
        employers.length > 0 &&
        html`
          <section class="card" aria-labelledby="known">
            <h2 id="known">Employers of the latest runs</h2>
            <ul>${employers.map((id) => html`<li>${idLink(address('/settings', { employer_id: id }), id)}</li>`)}</ul>
          </section>
        `
      }
    </div>
  `;
}

async function ofEmployer({ api, may, query }: Visit, employer_id: string): Promise<Html> {
  const schedules = await schedulesOf(api, employer_id);
  const codes = await codesOf(api, employer_id);
  const mayWrite = may('runs:write');
  return html`
    <div>
      ${query.saved !== undefined && html`<p role="status"><strong>Saved.</strong>${' Open runs are computed by it from now on; finalized ones stand.'}</p>`}
      <p><a href=${address('/runs', { employer_id })}>Payroll runs of this employer</a></p>
      <section aria-labelledby="schedules">
        <h2 id="schedules">Pay schedules</h2>
        ${schedules.length === 0 ? empty('This employer has no pay schedule.', html`<p>Weekly and biweekly runs step their pay dates from their own, which is wrong where a bank holiday moves one over New Year. Say them once, a year at a time.</p>`) : scheduleCards(schedules, { employer_id, mayWrite, wished: query })}
        ${mayWrite && html`<div class="actions"><a class="button quiet" href=${address('/settings/pay-schedule', { employer_id })}>Add a pay schedule</a></div>`}
      </section>
      <section aria-labelledby="codes">
        <h2 id="codes">Payroll codes</h2>
        ${
          codes.length === 0
            ? empty(
                'This employer has no payroll codes.',
                html`<p>Without any, lines have none. Once there is one, readiness names the lines that lack theirs.</p>`,
              )
            : codeTable(codes, 'Payroll codes', true)
        }
        ${mayWrite && html`<div class="actions"><a class="button quiet" href=${address('/settings/payroll-codes', { employer_id })}>Edit the codes</a></div>`}
      </section>
    </div>
  `;
}
