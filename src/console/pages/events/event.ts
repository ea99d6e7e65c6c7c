/** One event: what was received, its result, what can be done about it, and its body next to conflicting bodies. */
import type { Schemas } from '../../../client.ts';
import { CENSUS_SYNC_COMPLETE } from '../../../contract/events.ts';
import { facts, live, state } from '../../elements/facts.ts';
import { decision } from '../../elements/fields.ts';
import { count, counted, instant } from '../../elements/format.ts';
import { deductionLink, idLink, pathOf } from '../../elements/links.ts';
import { type Content, type Html, html } from '../../html.ts';
import type { Console, Visit } from '../../page.ts';
import { differenceOf, LINES_MAX, type Line, linesOf, MASK } from './body-lines.ts';

type Event = Schemas['Event'];

export function eventPages({ page, action }: Console): void {
  page('/events/:event_id', 'events:read', async (visit) => {
    const { event_id = '' } = visit.params;
    const event = await visit.api.get('/v1/events/{event_id}');
    return {
      title: `Event ${event_id}`,
      body: html`
        ${live(
          { id: 'event', path: eventPath(event_id) },
          html`
            <div class="cards wide">
              <section class="card" aria-labelledby="received-title">
                <h2 id="received-title">Received</h2>
                ${received(event)}
              </section>
              <section class="card" aria-labelledby="result-title">
                <h2 id="result-title">Result</h2>
                ${resultOf(event, visit)}
              </section>
            </div>
          `,
        )}
        ${visit.may('events:write') && decisions(event)}
        ${bodies(event)}
      `,
    };
  });

  action('/events/:event_id/reprocess', 'events:write', async ({ api, params: { event_id = '' } }) => {
    await api.send('post', '/v1/events/{event_id}/reprocess');
    return { go: eventPath(event_id) };
  });
  action('/events/:event_id/dismiss', 'events:write', async ({ api, params: { event_id = '' }, form }) => {
    await api.send('post', '/v1/events/{event_id}/dismiss', {}, { reason: form.reason ?? '' });
    return { go: eventPath(event_id) };
  });
}

/** An event without a page is found in the list. */
function eventPath(id: string): string {
  return pathOf('/events', id) ?? '/events';
}

function received({ id, envelope_id, event_type, source, received_at }: Event): Html {
  return facts([
    ['Event ID', html`<code>${id}</code>`],
    ['ID in the body', envelope_id === null ? 'none' : html`<code>${envelope_id}</code>`],
    ['Type', event_type ?? 'unknown'],
    ['Received', instant(received_at)],
    ['Signature', source === 'import' ? 'none: the event was imported' : 'verified'],
  ]);
}

function resultOf(event: Event, { may }: Visit): Html {
  return facts([
    ['State', html`<span>${state(event.state)}${event.reason !== null && ` ${event.reason}`}</span>`],
    ['Finished', event.finished_at !== null && instant(event.finished_at)],
    ['Effect', effectOf(event, may)],
    [
      'Dismissed',
      event.dismissed_at !== null &&
        html`<span>${instant(event.dismissed_at)}${`: ${event.dismissed_reason}`}</span>`,
    ],
    ['Conflicts', event.conflicts.length > 0 && conflictsOf(event.conflicts)],
  ]);
}

function effectOf(
  { state, event_type, effects: { deduction_version: version, census_sync } }: Event,
  may: Visit['may'],
): Content {
  if (version !== null) {
    const { deduction_id, late, tie_changed, future_dated } = version;
    return html`
      <p>
        ${`Version ${version.version} of deduction `}
        ${may('ledger:read') ? deductionLink(deduction_id) : html`<code>${deduction_id}</code>`}
        ${`, at position ${version.position} of the ledger.`}
      </p>
      ${late && html`<p>It arrived late. A newer version stays the latest.</p>`}
      ${tie_changed && html`<p>Another event with the same time has different content. The one received later applies.</p>`}
      ${future_dated && html`<p>Its time is in the future. Until then, events with an earlier time are recorded but do not apply.</p>`}
    `;
  }
  if (census_sync !== null) {
    const { employer_id } = census_sync;
    const path = may('census:read') ? pathOf('/census', employer_id) : null;
    return html`<span>${'A census sync of '}${idLink(path, employer_id)}</span>`;
  }
  if (state === 'pending') return 'Not applied yet.';
  if (state === 'applied' && event_type === CENSUS_SYNC_COMPLETE) {
    return 'The uploaded census syncs of the employer are completed.';
  }
  return 'None.';
}

function conflictsOf(conflicts: Event['conflicts']): string {
  const isOpen = conflicts.some(({ dismissed_at }) => dismissed_at === null);
  const bodies = counted(conflicts.length, 'other body', 'other bodies');
  return isOpen ? `${bodies} with the same ID. Compare them below, then dismiss.` : `${bodies}, dismissed.`;
}

/** Renders the actions that the API would accept; null when there are none. */
function decisions(event: Event): Html | null {
  const path = pathOf('/events', event.id);
  const mayReprocess = event.state !== 'pending' && event.body !== null;
  const mayDismiss = needsDecision(event);
  if (path === null || (!mayReprocess && !mayDismiss)) return null;
  return html`
    <section class="card" aria-labelledby="decide">
      <h2 id="decide">Actions</h2>
      ${
        mayReprocess &&
        decision(`${path}/reprocess`, {
          button: 'Reprocess',
          look: event.state === 'quarantined' ? '' : 'quiet',
          hint: 'Reads and applies the event again, for example after an upgrade. Nothing takes effect twice.',
        })
      }
      ${
        mayDismiss &&
        decision(`${path}/dismiss`, {
          button: 'Dismiss',
          hint: 'Readiness no longer fails for this event. It stays in the list with your reason.',
          reason: 'Reason for dismissing',
        })
      }
    </section>
  `;
}

/** Returns whether readiness fails for the event. */
function needsDecision({ state, dismissed_at, conflicts, effects }: Event): boolean {
  const { tie_changed = false, future_dated = false } = effects.deduction_version ?? {};
  const isMarked = state === 'quarantined' || tie_changed || future_dated;
  return conflicts.some((one) => one.dismissed_at === null) || (isMarked && dismissed_at === null);
}

type Conflict = Event['conflicts'][number];
type Kept = { body: string | null; body_absent: string | null };

/** Renders the body, next to conflicting bodies with the same id. */
function bodies(event: Event): Html {
  const { conflicts } = event;
  const isShown = [event, ...conflicts].some(({ body }) => body !== null);
  return html`
    <section aria-labelledby="body-title">
      <h2 id="body-title">${conflicts.length > 0 ? 'Bodies' : 'Body'}</h2>
      ${conflicts.length === 0 ? code('Body as received', event, event.id) : conflicts.map((conflict) => compared(event, conflict))}
      ${isShown && html`<p class="hint">${`${MASK} hides personal fields. All other values are shown as received.`}</p>`}
    </section>
  `;
}

/** The first body applies; lines that differ are marked in both. */
function compared(event: Event, conflict: Conflict): Html {
  const [one, other] = [event, conflict].map(({ body }) => body && linesOf(body)?.map(({ whole }) => whole));
  const differs = one && other ? differenceOf(one, other) : { one: [], other: [] };
  const { received_at, dismissed_at, dismissed_reason } = conflict;
  return html`
    <div class="beside">
      <div>
        <h3>${'First body (applied)'}</h3>
        <p class="hint">${'Received '}${instant(event.received_at)}</p>
        ${code('First body', event, event.id, differs.one)}
      </div>
      <div>
        <h3>${'Other body with the same ID '}${state(dismissed_at === null ? 'conflict' : 'dismissed')}</h3>
        <p class="hint">${'Received '}${instant(received_at)}${dismissed_reason !== null && ` · dismissed: ${dismissed_reason}`}</p>
        ${code('Other body', conflict, event.id, differs.other)}
      </div>
    </div>
  `;
}

function marked({ shown }: Line, differs: boolean): Content {
  return differs ? html`<mark>${`≠ ${shown}\n`}</mark>` : `  ${shown}\n`;
}

/** `differs`: the lines to mark, for a body that is compared. */
function code(name: string, kept: Kept, eventId: string, differs?: readonly boolean[]): Html {
  const lines = kept.body === null ? null : linesOf(kept.body);
  if (lines === null) return noLines(kept, eventId);
  const content = lines.map((line, at) => (differs ? marked(line, differs[at] ?? false) : `${line.shown}\n`));
  return html`
    <pre class="body" tabindex="0" role="region" aria-label=${name}><code>${content}</code></pre>
    ${lines.length >= LINES_MAX && html`<p class="hint">${`Only the first ${count(LINES_MAX)} lines are shown.`}</p>`}
  `;
}

function noLines({ body, body_absent }: Kept, eventId: string): Html {
  if (body === null) return html`<div class="card empty"><p>${body_absent}</p></div>`;
  return html`
    <div class="card empty">
      <p>
        ${`This body is not JSON (${count(body.length)} characters), so personal data in it cannot be masked. `}<a href=${`/v1/events/${encodeURIComponent(eventId)}`}>Open the raw event</a>
      </p>
    </div>
  `;
}
