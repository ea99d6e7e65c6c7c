/** One employment change with its attempts, content and actions. */
import {
  cancelEmployeeChange,
  getEmployeeChange,
  isUnsent,
  listEmployeeChanges,
  releaseEmployeeChange,
  retryEmployeeChange,
} from '../../../api/operations/employee-changes.ts';
import { getEmployee } from '../../../api/operations/employees.ts';
import { pausedNotice } from '../../elements/checks.ts';
import { facts, live, recordedRead, responseOfService, savedNotice, state } from '../../elements/facts.ts';
import { decision } from '../../elements/fields.ts';
import { count, dayOf, instant, lacksScope, resultText, since } from '../../elements/format.ts';
import { address, changePath, employeeOf, nameIn } from '../../elements/links.ts';
import { table } from '../../elements/list.ts';
import { type Html, html } from '../../html.ts';
import type { Console, Visit } from '../../page.ts';
import { attempt, dataOrNull } from '../../performing.ts';
import { ACCEPTED_COLUMN, CHANGE_COLUMN, type Change, KINDS, STATES } from './list.ts';

const WAITING_READ = 50;

export function changePages({ page, action, button }: Console): void {
  page('/changes/:change_id', 'changes:read', async (visit) => {
    const { api, query, may } = visit;
    // Each read of personal data is recorded, so this runs only when the user requested it.
    const isBodyShown = query.body === 'true' && may('pii:read');
    const change = await api.perform(getEmployeeChange, { query: { body: isBodyShown || undefined } });
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
      title: html`${KINDS[change.kind]} of ${nameIn('employee', change.employee_id)}`,
      // A refresh would record another read.
      body: html`
        ${savedNotice(query, address('/changes', { state: 'rejected' }), 'Rejected changes')}
        ${isBodyShown ? body : live({ id: 'change', path: changePath(change.id) }, body)}
      `,
    };
  });

  action('/changes/:change_id/retry', 'changes:write', async ({ api, params: { change_id = '' }, form }) => {
    const force = form.force === 'true';
    const call = api.perform(retryEmployeeChange, { body: { force } });
    const { problem } = await attempt(call, 409);
    if (problem !== undefined && !force) {
      const { state } = await api.perform(getEmployeeChange);
      // A change that is still rejected conflicts only with a newer delivered one; the page then offers to force it.
      if (state === 'rejected') return { go: `${changePath(change_id)}?newer=1` };
    }
    await call;
    return { go: address(changePath(change_id), { saved: 'true' }) };
  });

  const saved = ({ change_id = '' }: Visit['params']) => address(changePath(change_id), { saved: 'true' });
  button('/changes/:change_id/cancel', cancelEmployeeChange, saved);
  button('/changes/:change_id/release', releaseEmployeeChange, saved);
}

/** Reports whether payroll runs count a change: it is not only of contact data, and its employee is in the roster. */
async function isCounted({ kind, employee_id }: Change, { api, may }: Visit): Promise<boolean> {
  if (kind === 'demographic' || !may('ledger:read')) return false;
  const employee = await dataOrNull(api.perform(getEmployee, { params: { employee_id } }));
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
          : ['Last response', change.reason && resultText(change.reason, change.kind)],
        ['Next attempt', due_at && earlier === null && since(due_at, now)],
        ['Waiting for', earlier && html`<a href=${changePath(earlier)}>another change of the employee</a>`],
        ['Finished', finished_at && since(finished_at, now)],
        ['ID', html`<code>${change.id}</code>`],
      ])}
    </section>
  `;
}

function meaningOf(change: Change, isCounted: boolean): string {
  const { state, blocking, earlier_change_id } = change;
  if (isUnsent(change))
    return 'It was reported while sending was off, so it is never sent. Its contents are deleted after 30 days.';
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

async function waitingChanges(change: Change, { api }: Visit): Promise<Html | null> {
  const { employee_id, id: ownId, state, blocking } = change;
  if (state === 'delivered' || state === 'canceled' || (state === 'rejected' && !blocking)) return null;
  const query = { employee_id, state: 'pending', limit: WAITING_READ };
  const { data } = await api.perform(listEmployeeChanges, { query });
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

function attempts({ kind, attempts: all, last_attempts }: Change): Html {
  const hidden = all - last_attempts.length;
  const list = table(last_attempts, { caption: 'Attempts, newest first', captionHidden: true }, [
    ['No.', ({ attempt }) => count(attempt), 'number'],
    ['Started', ({ started_at }) => instant(started_at), 'date'],
    ['Finished', ({ finished_at: at }) => (at === null ? 'in progress' : instant(at)), 'date'],
    ['Status', ({ status }) => status ?? '–', 'number'],
    [
      'Result',
      ({ finished_at: at, reason }) =>
        reason === null ? at !== null && 'Delivered' : resultText(reason, kind),
    ],
  ]);
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
