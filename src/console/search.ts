/** The search in the header of every page, and for one employee of an employer: by name or ID. */
import type { ResultOf } from '../api/operation.ts';
import { search } from '../api/operations/search.ts';
import { Refusal } from '../api/problem.ts';
import { field, hiddenFields } from './elements/fields.ts';
import { dayText, instant } from './elements/format.ts';
import { address, fitsPath, nameIn, pathOf, runPath } from './elements/links.ts';
import { type Content, type Html, html } from './html.ts';
import type { Console, Visit } from './page.ts';
import { attempt } from './performing.ts';

/** Declares the search of the header: the form of `layout.ts` shows what it returns. */
export function searchActions({ action }: Console): void {
  action('/search', 'any', async ({ api, form }) => {
    const text = form.text?.trim() ?? '';
    return text === '' ? html`<span></span>` : foundOf(await api.perform(search, { body: { text } }));
  });

  action('/employees/find', 'any', async (act) => {
    const { employee = '', employer_id = '', path = '' } = act.form;
    const [, folder] = /^\/(runs\/|open-items|ledger|changes|audit)/.exec(path) ?? [];
    if (folder === undefined) throw new Refusal('INVALID_REQUEST', 'This page does not list employees.');
    const to = (id: string) => address(path, { employee_id: id }) + (folder === 'runs/' ? '#lines' : '');
    // Without the scope nothing is found, so the text is an ID.
    if (!act.may('ledger:read')) return { go: to(employee) };
    const matches = await employeesFound(act, employee, employer_id);
    const [match, ...more] = matches;
    if (match === undefined)
      return html`<p>${`No employee${employer_id === '' ? '' : ' of this employer'} has this name or ID.`}</p>`;
    if (more.length === 0) return { go: to(match.employee_id) };
    const linked = matches.map(({ employee_id: id, first_name, last_name }) =>
      row(to(id), last_name === null ? id : `${first_name} ${last_name}`, last_name === null ? null : id),
    );
    return html`<ul>${linked}</ul>`;
  });
}

/** Renders a form that opens a page of a run, or a list, with one employee; of all employers if `employer_id` is undefined. */
export function employeeFinder(employer_id: string | undefined, path: string, button: string): Html {
  return html`
    <form class="fields" role="search" aria-label="One employee" hx-post="/employees/find" hx-target="find .matches">
      ${hiddenFields({ employer_id, path })}
      ${field({ name: 'employee', label: 'Employee, by name or ID', value: '', size: 32, required: true })}
      <button type="submit" class="quiet">${button}</button>
      <div class="matches" aria-live="polite"></div>
    </form>
  `;
}

/** Returns the employees of an employer whose name or ID begins like a text; only the one with this ID, if there is one. */
export async function employeesFound({ api }: Pick<Visit, 'api'>, text: string, employer_id: string) {
  const body = { text: text.trim(), employer_id: employer_id || undefined };
  const { data } = await attempt(api.perform(search, { body }), 400);
  const matches = data?.employees.data ?? [];
  const exact = matches.filter(({ employee_id }) => employee_id === text.trim());
  return exact.length > 0 ? exact : matches;
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
