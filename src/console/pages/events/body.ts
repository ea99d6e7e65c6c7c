/** The body of an event, next to conflicting bodies with the same id. */
import type { Schemas } from '../../../client.ts';
import { state } from '../../elements/facts.ts';
import { count, instant } from '../../elements/format.ts';
import { type Content, type Html, html } from '../../html.ts';
import { differenceOf, LINES_MAX, type Line, linesOf, MASK } from './body-lines.ts';

type Event = Schemas['Event'];
type Conflict = Event['conflicts'][number];
type Kept = { body: string | null; body_absent: string | null };

export function bodies(event: Event): Html {
  const { conflicts, id } = event;
  const isShown = [event, ...conflicts].some(({ body }) => body !== null);
  const lines = event.body === null ? null : linesOf(event.body);
  const single =
    lines === null
      ? noLines(event, id)
      : code(
          'Body as received',
          lines,
          lines.map(({ shown }) => `${shown}\n`),
        );
  return html`
    <section aria-labelledby="body-title">
      <h2 id="body-title">${conflicts.length > 0 ? 'Bodies' : 'Body'}</h2>
      ${conflicts.length === 0 ? single : conflicts.map((conflict) => compared(event, conflict))}
      ${isShown && html`<p class="hint">${`${MASK} hides personal fields. All other values are shown as received.`}</p>`}
    </section>
  `;
}

/** The first body applies; lines that differ are marked in both. */
function compared(event: Event, conflict: Conflict): Html {
  const [one, other] = [event, conflict].map(({ body }) => (body === null ? null : linesOf(body)));
  const whole = (lines: Line[]) => lines.map((line) => line.whole);
  const differs = one && other ? differenceOf(whole(one), whole(other)) : null;
  const content = (kept: Kept, lines: Line[] | null | undefined, name: string, marks?: readonly boolean[]) =>
    lines
      ? code(
          name,
          lines,
          lines.map((line, at) => marked(line, marks?.[at] ?? false)),
        )
      : noLines(kept, event.id);
  return html`
    <div class="beside">
      <div>
        <h3>${'First body (applied)'}</h3>
        <p class="hint">${'Received '}${instant(event.received_at)}</p>
        ${content(event, one, 'First body', differs?.one)}
      </div>
      <div>
        <h3>${'Other body with the same ID '}${conflict.dismissed_at === null ? state('conflict') : state('dismissed')}</h3>
        <p class="hint">
          ${'Received '}${instant(conflict.received_at)}
          ${conflict.dismissed_reason !== null && ` · dismissed: ${conflict.dismissed_reason}`}
        </p>
        ${content(conflict, other, 'Other body', differs?.other)}
      </div>
    </div>
  `;
}

function marked({ shown }: Line, differs: boolean): Content {
  return differs ? html`<mark>${`≠ ${shown}\n`}</mark>` : `  ${shown}\n`;
}

function code(name: string, lines: readonly Line[], content: Content): Html {
  return html`
    <div>
      <pre class="body" tabindex="0" role="region" aria-label=${name}><code>${content}</code></pre>
      ${lines.length >= LINES_MAX && html`<p class="hint">${`Only the first ${count(LINES_MAX)} lines are shown.`}</p>`}
    </div>
  `;
}

function noLines({ body, body_absent }: Kept, eventId: string): Html {
  if (body === null) return html`<div class="card empty"><p>${`No body: ${body_absent}.`}</p></div>`;
  return html`
    <div class="card empty">
      <p>
        ${`This body is not JSON (${count(body.length)} characters), so personal data in it cannot be masked. `}<a href=${`/v1/events/${encodeURIComponent(eventId)}`}>Open the raw event</a>
      </p>
    </div>
  `;
}
