/** One event: its consequence for paychecks, the action that helps, its result and its bodies. */
import type { ResultOf } from '../../../api/operation.ts';
import { getDeduction } from '../../../api/operations/deductions.ts';
import { dismissEvent, reprocessEvent } from '../../../api/operations/event-work.ts';
import { getEvent, listEventConflicts } from '../../../api/operations/events.ts';
import { QUARANTINED } from '../../elements/checks.ts';
import { facts, live, savedNotice, state } from '../../elements/facts.ts';
import { decision } from '../../elements/fields.ts';
import { counted, instant, lacksScope, money, term } from '../../elements/format.ts';
import { historyOf } from '../../elements/history.ts';
import { address, censusLink, deductionLink, employeeLink, named, pathOf } from '../../elements/links.ts';
import { pager } from '../../elements/list.ts';
import { type Content, type Html, html } from '../../html.ts';
import type { Console, Visit } from '../../page.ts';
import { dataOrNull } from '../../performing.ts';
import { employerAdviceFor } from '../ledger/terms.ts';
import { bodies } from './bodies.ts';
import { advice, consequence, dayIn, effectLabel, messageFor } from './labels.ts';

type Event = ResultOf<typeof getEvent>;
type Conflicts = Event['conflicts'];

export function eventPages({ page, button }: Console): void {
  page('/events/:event_id', 'events:read', async (visit) => {
    const { api, params, query, may, today } = visit;
    const { event_id = '' } = params;
    const { cursor } = query;
    const event = await api.perform(getEvent);
    const conflicts = await api.perform(listEventConflicts, { query: { cursor } });
    const path = eventPath(event_id);
    const lead = html`
      <p class="lead">${state(...effectLabel(event))} ${consequence(event, today)}</p>
      ${await employerNotice(event, visit)}
    `;
    const body = html`
      ${savedNotice(visit.query, QUARANTINED, 'Quarantined events')}
      ${live({ id: 'consequence', path: address(path, { cursor }) }, lead)}
      ${actions(event, may)}
      ${live({ id: 'event', path: address(path, { cursor }) }, summary(event, may))}
      ${bodies(event, conflicts.data)}
      ${pager(path, { cursor }, conflicts.next_cursor)}
      ${await historyOf(visit, { resource_type: 'event', resource_id: event_id })}
    `;
    return { title: `Event ${event_id}`, body };
  });

  const saved = ({ event_id = '' }: Visit['params']) => address(eventPath(event_id), { saved: 'true' });
  button('/events/:event_id/reprocess', reprocessEvent, saved);
  button('/events/:event_id/dismiss', dismissEvent, saved);
}

/** An event without a page is found in the list. */
function eventPath(id: string): string {
  return pathOf('/events', id) ?? '/events';
}

/** Explains why runs skip the deduction of an event, if its employer is unknown. */
async function employerNotice({ effects, effect }: Event, { api, may }: Visit): Promise<Content> {
  const deduction_id = effects.deduction_version?.deduction_id;
  if (deduction_id === undefined || effect !== 'applied' || !may('ledger:read')) return null;
  const deduction = await dataOrNull(api.perform(getDeduction, { params: { deduction_id } }));
  return deduction && employerAdviceFor([deduction]);
}

/** Renders the actions that the API would accept, the helpful action first; null when there are none. */
function actions(event: Event, may: Visit['may']): Html | null {
  const { id, state: now, body, dismissed_at, conflicts, effects, flags, next_step } = event;
  const path = pathOf('/events', id);
  const mayReprocess = now !== 'pending' && body !== null;
  const { tie_changed = false, future_dated = false } = effects.deduction_version ?? {};
  const isMarked = now === 'quarantined' || tie_changed || future_dated || flags.includes('contract-changed');
  // Readiness reports these.
  const mayDismiss = conflicts.open || (isMarked && dismissed_at === null);
  if (path === null || (!mayReprocess && !mayDismiss)) return null;
  const isDismissal = next_step === 'dismiss' || next_step === 'compare';
  const reprocess =
    mayReprocess &&
    decision(`${path}/reprocess`, {
      button: 'Reprocess',
      look: next_step === 'reprocess' ? '' : 'quiet',
      hint: 'Reads and applies the event again, for example after an upgrade. Nothing takes effect twice.',
    });
  const dismiss =
    mayDismiss &&
    decision(`${path}/dismiss`, {
      button: 'Dismiss',
      look: isDismissal ? '' : 'quiet',
      hint: 'Readiness no longer reports this event. It stays in the list with your reason.',
      reason: 'Reason for dismissing',
    });
  const [first, second] = next_step === 'reprocess' ? [reprocess, dismiss] : [dismiss, reprocess];
  const text = advice(event);
  const message = messageFor(event);
  if (text === null) {
    if (!may('events:write')) return null;
    return html`<details class="card"><summary>Actions</summary>${first}${second}</details>`;
  }
  // A message to the service helps more than either action.
  const [helpful, others] = message === null ? [first, second] : [null, [first, second]];
  const choices = [helpful, others && html`<details><summary>Other actions</summary>${others}</details>`];
  const needed = html`<p class="hint">${lacksScope('To reprocess or dismiss it', 'events:write')}</p>`;
  return html`
    <section class="card" aria-labelledby="decide">
      <h2 id="decide">What helps</h2>
      <p>${text}</p>
      ${message !== null && html`<p>Message for the benefits service:</p><pre tabindex="0">${message}</pre>`}
      ${may('events:write') ? choices : needed}
    </section>
  `;
}

function summary(event: Event, may: Visit['may']): Html {
  const { envelope_id, source, reason, finished_at, dismissed_at, dismissed_reason, conflicts } = event;
  const contents = contentsOf(event, may);
  return html`
    <div class="cards wide">
      ${
        contents !== null &&
        html`<section class="card" aria-labelledby="contents-title"><h2 id="contents-title">Contents</h2>${contents}</section>`
      }
      <section class="card" aria-labelledby="event-title">
        <h2 id="event-title">Event</h2>
        ${facts([
          ['Event ID', html`<code>${event.id}</code>`],
          ['ID in the body', envelope_id === null ? 'none' : html`<code>${envelope_id}</code>`],
          ['Type', event.event_type === null ? 'unknown' : html`<code>${event.event_type}</code>`],
          ['Received', instant(event.received_at)],
          ['Signature', source === 'import' ? 'none: the event was imported' : 'verified'],
          ['State', html`<span>${event.state}${reason !== null && `: ${reason}`}</span>`],
          ['Finished', finished_at && instant(finished_at)],
          [
            'Dismissed',
            dismissed_at && html`<span>${instant(dismissed_at)}${`: ${dismissed_reason}`}</span>`,
          ],
          ['Conflicts', conflicts.stored > 0 && conflictCount(conflicts)],
        ])}
      </section>
    </div>
  `;
}

/** Returns what the event names; null for a user who may not see it, and for an event that names nothing. */
function contentsOf(event: Event, may: Visit['may']): Html | null {
  const { subject, effects } = event;
  if (subject === null) return null;
  const { employee_id, employer_id, deduction_id, line_of_coverage, period } = subject;
  if (employee_id === null && employer_id === null) return null;
  const { deduction_version: version } = effects;
  const amount = (contribution: string | null) =>
    contribution !== null && `${money(contribution)} ${period ?? '(pay frequency not understood)'}`;
  const census =
    employer_id !== null && (may('census:read') ? censusLink(employer_id) : named('employer', employer_id));
  return facts([
    ['Employee', employee_id !== null && employeeLink(employee_id)],
    ['Employer', census],
    ['Line of coverage', line_of_coverage !== null && term(line_of_coverage)],
    ['Employee contribution', amount(subject.member_contribution)],
    ['Employer contribution', amount(subject.employer_contribution)],
    ['Starts', dayIn(event, 'effective_start')],
    ['Ends', dayIn(event, 'effective_end')],
    ['Deduction', deduction_id !== null && deductionLink(deduction_id)],
    ['Version', version && `${version.version}, at ledger position ${version.position}`],
    [
      'Same time',
      version?.tie_changed &&
        'Another event with the same time has different contents. The one received later applies.',
    ],
    [
      'Time ignored',
      event.flags.includes('time-ignored') &&
        'The time that the service sent is before 2000, so it was never set. The time of receipt counts.',
    ],
    [
      'Contract',
      event.flags.includes('contract-changed') &&
        'This was the first event with something that the contract does not know. Readiness names it.',
    ],
    [
      'Time in the future',
      version?.future_dated && 'Until then, events with an earlier time are recorded but do not apply.',
    ],
  ]);
}

function conflictCount({ open, stored, not_stored, last_not_stored_at, dismissed_reason }: Conflicts): Html {
  const bodyCount = counted(stored, 'other body', 'other bodies');
  return html`
    <p>${open ? `${bodyCount} with the same ID. Compare them below, then dismiss.` : `${bodyCount}, dismissed: ${dismissed_reason}`}</p>
    ${
      last_not_stored_at !== null &&
      html`<p>${`${counted(not_stored, 'later delivery', 'later deliveries')} with further bodies were not stored, the last on `}${instant(last_not_stored_at)}.</p>`
    }
  `;
}
