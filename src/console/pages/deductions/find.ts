/** From an id to what it is of. */
import type { FastifyInstance } from 'fastify';
import { empty } from '../../elements/empty.ts';
import { canStandInPath, deductionLink, employeeLink, pathOf } from '../../elements/links.ts';
import { address } from '../../elements/pager.ts';
import { type Html, html } from '../../html.ts';
import { found } from '../../own-api.ts';
import { type Page, sendPage, type Visit, visitOf } from '../../page.ts';
import type { ConsoleParts } from '../../parts.ts';

const FIND_PATH = '/ledger/find';

/** Leads on to the employee or the deduction; where both have the id, or none, a page says so. */
export function findPages(app: FastifyInstance, parts: ConsoleParts): void {
  const options = { config: { scope: 'ledger:read' as const }, schema: { hide: true } };
  app.get(FIND_PATH, options, async (request, reply) => {
    const visit = visitOf(app, request, parts);
    const { api, query } = visit;
    const id = query.id?.trim() ?? '';
    if (id === '') return reply.redirect('/ledger', 303);
    if (!canStandInPath(id)) return reply.redirect(address('/ledger', { employee_id: id }), 303);
    const deduction = found(
      await api.GET('/v1/deductions/{deduction_id}', { params: { path: { deduction_id: id } } }),
    );
    const employee = found(
      await api.GET('/v1/employees/{employee_id}', { params: { path: { employee_id: id } } }),
    );
    if (deduction !== null && employee !== null) return sendPage(request, reply, parts, bothFound(id));
    const folder = deduction !== null ? '/deductions' : employee !== null ? '/employees' : null;
    const path = folder === null ? null : pathOf(folder, id);
    if (path === null)
      return sendPage(request, reply, parts, nothingFound('employee or deduction', id, visit));
    return reply.redirect(path, 303);
  });
}

/** A small form that leads there. */
export function findForm(id = ''): Html {
  return html`
    <form method="get" action=${FIND_PATH} class="fields" role="search">
      <div class="field">
        <label for="find">Employee or deduction id</label>
        <input id="find" name="id" type="search" value=${id} maxlength="255" required />
      </div>
      <button type="submit" class="quiet">Open</button>
    </form>
  `;
}

/** The page for an id that the ledger does not have. */
export function nothingFound(what: string, id: string, { may }: Pick<Visit, 'may'>): Page {
  return {
    title: 'Not in the ledger',
    place: 'ledger',
    status: 404,
    body: html`
      <div>
        ${empty(
          `There is no ${what} with the id ${id}`,
          canStandInPath(id)
            ? html`<p>
                ${'Ids are compared letter by letter. If it was sent a moment ago, its '}${may('events:read') ? html`<a href="/events">event</a>` : 'event'}${' may be pending or quarantined.'}
              </p>`
            : html`<p>
                ${'An id of one or two dots can’t be a part of an address. '}<a href=${address('/ledger', { employee_id: id })}>The deductions of the employee</a>${' can be listed.'}
              </p>`,
        )}
        ${findForm(id)}
      </div>
    `,
  };
}

function bothFound(id: string): Page {
  return {
    title: 'An employee and a deduction',
    place: 'ledger',
    body: html`
      <div class="card">
        <p>${'Both have the id '}<code>${id}</code>${'. Which one do you want?'}</p>
        <ul>
          <li>${'The employee '}${employeeLink(id)}</li>
          <li>${'The deduction '}${deductionLink(id)}</li>
        </ul>
      </div>
    `,
  };
}
