/** Employment changes that payroll reported: the list, and one with its attempts, content and actions. */
import type { Schemas } from '../../client.ts';
import { attempt, dataOrNull } from '../api-client.ts';
import { pausedNotice } from '../elements/checks.ts';
import {
  empty,
  facts,
  live,
  recordedRead,
  responseOfService,
  savedNotice,
  state,
} from '../elements/facts.ts';
import { choicesOf, decision } from '../elements/fields.ts';
import { count, dayOf, instant, lacksScope, resultText, since } from '../elements/format.ts';
import { address, changePath, employeeOf } from '../elements/links.ts';
import { type Column, filterForm, filtersIn, PAGE_ROWS, pager, table } from '../elements/list.ts';
import { type Content, type Html, html } from '../html.ts';
import type { Console, Visit } from '../page.ts';

type Change = Schemas['EmployeeChange'];
type Summary = Schemas['EmployeeChangeSummary'];

/** Waiting changes of one employee that are read. */
const WAITING_READ = 50;
const KINDS: Readonly<Record<Change['kind'], string>> = {
  'new-hire': 'New hire',
  termination: 'Termination',
  demographic: 'Address change',
  'compensation-change': 'Pay or status change',
};
const STATES: Readonly<Record<Change['state'], string>> = {
  pending: 'It is sent automatically, and retried until the service responds.',
  sending: 'It is being sent now.',
  rejected: 'The service rejected it.',
  delivered: 'The service accepted it. Its contents have been deleted here.',
  canceled: 'It will not be sent, and its contents have been deleted.',
};
const FILTERS = [
  { name: 'state', label: 'State', choices: choicesOf(Object.keys(STATES)) },
  { name: 'kind', label: 'Change', choices: choicesOf(KINDS) },
  { name: 'employee_id', label: 'Employee ID' },
  { name: 'employer_id', label: 'Employer ID' },
  { name: 'from', label: 'Accepted from', type: 'datetime-local' },
  { name: 'until', label: 'Accepted before', type: 'datetime-local' },
] as const;

export const CHANGE_COLUMN: Column<Summary> = [
  'Change',
  ({ id, kind }) => html`<a href=${changePath(id)}>${KINDS[kind]}</a>`,
  'name',
];
export const ACCEPTED_COLUMN: Column<Summary> = ['Accepted', ({ created_at }) => instant(created_at), 'date'];

export function changePages({ page, action }: Console): void {
  page('/changes', 'changes:read', async (visit) => {
    const { api, query } = visit;
    const { cursor } = query;
    const filter = filtersIn(query, FILTERS);
    const list = { limit: PAGE_ROWS, cursor, ...filter };
    const { data, next_cursor } = await api.get('/v1/employee-changes', list);
    const isWhole = Object.keys(filter).length === 0 && cursor === undefined;
    const shown = html`
      ${await pausedNotice(visit)}
      ${data.length === 0 ? nothing(isWhole) : changeTable(data, visit)}
      ${pager('/changes', query, next_cursor)}
    `;
    const body = html`
      ${filterForm('/changes', query, FILTERS)}
      ${live({ id: 'changes', path: address('/changes', query) }, shown)}
    `;
    return { title: 'Employment changes', body };
  });

  page('/changes/:change_id', 'changes:read', async (visit) => {
    const { api, query, may } = visit;
    // Each read of personal data is recorded, so this runs only when the user requested it.
    const isBodyShown = query.body === 'true' && may('pii:read');
    const change = await api.get('/v1/employee-changes/{change_id}', isBodyShown ? { body: true } : {});
    const counts = await isCounted(change, visit);
    const body = html`
      ${await pausedNotice(visit)}
      ${summary(change, counts, visit)}
      ${change.state === 'rejected' && (may('pii:read') ? content(change) : html`<p class="hint">${lacksScope('To see the response of the service', 'pii:read')}</p>`)}
      ${may('changes:write') && decisions(change, { isNewer: query.newer !== undefined, isCounted: counts })}
      ${await waitingChanges(change, visit)}
      ${attempts(change)}
      ${change.state !== 'rejected' && may('pii:read') && content(change)}
    `;
    return {
      title: `${KINDS[change.kind]} of ${change.employee_id}`,
      // A refresh would record another read.
      body: html`
        ${savedNotice(query, address('/changes', { state: 'rejected' }), 'Rejected changes')}
        ${isBodyShown ? body : live({ id: 'change', path: changePath(change.id) }, body)}
      `,
    };
  });

  action('/changes/:change_id/retry', 'changes:write', async ({ api, params: { change_id = '' }, form }) => {
    const force = form.force === 'true';
    const call = api.send('post', '/v1/employee-changes/{change_id}/retry', {}, { force });
    const { problem } = await attempt(call, 409);
    if (problem !== undefined && !force) {
      const { state } = await api.get('/v1/employee-changes/{change_id}');
      // A change that is still rejected conflicts only with a newer delivered one; the page then offers to force it.
      if (state === 'rejected') return { go: `${changePath(change_id)}?newer=1` };
    }
    await call;
    return { go: address(changePath(change_id), { saved: 'true' }) };
  });

  action('/changes/:change_id/cancel', 'changes:write', async ({ api, params: { change_id = '' }, form }) => {
    await api.send('post', '/v1/employee-changes/{change_id}/cancel', {}, { reason: form.reason ?? '' });
    return { go: address(changePath(change_id), { saved: 'true' }) };
  });

  action('/changes/:change_id/release', 'changes:write', async ({ api, params: { change_id = '' } }) => {
    await api.send('post', '/v1/employee-changes/{change_id}/release');
    return { go: address(changePath(change_id), { saved: 'true' }) };
  });
}

function changeTable(changes: readonly Summary[], visit: Visit): Html {
  const caption = 'Employment changes, newest first';
  const blocking = [' ', state('blocks others', 'warn')];
  return table(changes, { caption, stacked: true, captionHidden: true }, [
    CHANGE_COLUMN,
    ['Employee', ({ employee_id }) => employeeOf(employee_id, visit)],
    ['State', (change) => html`<span>${state(change.state)}${change.blocking && blocking}</span>`],
    ['Result', resultOf],
    ['Attempts', ({ attempts }) => count(attempts), 'number'],
    ACCEPTED_COLUMN,
  ]);
}

function resultOf({ reason, earlier_change_id, may_have_been_applied }: Summary): Content {
  return html`
    <span>
      ${earlier_change_id !== null && html`<a href=${changePath(earlier_change_id)}>waiting for another change</a>`}
      ${earlier_change_id !== null && reason !== null && ' · '}${reason !== null && resultText(reason)}
      ${may_have_been_applied && html`<span class="soft">${reason === null ? '' : ' · '}the service may have received it</span>`}
    </span>
  `;
}

function nothing(isWhole: boolean): Html {
  if (!isWhole) return empty('No matching changes', html`<p><a href="/changes">Show all changes</a></p>`);
  const advice = html`<p>${'Payroll reports hires, terminations, address changes and pay changes through the API: '}<code>POST /v1/employee-changes/…</code>, with a token that has the scope changes:write.</p>`;
  return empty('No employment changes yet', advice);
}

/** Reports whether payroll runs count a change: it is not only of contact data, and its employee is in the roster. */
async function isCounted({ kind, employee_id }: Change, { api, may }: Visit): Promise<boolean> {
  if (kind === 'demographic' || !may('ledger:read')) return false;
  const employee = await dataOrNull(api.get('/v1/employees/{employee_id}', { employee_id }));
  return employee !== null && employee.employments.length > 0;
}

function summary(change: Change, isCounted: boolean, visit: Visit): Html {
  const { now } = visit;
  const { earlier_change_id: earlier, finished_at, due_at } = change;
  return html`
    <section class="card" aria-label="Summary">
      <p class="headline">${state(change.state)} ${meaningOf(change, isCounted)}</p>
      ${change.may_have_been_applied && html`<p>${lostResponse(change)}</p>`}
      ${facts([
        ['Employee', employeeOf(change.employee_id, visit)],
        ['Accepted', since(change.created_at, now)],
        ['Effective for payroll', change.effective_on && dayOf(change.effective_on)],
        ['Pay group', change.pay_group],
        change.state === 'canceled'
          ? ['Reason', change.reason]
          : ['Last response', change.reason && resultText(change.reason)],
        ['Next attempt', due_at && earlier === null && since(due_at, now)],
        ['Waiting for', earlier && html`<a href=${changePath(earlier)}>another change of the employee</a>`],
        ['Finished', finished_at && since(finished_at, now)],
        ['ID', html`<code>${change.id}</code>`],
      ])}
    </section>
  `;
}

function meaningOf({ state, blocking, earlier_change_id }: Change, isCounted: boolean): string {
  if (state === 'pending' && earlier_change_id !== null)
    return 'It is sent automatically after another change of the employee.';
  if (state !== 'rejected') return STATES[state];
  const later = blocking ? ' Later changes of the employee wait for it.' : '';
  const counts = isCounted ? ' Payroll runs count it already.' : '';
  return `${STATES.rejected}${later}${counts} Decide below what to do.`;
}

function lostResponse({ finished_at }: Change): string {
  const lost = 'The service may have received it: the response to an attempt was lost or unclear.';
  return finished_at === null
    ? `${lost} It is sent again with the same idempotency key, so there is nothing to do.`
    : `${lost} Check with the service before you report it again.`;
}

/** Lists the employee's changes that cannot be sent before this one. */
async function waitingChanges(change: Change, { api }: Visit): Promise<Html | null> {
  const { employee_id, id: ownId, state, blocking } = change;
  if (state === 'delivered' || state === 'canceled' || (state === 'rejected' && !blocking)) return null;
  const query = { employee_id, state: 'pending', limit: WAITING_READ };
  const { data } = await api.get('/v1/employee-changes', query);
  const blocked = new Set([ownId]);
  // Oldest first: each change waits for an earlier change.
  for (const { id, earlier_change_id } of data.toReversed()) {
    if (earlier_change_id !== null && blocked.has(earlier_change_id)) blocked.add(id);
  }
  const waiting = data.filter(({ id }) => id !== ownId && blocked.has(id));
  if (waiting.length === 0) return null;
  return html`
    <section aria-labelledby="waiting">
      <h2 id="waiting">Waiting for this change</h2>
      ${table(waiting, { caption: 'Changes waiting for this one', captionHidden: true }, [CHANGE_COLUMN, ACCEPTED_COLUMN])}
    </section>
  `;
}

function attempts({ attempts: all, last_attempts }: Change): Html {
  const hidden = all - last_attempts.length;
  const list = table(
    last_attempts,
    { caption: 'Attempts, newest first', captionHidden: true, stacked: true },
    [
      ['No.', ({ attempt }) => count(attempt), 'number'],
      ['Started', ({ started_at }) => instant(started_at), 'date'],
      ['Finished', ({ finished_at: at }) => (at === null ? 'in progress' : instant(at)), 'date'],
      ['Status', ({ status }) => status ?? '–', 'number'],
      [
        'Result',
        ({ finished_at: at, reason }) => (reason === null ? at !== null && 'Delivered' : resultText(reason)),
      ],
    ],
  );
  return html`
    <section aria-labelledby="attempts">
      <h2 id="attempts">Attempts</h2>
      ${last_attempts.length === 0 ? html`<p class="soft">Not sent yet.</p>` : list}
      ${hidden > 0 && html`<p class="hint">${`${count(hidden)} earlier attempts are not shown.`}</p>`}
    </section>
  `;
}

/** Shows the change's personal data and the service's response when the user requested them. */
function content({ id, state, body, body_absent, response }: Change): Html {
  const shown =
    body === null
      ? html`<p class="soft">${body_absent}</p>`
      : html`<div class="card">${facts(fieldsOf(body))}</div>`;
  return html`
    <section aria-labelledby="content">
      <h2 id="content">Content</h2>
      ${body === undefined && recordedRead(changePath(id), { body: 'true' }, `Show ${state === 'rejected' ? 'why, and ' : ''}the personal data`, 'The read is recorded.')}
      ${typeof response === 'string' && responseOfService(response)}
      ${body !== undefined && shown}
    </section>
  `;
}

/** Returns each value with its path, named like the columns of a file. */
function fieldsOf(value: unknown, path = ''): [string, string][] {
  if (Array.isArray(value)) return value.flatMap((item, index) => fieldsOf(item, `${path}[${index}]`));
  if (typeof value !== 'object' || value === null) return [[path, String(value)]];
  const nameOf = (name: string) => (path === '' ? name : `${path}.${name}`);
  return Object.entries(value).flatMap(([name, field]) => fieldsOf(field, nameOf(name)));
}

/** Renders the actions that the API would accept; null when there are none. Refreshes keep what is typed until the state changes. */
function decisions(
  { id, state, blocking, attempts: sent }: Change,
  { isNewer, isCounted }: { isNewer: boolean; isCounted: boolean },
): Html | null {
  if (state !== 'rejected' && state !== 'pending') return null;
  const path = changePath(id);
  const isRejected = state === 'rejected';
  const retry = decision(`${path}/retry`, {
    button: 'Retry',
    look: '',
    hint: `Use this after the problem was fixed at the service.${blocking ? ' It is sent before the changes that wait for it.' : ''}`,
  });
  const release = decision(`${path}/release`, {
    button: 'Release waiting changes',
    hint: 'Use this if the service already knows the employee. This hire stays rejected, and the later changes are sent.',
  });
  const waits =
    sent === 0
      ? 'No action is needed.'
      : 'The service has not confirmed it yet. The sidecar sends it again automatically. If this lasts, ask an operator whether the service can be reached.';
  return html`
    <section class="card" id=${`decide-${state}`} hx-morph-skip aria-labelledby="decide">
      <h2 id="decide">Actions</h2>
      ${!isRejected && html`<p>${`${waits} Cancel the change only if the service must not receive it.`}</p>`}
      ${isRejected && (isNewer ? newerDelivered(path) : retry)}
      ${blocking && release}
      ${decision(`${path}/cancel`, {
        button: 'Cancel the change',
        look: 'danger',
        hint:
          'The change will not be sent, and its contents are deleted. Changes that wait for it are sent.' +
          (isCounted
            ? ' The roster keeps what the change reported; to correct it, report a new change.'
            : ''),
        reason: 'Reason for canceling',
      })}
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
