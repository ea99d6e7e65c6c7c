/** One employment change: its state, attempts, the changes waiting for it, its content, and the actions on it. */
import type { FastifyInstance } from 'fastify';
import type { Schemas } from '../../../client.ts';
import { REASON_MAX_CHARACTERS } from '../../../contract/fields.ts';
import { need, rejectedByApi } from '../../api-client.ts';
import { pausedNotice } from '../../elements/checks.ts';
import { facts, live, state } from '../../elements/facts.ts';
import { count, instant, since } from '../../elements/format.ts';
import { changePath, employeeOf } from '../../elements/links.ts';
import { table } from '../../elements/table.ts';
import { type Html, html } from '../../html.ts';
import { action, type ConsoleParts, page, type Visit } from '../../page.ts';
import { KINDS } from './list.ts';

type Change = Schemas['EmployeeChange'];
type Attempt = Change['last_attempts'][number];

/** Waiting changes of one employee that are read. */
const WAITING_READ = 50;

export function changePages(app: FastifyInstance, parts: ConsoleParts): void {
  page(app, parts, { url: '/changes/:change', scope: 'changes:read' }, async (visit) => {
    const { api, params, query, may } = visit;
    // Each read of personal data is recorded, so this runs only when the user requested it.
    const isBodyShown = query.body === 'true' && may('pii:read');
    const change = need(
      await api.GET('/v1/employee-changes/{change_id}', {
        params: { path: { change_id: params.change ?? '' }, query: isBodyShown ? { body: true } : {} },
      }),
    );
    const body = html`
      ${await pausedNotice(visit)}
      ${summary(change, visit)}
      ${may('changes:write') && decisions(change, query)}
      ${await waitingChanges(change, visit)}
      ${attempts(change)}
      ${may('pii:read') && content(change)}
    `;
    return {
      title: `${KINDS[change.kind]} of ${change.employee_id}`,
      place: 'changes',
      // A refresh would record another read.
      body: isBodyShown ? body : live({ id: 'change', path: changePath(change.id) }, body),
    };
  });
}

function summary(change: Change, visit: Visit): Html {
  const { now } = visit;
  return html`
    <section class="card" aria-label="Summary">
      <p class="headline">${state(change.state)} ${meaningOf(change)}</p>
      ${change.may_have_been_applied && html`<p>${lostResponse(change)}</p>`}
      ${facts([
        ['Employee', employeeOf(change.employee_id, visit)],
        ['Accepted', since(change.created_at, now)],
        ['Effective for payroll', change.effective_on],
        [change.state === 'canceled' ? 'Reason' : 'Last response', change.reason],
        ['Next attempt', change.due_at && change.earlier_change_id === null && since(change.due_at, now)],
        [
          'Waiting for',
          change.earlier_change_id &&
            html`<a href=${changePath(change.earlier_change_id)}>another change of the employee</a>`,
        ],
        ['Finished', change.finished_at && since(change.finished_at, now)],
        ['ID', html`<code>${change.id}</code>`],
      ])}
    </section>
  `;
}

function meaningOf({ state, holding, earlier_change_id }: Change): string {
  switch (state) {
    case 'pending':
      return earlier_change_id === null
        ? 'It is sent automatically, and retried until the service responds.'
        : 'It is sent automatically after another change of the employee.';
    case 'sending':
      return 'It is being sent now.';
    case 'delivered':
      return 'The service accepted it. Its contents have been deleted here.';
    case 'rejected':
      return holding
        ? 'The service rejected it, and later changes of the employee wait for it. Decide below what to do.'
        : 'The service rejected it. Decide below what to do.';
    case 'canceled':
      return 'It will not be sent, and its contents have been deleted.';
  }
}

function lostResponse({ finished_at }: Change): string {
  const lost = 'The service may have received it: the response to an attempt was lost or unclear.';
  return finished_at === null
    ? `${lost} It is sent again with the same idempotency key, so there is nothing to do.`
    : `${lost} Check with the service before you report it again.`;
}

/** Lists the employee's changes that cannot be sent before this one. */
async function waitingChanges(change: Change, visit: Visit): Promise<Html | null> {
  const { employee_id, id: ownId, state, holding } = change;
  if (state === 'delivered' || state === 'canceled' || (state === 'rejected' && !holding)) return null;
  const query = { employee_id, state: 'pending' as const, limit: WAITING_READ };
  const { data } = need(await visit.api.GET('/v1/employee-changes', { params: { query } }));
  const blocked = new Set([ownId]);
  // Oldest first: each waits for the one before it.
  for (const { id, earlier_change_id } of data.toReversed()) {
    if (earlier_change_id !== null && blocked.has(earlier_change_id)) blocked.add(id);
  }
  const waiting = data.filter(({ id }) => id !== ownId && blocked.has(id));
  if (waiting.length === 0) return null;
  return html`
    <section aria-labelledby="waiting">
      <h2 id="waiting">Waiting for this change</h2>
      ${table({
        caption: 'Changes waiting for this one',
        captionHidden: true,
        columns: [
          {
            title: 'Change',
            kind: 'name',
            cell: ({ id, kind }) => html`<a href=${changePath(id)}>${KINDS[kind]}</a>`,
          },
          { title: 'Accepted', kind: 'date', cell: ({ created_at }) => instant(created_at) },
        ],
        rows: waiting,
      })}
    </section>
  `;
}

function attempts({ attempts: all, last_attempts }: Change): Html {
  const hidden = all - last_attempts.length;
  return html`
    <section aria-labelledby="attempts">
      <h2 id="attempts">Attempts</h2>
      ${
        last_attempts.length === 0
          ? html`<p class="soft">Not sent yet.</p>`
          : table<Attempt>({
              caption: 'Attempts, newest first',
              captionHidden: true,
              columns: [
                { title: 'No.', kind: 'number', cell: ({ attempt }) => count(attempt) },
                { title: 'Started', kind: 'date', cell: ({ started_at }) => instant(started_at) },
                {
                  title: 'Finished',
                  kind: 'date',
                  cell: ({ finished_at }) => (finished_at === null ? 'in progress' : instant(finished_at)),
                },
                { title: 'Status', kind: 'number', cell: ({ status }) => status ?? '–' },
                {
                  title: 'Result',
                  cell: ({ finished_at, reason }) => reason ?? (finished_at === null ? '' : 'delivered'),
                },
              ],
              rows: last_attempts,
            })
      }
      ${hidden > 0 && html`<p class="hint">${`${count(hidden)} earlier attempts are not shown.`}</p>`}
    </section>
  `;
}

/** Shows the change's personal data and the service's response when the user requested them. */
function content({ id, body, body_absent, response }: Change): Html {
  return html`
    <section aria-labelledby="content">
      <h2 id="content">Content</h2>
      ${
        body === undefined
          ? html`
              <form method="get" action=${changePath(id)}>
                <input type="hidden" name="body" value="true" />
                <p>
                  <button type="submit" class="quiet">Show the personal data</button>
                  <span class="hint">${' The read is recorded.'}</span>
                </p>
              </form>
            `
          : body === null
            ? html`<p class="soft">${body_absent}</p>`
            : html`<div class="card">${facts(fieldsOf(body))}</div>`
      }
      ${
        response !== undefined &&
        response !== null &&
        html`
          <h3>Response of the service</h3>
          <pre tabindex="0"><code>${response}</code></pre>
        `
      }
    </section>
  `;
}

/** Returns each value with its path, named like the columns of a file. */
function fieldsOf(value: unknown, path = ''): [string, string][] {
  if (Array.isArray(value)) return value.flatMap((one, index) => fieldsOf(one, `${path}[${index}]`));
  if (typeof value === 'object' && value !== null) {
    return Object.entries(value).flatMap(([name, one]) =>
      fieldsOf(one, path === '' ? name : `${path}.${name}`),
    );
  }
  return [[path, String(value)]];
}

export function changeDecisions(app: FastifyInstance, parts: ConsoleParts): void {
  const scope = 'changes:write';

  action(app, parts, { url: '/changes/:change/retry', scope }, async ({ api, params, form }) => {
    const change_id = params.change ?? '';
    const path = { change_id };
    const force = form.force === 'true';
    const response = await api.POST('/v1/employee-changes/{change_id}/retry', {
      params: { path },
      body: { force },
    });
    if (response.response.status !== 409 || force) {
      need(response);
      return { go: changePath(change_id) };
    }
    // A change that is still rejected conflicts only with a newer delivered one; the page then offers to force it.
    const { state } = need(await api.GET('/v1/employee-changes/{change_id}', { params: { path } }));
    if (state !== 'rejected') throw rejectedByApi(response.error);
    return { go: `${changePath(change_id)}?newer=1` };
  });

  action(app, parts, { url: '/changes/:change/cancel', scope }, async ({ api, params, form }) => {
    const change_id = params.change ?? '';
    const body = { reason: form.reason ?? '' };
    need(
      await api.POST('/v1/employee-changes/{change_id}/cancel', { params: { path: { change_id } }, body }),
    );
    return { go: changePath(change_id) };
  });

  action(app, parts, { url: '/changes/:change/release', scope }, async ({ api, params }) => {
    const change_id = params.change ?? '';
    need(await api.POST('/v1/employee-changes/{change_id}/release', { params: { path: { change_id } } }));
    return { go: changePath(change_id) };
  });
}

/** Renders the actions that the API would accept; null when there are none. Refreshes keep what is typed until the state changes. */
function decisions(
  { id, state, holding }: Schemas['EmployeeChangeSummary'],
  query: Readonly<Record<string, string>>,
): Html | null {
  if (state !== 'rejected' && state !== 'pending') return null;
  const path = changePath(id);
  const isRejected = state === 'rejected';
  const isNewerDelivered = isRejected && query.newer !== undefined;
  return html`
    <section class="card" id=${`decide-${state}`} hx-morph-skip aria-labelledby="decide">
      <h2 id="decide">Actions</h2>
      ${!isRejected && html`<p>No action is needed. Cancel the change only if the service must not receive it.</p>`}
      ${isNewerDelivered && newerDelivered(path)}
      ${
        isRejected &&
        !isNewerDelivered &&
        html`
          <form class="decision" hx-post=${`${path}/retry`}>
            <button type="submit">Retry</button>
            <p class="hint">Use this after the problem was fixed at the service. It is sent before the changes that wait for it.</p>
          </form>
        `
      }
      ${
        holding &&
        html`
          <form class="decision" hx-post=${`${path}/release`}>
            <button type="submit" class="quiet">Release waiting changes</button>
            <p class="hint">Use this if the service already knows the employee. This hire stays rejected, and the later changes are sent.</p>
          </form>
        `
      }
      <form class="decision" hx-post=${`${path}/cancel`}>
        <div class="field">
          <label for="reason">Reason for canceling</label>
          <input id="reason" name="reason" required maxlength=${REASON_MAX_CHARACTERS} autocomplete="off" />
        </div>
        <button type="submit" class="danger">Cancel the change</button>
        <p class="hint">
          The change will not be sent, and its contents are deleted. Changes that wait for it are sent. The roster keeps what the change reported; to correct it, report a new change.
        </p>
      </form>
    </section>
  `;
}

function newerDelivered(path: string): Html {
  return html`
    <div class="problem" role="alert">
      <p><strong>Not retried: a newer change of this employee was delivered.</strong></p>
      <p>Sending this older change now could undo the newer one. Usually it is right to cancel it and report a new change if needed.</p>
      <form hx-post=${`${path}/retry`}>
        <input type="hidden" name="force" value="true" />
        <button type="submit" class="danger">Retry anyway</button>
      </form>
    </div>
  `;
}
