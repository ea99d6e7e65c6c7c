/** The body of an event, and other bodies that came under its id beside it. */
import type { Schemas } from '../../../client.ts';
import { command } from '../../elements/empty.ts';
import { state } from '../../elements/state.ts';
import { instant } from '../../elements/time.ts';
import { type Content, type Html, html } from '../../html.ts';
import { LINES_MAX, type Line, linesOf, MASK } from './body-lines.ts';
import { differenceOf } from './difference.ts';

type Event = Schemas['WholeEvent'];
type Conflict = Event['conflicts'][number];
type Kept = { body: string | null; body_absent: string | null };

export function bodies(event: Event, origin: string): Html {
  const isShown = [event, ...event.conflicts].some(({ body }) => body !== null);
  return html`
    <section aria-labelledby="body-title">
      <h2 id="body-title">${event.conflicts.length > 0 ? 'Bodies' : 'Body'}</h2>
      ${
        event.conflicts.length === 0
          ? plainBody(event, origin)
          : event.conflicts.map((conflict) => beside(event, conflict, origin))
      }
      ${isShown && html`<p class="hint">${`${MASK} stands for a personal field. Everything else is as it was received, on lines of its own.`}</p>`}
    </section>
  `;
}

function plainBody(event: Event, origin: string): Html {
  const lines = event.body === null ? null : linesOf(event.body);
  return lines === null
    ? unshown(event, event.event_id, origin)
    : code(
        'The body as received',
        lines,
        lines.map(({ shown }) => `${shown}\n`),
      );
}

/** The first body stands; what differs is marked in both. */
function beside(event: Event, conflict: Conflict, origin: string): Html {
  const [one, other] = [event, conflict].map(({ body }) => (body === null ? null : linesOf(body)));
  const differs =
    one && other
      ? differenceOf(
          one.map(({ whole }) => whole),
          other.map(({ whole }) => whole),
        )
      : null;
  const side = (
    kept: Kept,
    lines: Line[] | null | undefined,
    name: string,
    marks: readonly boolean[] | undefined,
  ) =>
    lines
      ? code(
          name,
          lines,
          lines.map((line, at) => marked(line, marks?.[at] ?? false)),
        )
      : unshown(kept, event.event_id, origin);
  return html`
    <div class="beside">
      <div>
        <h3>${'The first, which stands'}</h3>
        <p class="hint">${'Received '}${instant(event.received_at)}</p>
        ${side(event, one, 'The first body', differs?.one)}
      </div>
      <div>
        <h3>${'Another, under the same id '}${conflict.dismissed_at === null ? state('conflict') : state('dismissed')}</h3>
        <p class="hint">
          ${'Received '}${instant(conflict.received_at)}
          ${conflict.dismissed_reason !== null && ` · dismissed: ${conflict.dismissed_reason}`}
        </p>
        ${side(conflict, other, 'The other body', differs?.other)}
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
      ${lines.length >= LINES_MAX && html`<p class="hint">${`Cut after ${LINES_MAX} lines.`}</p>`}
    </div>
  `;
}

function unshown({ body, body_absent }: Kept, eventId: string, origin: string): Html {
  if (body === null) return html`<div class="card empty"><p>${`The body is gone: ${body_absent}.`}</p></div>`;
  return html`
    <div class="card empty">
      <p>${`This body is not JSON (${body.length} characters), so nothing tells what in it is personal. To read it as it is:`}</p>
      ${command(`curl -H "Authorization: Bearer $TOKEN" ${origin}/v1/events/${encodeURIComponent(eventId)}`)}
    </div>
  `;
}
