/** The search in the header of every page: people, employers, deductions, runs and events, by name or ID. */
import type { ResultOf } from '../api/operation.ts';
import { search } from '../api/operations/search.ts';
import { dayText, instant } from './elements/format.ts';
import { address, fitsPath, nameIn, pathOf, runPath } from './elements/links.ts';
import { type Content, type Html, html } from './html.ts';
import type { Console } from './page.ts';

/** Declares the search of the header: the form of `layout.ts` shows what it returns. */
export function searchActions({ action }: Console): void {
  action('/search', 'any', async ({ api, form }) => {
    const text = form.text?.trim() ?? '';
    return text === '' ? html`<span></span>` : foundOf(await api.perform(search, { body: { text } }));
  });
}

type Found = ResultOf<typeof search>;

function foundOf({ employees, employers, deductions, runs, events }: Found): Html {
  const groups = [
    groupOf('People', employees, ({ employee_id, employer_id, first_name, last_name }) => {
      const path = pathOf('/employees', employee_id) ?? address('/ledger', { employee_id });
      const employer = employer_id === null ? null : nameIn('employer', employer_id);
      return last_name === null
        ? row(path, employee_id, employer)
        : row(path, `${first_name} ${last_name}`, [employee_id, employer && [', ', employer]]);
    }),
    groupOf('Employers', employers, ({ employer_id, legal_name }) =>
      row(address('/runs', { employer_id }), legal_name ?? employer_id, legal_name && employer_id),
    ),
    groupOf('Payroll runs', runs, ({ id, employer_id, pay_date }) =>
      row(runPath(id), id, [nameIn('employer', employer_id), `, ${dayText(pay_date)}`]),
    ),
    groupOf('Deductions', deductions, ({ id, employee_id }) =>
      fitsPath(id) ? row(pathOf('/deductions', id), id, nameIn('employee', employee_id)) : null,
    ),
    groupOf('Events', events, ({ id, received_at }) =>
      fitsPath(id) ? row(pathOf('/events', id), id, instant(received_at)) : null,
    ),
  ].filter((group) => group !== null);
  const all = [employees, employers, deductions, runs, events];
  const rows = all.reduce((sum, { data }) => sum + data.length, 0);
  const status = rows === 0 ? 'Nothing matches.' : `${rows} ${rows === 1 ? 'match' : 'matches'}.`;
  return html`<p role="status" class=${rows === 0 ? 'soft' : 'hidden-label'}>${status}</p>${groups}`;
}

function groupOf<Row>(
  title: string,
  { data, has_more }: { data: readonly Row[]; has_more: boolean },
  show: (row: Row) => Html | null,
): Html | null {
  if (data.length === 0) return null;
  return html`
    <section aria-label=${title}>
      <h2>${title}</h2>
      <ul>${data.map(show)}</ul>
      ${has_more && html`<p class="hint">More match. Type more letters.</p>`}
    </section>
  `;
}

function row(path: string | null, title: string, note: Content): Html {
  return html`<li><a href=${path}>${title} <span class="soft">${note}</span></a></li>`;
}
