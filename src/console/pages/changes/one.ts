/** One employment change: what became of it, what it holds up, and what can be done. */
import type { FastifyInstance } from 'fastify';
import type { Schemas } from '../../../client.ts';
import { count, facts } from '../../elements/facts.ts';
import { gateBox } from '../../elements/gate.ts';
import { employeeOf } from '../../elements/links.ts';
import { live } from '../../elements/live.ts';
import { state } from '../../elements/state.ts';
import { table } from '../../elements/table.ts';
import { instant, since } from '../../elements/time.ts';
import { type Html, html } from '../../html.ts';
import { need } from '../../own-api.ts';
import { page, type Visit } from '../../page.ts';
import type { ConsoleParts } from '../../parts.ts';
import { deciding } from './deciding.ts';
import { heldBehind } from './held.ts';
import { said } from './says.ts';
import { changePath, KINDS, meaning } from './words.ts';

type Change = Schemas['EmployeeChange'];
type Attempt = Change['last_attempts'][number];

export function oneChangePages(app: FastifyInstance, parts: ConsoleParts): void {
  page(app, parts, { url: '/changes/:change', scope: 'changes:read' }, async (visit) => {
    const { api, params, query, may } = visit;
    // Who looks at what a change says is written down, so that it is not looked at by the way.
    const isBodyShown = query.body === 'true' && may('pii:read');
    const change = need(
      await api.GET('/v1/employee-changes/{change_id}', {
        params: { path: { change_id: params.change ?? '' }, query: isBodyShown ? { body: true } : {} },
      }),
    );
    const body = html`
      <div>
        ${await gateBox(visit)}
        ${standing(change, visit)}
        ${may('changes:write') && deciding(change, query)}
        ${await heldBehind(change, visit)}
        ${attempts(change)}
        ${said(change, visit)}
      </div>
    `;
    return {
      title: `${KINDS[change.kind]} of ${change.employee_id}`,
      place: 'changes',
      // Not live beside personal data: each time it is shown is written down.
      body: isBodyShown ? body : live({ id: 'change', path: changePath(change.change_id) }, body),
    };
  });
}

function standing(change: Change, visit: Visit): Html {
  const { now } = visit;
  return html`
    <section class="card" aria-label="What became of it">
      <p class="headline">${state(change.state)} ${meaning(change)}</p>
      ${change.may_have_been_applied && html`<p>${lostAnswer(change)}</p>`}
      ${facts([
        ['Employee', employeeOf(change.employee_id, visit)],
        ['Accepted', since(change.created_at, now)],
        ['Counts for payroll from', change.effective_on],
        [change.state === 'cancelled' ? 'Why' : 'Last answer', change.reason],
        ['Next try', change.due_at && change.waits_behind === null && since(change.due_at, now)],
        [
          'Waits for',
          change.waits_behind &&
            html`<a href=${changePath(change.waits_behind)}>another change of the employee</a>`,
        ],
        ['Ended', change.finished_at && since(change.finished_at, now)],
        ['Id', html`<code>${change.change_id}</code>`],
      ])}
    </section>
  `;
}

function lostAnswer({ finished_at }: Change): string {
  const lost = 'An answer was lost or was none, so that the service may know of it all the same.';
  return finished_at === null
    ? `${lost} It is sent again under the same key: there is nothing to do.`
    : `${lost} Ask there before you report it anew.`;
}

function attempts({ attempts: all, last_attempts }: Change): Html {
  const left = all - last_attempts.length;
  return html`
    <section aria-labelledby="attempts">
      <h2 id="attempts">Attempts</h2>
      ${
        last_attempts.length === 0
          ? html`<p class="soft">It was not sent yet.</p>`
          : table({
              caption: 'Attempts, the newest first',
              captionHidden: true,
              columns: [
                { title: 'No.', kind: 'number', cell: ({ attempt }: Attempt) => count(attempt) },
                { title: 'Began', kind: 'date', cell: ({ started_at }: Attempt) => instant(started_at) },
                { title: 'Ended', kind: 'date', cell: endOf },
                { title: 'Status', kind: 'number', cell: ({ status }: Attempt) => status ?? '–' },
                { title: 'What came of it', cell: outcomeOf },
              ],
              rows: last_attempts,
            })
      }
      ${left > 0 && html`<p class="hint">${`${count(left)} earlier ones are not shown.`}</p>`}
    </section>
  `;
}

function endOf({ finished_at }: Attempt): Html {
  return finished_at === null ? html`<span>under way</span>` : instant(finished_at);
}

function outcomeOf({ finished_at, reason }: Attempt): string {
  if (reason !== null) return reason;
  return finished_at === null ? '' : 'delivered';
}
