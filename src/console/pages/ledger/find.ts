/** Finds an employee or a deduction by its id. */
import { found } from '../../api-client.ts';
import { empty } from '../../elements/facts.ts';
import { address, deductionLink, employeeLink, fitsPath, pathOf } from '../../elements/links.ts';
import { type Html, html } from '../../html.ts';
import type { Console, Page, Visit } from '../../page.ts';

/** Opens the employee or deduction. When both or neither have the id, a page shows that. */
export function findPages({ page }: Console): void {
  page('/ledger/find', 'ledger:read', async (visit) => {
    const { api, query } = visit;
    const id = query.id?.trim() ?? '';
    if (id === '' || !fitsPath(id)) return { go: address('/ledger', { employee_id: id }) };
    const deduction = await found(api.get('/v1/deductions/{deduction_id}', { deduction_id: id }));
    const employee = await found(api.get('/v1/employees/{employee_id}', { employee_id: id }));
    if (deduction !== null && employee !== null) return bothFound(id);
    if (deduction === null && employee === null) return notFound('employee or deduction', id, visit);
    return { go: pathOf(deduction !== null ? '/deductions' : '/employees', id) ?? '/ledger' };
  });
}

export function findForm(id = ''): Html {
  return html`
    <form method="get" action="/ledger/find" class="fields" role="search">
      <div class="field">
        <label for="find">Employee or deduction ID</label>
        <input id="find" name="id" type="search" value=${id} maxlength="255" required />
      </div>
      <button type="submit" class="quiet">Open</button>
    </form>
  `;
}

/** The page for an id that is not in the ledger. */
export function notFound(what: string, id: string, { may }: Pick<Visit, 'may'>): Page {
  return {
    title: 'Not in the ledger',
    status: 404,
    body: html`
      ${empty(
        `There is no ${what} with the ID ${id}`,
        fitsPath(id)
          ? html`<p>
              ${'IDs are case-sensitive. If it was sent recently, its '}${may('events:read') ? html`<a href="/events">event</a>` : 'event'}${' may be pending or quarantined.'}
            </p>`
          : html`<p>
              ${'This ID has no page, because it cannot be part of an address. '}<a href=${address('/ledger', { employee_id: id })}>Show the employee’s deductions</a>
            </p>`,
      )}
      ${findForm(id)}
    `,
  };
}

function bothFound(id: string): Page {
  return {
    title: 'Employee and deduction',
    body: html`
      <div class="card">
        <p>${'An employee and a deduction both have the ID '}<code>${id}</code>:</p>
        <ul>
          <li>${'Employee '}${employeeLink(id)}</li>
          <li>${'Deduction '}${deductionLink(id)}</li>
        </ul>
      </div>
    `,
  };
}
