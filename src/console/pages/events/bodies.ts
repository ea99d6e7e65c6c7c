/** The bodies of an event: as received, or next to the conflicting ones. */
import type { ResultOf, RowOf } from '../../../api/operation.ts';
import type { getEvent, listEventConflicts } from '../../../api/operations/events.ts';
import { state } from '../../elements/facts.ts';
import { count, instant } from '../../elements/format.ts';
import { type Html, html } from '../../html.ts';
import { differenceOf, LINES_MAX, linesOf, MASK } from '../body-lines.ts';

type Event = ResultOf<typeof getEvent>;
type Conflict = RowOf<typeof listEventConflicts>;

/** Renders the body of an event, next to each other body with the same id. */
export function bodies(event: Event, conflicts: readonly Conflict[]): Html {
  const { id } = event;
  const isShown = [event, ...conflicts].some(({ body }) => body !== null);
  return html`
    <section aria-labelledby="body-title">
      <h2 id="body-title">${conflicts.length > 0 ? 'Bodies' : 'Body'}</h2>
      ${conflicts.length === 0 ? code('Body as received', event, id) : conflicts.map((conflict) => compared(event, conflict))}
      ${isShown && html`<p class="hint">${`${MASK} hides personal fields. All other values are shown as received.`}</p>`}
    </section>
  `;
}

/** Only the first body counts; lines that differ are marked in both. */
function compared(event: Event, conflict: Conflict): Html {
  const [first, second] = [event, conflict].map(
    ({ body }) => body && linesOf(body)?.map(({ whole }) => whole),
  );
  const differs = first && second ? differenceOf(first, second) : { one: [], other: [] };
  const { received_at, dismissed_at, dismissed_reason } = conflict;
  return html`
    <div class="beside">
      <div>
        <h3>${'First body '}${state(event.state)}</h3>
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

/** `differs`: the lines to mark, for a body that is compared. */
function code(
  name: string,
  { body, body_absent }: Pick<Event, 'body' | 'body_absent'>,
  eventId: string,
  differs?: readonly boolean[],
): Html {
  if (body === null) return html`<div class="card empty"><p>${body_absent}</p></div>`;
  const lines = linesOf(body);
  if (lines === null) {
    const reason = `This body is not JSON (${count(body.length)} characters), so personal data in it cannot be masked. `;
    const raw = html`<a href=${`/v1/events/${encodeURIComponent(eventId)}`}>Open the raw event</a>`;
    return html`<div class="card empty"><p>${reason}${raw}</p></div>`;
  }
  const content = lines.map(({ shown }, at) => {
    if (differs === undefined) return `${shown}\n`;
    return differs[at] ? html`<mark>${`≠ ${shown}\n`}</mark>` : `  ${shown}\n`;
  });
  return html`
    <pre class="body" tabindex="0" role="region" aria-label=${name}><code>${content}</code></pre>
    ${lines.length >= LINES_MAX && html`<p class="hint">${`Only the first ${count(LINES_MAX)} lines are shown.`}</p>`}
  `;
}
