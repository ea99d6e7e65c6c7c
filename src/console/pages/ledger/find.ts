/** Finds an employee or a deduction by its id. */
import type { FastifyInstance } from 'fastify';
import { found } from '../../api-client.ts';
import { empty } from '../../elements/facts.ts';
import { address, deductionLink, employeeLink, fitsPath, pathOf } from '../../elements/links.ts';
import { type Html, html } from '../../html.ts';
import { type ConsoleParts, type Page, sendPage, type Visit, visitOf } from '../../page.ts';

const FIND_PATH = '/ledger/find';

/** Redirects to the employee or deduction. When both or neither have the id, a page shows that. */
export function findPages(app: FastifyInstance, parts: ConsoleParts): void {
  const options = { config: { scope: 'ledger:read' as const }, schema: { hide: true } };
  app.get(FIND_PATH, options, async (request, reply) => {
    const visit = visitOf(app, request, parts);
    const { api, query } = visit;
    const id = query.id?.trim() ?? '';
    if (id === '') return reply.redirect('/ledger', 303);
    if (!fitsPath(id)) return reply.redirect(address('/ledger', { employee_id: id }), 303);
    const deduction = found(
      await api.GET('/v1/deductions/{deduction_id}', { params: { path: { deduction_id: id } } }),
    );
    const employee = found(
      await api.GET('/v1/employees/{employee_id}', { params: { path: { employee_id: id } } }),
    );
    if (deduction !== null && employee !== null) return sendPage(request, reply, parts, bothFound(id));
    const folder = deduction !== null ? '/deductions' : employee !== null ? '/employees' : null;
    const path = folder === null ? null : pathOf(folder, id);
    if (path === null) return sendPage(request, reply, parts, notFound('employee or deduction', id, visit));
    return reply.redirect(path, 303);
  });
}

export function findForm(id = ''): Html {
  return html`
    <form method="get" action=${FIND_PATH} class="fields" role="search">
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
    place: 'ledger',
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
    place: 'ledger',
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
