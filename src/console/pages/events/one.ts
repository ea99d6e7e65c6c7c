/** One event: what it says, what became of it, and what can be done about it. */
import type { FastifyInstance } from 'fastify';
import type { Schemas } from '../../../client.ts';
import { CENSUS_SYNC_COMPLETE } from '../../../contract/events.ts';
import { facts } from '../../elements/facts.ts';
import { deductionLink, idLink, pathOf } from '../../elements/links.ts';
import { live } from '../../elements/live.ts';
import { state } from '../../elements/state.ts';
import { instant } from '../../elements/time.ts';
import { type Content, type Html, html } from '../../html.ts';
import { need } from '../../own-api.ts';
import { page, type Visit } from '../../page.ts';
import type { ConsoleParts } from '../../parts.ts';
import { bodies } from './body.ts';
import { deciding } from './deciding.ts';
import { onePath } from './work.ts';

type Event = Schemas['WholeEvent'];

export function oneEventPages(app: FastifyInstance, parts: ConsoleParts): void {
  page(app, parts, { url: '/events/:event_id', scope: 'events:read' }, async (visit) => {
    const { event_id = '' } = visit.params;
    const event = need(await visit.api.GET('/v1/events/{event_id}', { params: { path: { event_id } } }));
    return {
      title: `Event ${event_id}`,
      place: 'events',
      body: html`
        <div>
          ${live(
            { id: 'event', path: onePath(event_id) },
            html`
              <div class="cards wide">
                <section class="card" aria-labelledby="came-title">
                  <h2 id="came-title">What came</h2>
                  ${cameIn(event)}
                </section>
                <section class="card" aria-labelledby="did-title">
                  <h2 id="did-title">What became of it</h2>
                  ${becameOf(event, visit)}
                </section>
              </div>
            `,
          )}
          ${visit.may('events:write') && deciding(event)}
          ${bodies(event, visit.origin)}
        </div>
      `,
    };
  });
}

function cameIn({ event_id, envelope_id, event_type, source, received_at }: Event): Html {
  return facts([
    ['Event id', html`<code>${event_id}</code>`],
    ['Id in the body', envelope_id === null ? 'none' : html`<code>${envelope_id}</code>`],
    ['Type', event_type ?? 'unknown'],
    ['Received', instant(received_at)],
    [
      'Verified',
      source === 'import'
        ? 'No: it was imported on the command line.'
        : 'Yes: the signature of its id, time and body, within five minutes of being sent.',
    ],
  ]);
}

function becameOf(event: Event, { may }: Visit): Html {
  return facts([
    ['State', html`<span>${state(event.state)}${event.reason !== null && ` ${event.reason}`}</span>`],
    ['Finished', event.finished_at !== null && instant(event.finished_at)],
    ['Led to', ledTo(event, may)],
    [
      'Dismissed',
      event.dismissed_at !== null &&
        html`<span>${instant(event.dismissed_at)}${`: ${event.dismissed_reason}`}</span>`,
    ],
    ['Under the same id', event.conflicts.length > 0 && conflictsOf(event.conflicts)],
  ]);
}

function ledTo({ state, event_type, led_to: { version, census_sync } }: Event, may: Visit['may']): Content {
  if (version !== null) {
    const { deduction_id, late, tie_changed, ahead } = version;
    return html`
      <div>
        <p>
          ${`Version ${version.version} of the deduction `}
          ${may('ledger:read') ? deductionLink(deduction_id) : html`<code>${deduction_id}</code>`}
          ${`, at position ${version.position} of the ledger.`}
        </p>
        ${late && html`<p>It came late: a newer state was known already, which stays the latest.</p>`}
        ${tie_changed && html`<p>Another event of the same instant says something else; the later received stands.</p>`}
        ${ahead && html`<p>Its time lies ahead of its receipt: a later event is kept, but not shown until that time.</p>`}
      </div>
    `;
  }
  if (census_sync !== null) {
    const { employer_id } = census_sync;
    const path = may('census:read') ? pathOf('/census', employer_id) : null;
    return html`<span>${'A census sync of '}${idLink(path, employer_id)}</span>`;
  }
  if (state === 'pending') return 'Nothing yet: it waits to be applied.';
  if (state === 'applied' && event_type === CENSUS_SYNC_COMPLETE) {
    return 'The census syncs of the employer whose upload had begun are completed.';
  }
  return 'Nothing.';
}

function conflictsOf(conflicts: Event['conflicts']): string {
  const open = conflicts.filter(({ dismissed_at }) => dismissed_at === null).length;
  const bodies = conflicts.length === 1 ? '1 other body came' : `${conflicts.length} other bodies came`;
  return open === 0 ? `${bodies}; dismissed.` : `${bodies}: compare them below, then dismiss it.`;
}
