/** What a person can do about an event. Only what the API would take is offered. */
import { REASON_MAX_CHARACTERS } from '../../../api/routes/events.ts';
import type { Schemas } from '../../../client.ts';
import { pathOf } from '../../elements/links.ts';
import { type Html, html } from '../../html.ts';

type Event = Schemas['WholeEvent'];

/** Null when there is nothing to decide. */
export function deciding(event: Event): Html | null {
  const path = pathOf('/events', event.event_id);
  const mayReprocess = event.state !== 'pending' && event.body !== null;
  const mayDismiss = asksForAPerson(event);
  if (path === null || (!mayReprocess && !mayDismiss)) return null;
  return html`
    <section class="card" aria-labelledby="decide">
      <h2 id="decide">What to do</h2>
      ${
        mayReprocess &&
        html`<form class="decision" hx-post=${`${path}/reprocess`}>
          <button type="submit" class=${event.state === 'quarantined' ? undefined : 'quiet'}>Reprocess</button>
          <p class="hint">It is read and applied again, after an upgrade for instance. What it did already is not done twice.</p>
        </form>`
      }
      ${
        mayDismiss &&
        html`<form class="decision" hx-post=${`${path}/dismiss`}>
          <div class="field">
            <label for="reason">Why nothing is to be done</label>
            <input id="reason" name="reason" required maxlength=${REASON_MAX_CHARACTERS} autocomplete="off" />
          </div>
          <button type="submit" class="quiet">Dismiss</button>
          <p class="hint">It stays in the list, with this reason. Readiness no longer fails for it.</p>
        </form>`
      }
    </section>
  `;
}

/** What readiness fails for. */
function asksForAPerson({ state, dismissed_at, conflicts, led_to: { version } }: Event): boolean {
  const isOpen = conflicts.some((conflict) => conflict.dismissed_at === null);
  const isMarked = state === 'quarantined' || version?.tie_changed === true || version?.ahead === true;
  return isOpen || (isMarked && dismissed_at === null);
}
