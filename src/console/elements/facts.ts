/** Facts about one thing, states, empty states, and parts of a page that refresh. */
import { BACKGROUND_HEADER } from '../../api/auth.ts';
import type { ProblemDetails } from '../../api/problem.ts';
import { type Content, type Html, html } from '../html.ts';
import { hiddenFields } from './fields.ts';
import type { Query } from './links.ts';

/** `good`: nothing to do. `warn`: look at it. `bad`: act. `plain`: in progress or over. */
export type Tone = 'good' | 'warn' | 'bad' | 'plain';

const STATES: Readonly<Partial<Record<Tone, readonly string[]>>> = {
  good: ['applied', 'delivered', 'completed', 'finalized', 'pass', 'active', 'identical', 'accepted'],
  warn: ['waiting', 'held', 'warn'],
  bad: ['quarantined', 'rejected', 'failed', 'overdue', 'conflict', 'fail', 'paused', 'different'],
};
const TONES = new Map(Object.entries(STATES).flatMap(([tone, words]) => words.map((word) => [word, tone])));

/** The headers of requests that no person made. They do not extend a session. */
export const BACKGROUND = JSON.stringify({ [BACKGROUND_HEADER]: '1' });

/** Renders a list of terms. Pairs whose content is null, undefined or false are left out. */
export function facts(pairs: readonly (readonly [term: string, content: Content])[]): Html {
  const known = pairs.filter(([, content]) => content !== null && content !== undefined && content !== false);
  const items = known.map(([term, content]) => [html`<dt>${term}</dt>`, html`<dd>${content}</dd>`]);
  return html`<dl class="facts">${items}</dl>`;
}

/** Renders a state as its word in the API; color only adds to it. */
export function state(word: string, tone: Tone | undefined = TONES.get(word) as Tone): Html {
  return html`<span class=${`state ${tone ?? 'plain'}`}>${word}</span>`;
}

/** Renders an empty state: what is missing, and what to do. */
export function empty(missing: string, children: Content = null): Html {
  return html`<div class="card empty"><p><strong>${missing}</strong></p>${children}</div>`;
}

/**
 * Wraps a part that refreshes when something changed. `path` is the page's own; `id` is unique on it; `every` bounds how
 * often it refreshes. A refresh discards what was typed in the part, so keep forms outside.
 */
export function live(
  { id, path, every = '1s' }: { id: string; path: string; every?: '1s' | '5s' },
  content: Content,
): Html {
  return html`
    <div id=${id} class="live" hx-get=${path} hx-select=${`#${id}`} hx-swap="outerMorph" hx-trigger=${`news from:body throttle:${every}`} hx-headers=${BACKGROUND}>
      ${content}
    </div>
  `;
}

/** Renders a part of a page that loads separately, because it takes as long as computing a run. */
export function later(path: string, message: string): Html {
  return html`
    <div hx-get=${path} hx-trigger="load" hx-swap="outerHTML">
      <p class="card soft" role="status">${message}</p>
    </div>
  `;
}

/** Renders a button that shows personal data. Each read is recorded, so it needs a click. */
export function recordedRead(path: string, query: Query, button: string, hint: string): Html {
  return html`
    <form method="get" action=${path}>
      ${hiddenFields(query)}
      <p><button type="submit" class="quiet">${button}</button><span class="hint">${` ${hint}`}</span></p>
    </form>
  `;
}

export function responseOfService(response: string): Html {
  return html`<h3>Response of the service</h3><pre tabindex="0"><code>${response}</code></pre>`;
}

/** Renders the text of an error, and the problems that it does not name. */
export function problemBody({
  status,
  detail,
  errors = [],
  error_count = errors.length,
}: ProblemDetails): Html {
  const more = error_count - errors.length;
  const items = errors.map(({ path, rule }) => html`<li><code>${path}</code>${` ${rule}`}</li>`);
  return html`
    <div class="problem-body">
      ${detail !== undefined && html`<p>${detail}</p>`}
      ${status === 503 && html`<p>Wait a moment, then try again.</p>`}
      ${items.length > 1 && html`<ul>${items}${more > 0 && html`<li>${`and ${more} more`}</li>`}</ul>`}
    </div>
  `;
}

/** Confirms an action after it was saved, with a way back to the list that named it. */
export function savedNotice(
  { saved }: { readonly saved?: string | undefined },
  back: string,
  label: string,
  done = 'Saved.',
): Html | null {
  if (saved === undefined) return null;
  return html`<p class="card" role="status"><strong>${done}</strong> <a href=${back}>${label}</a></p>`;
}
