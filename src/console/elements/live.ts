/** A part of a page that shows itself anew when something changed. */
import { BACKGROUND_HEADER } from '../../api/auth.ts';
import { type Content, type Html, html } from '../html.ts';

const BACKGROUND = JSON.stringify({ [BACKGROUND_HEADER]: '1' });

/** `id` of the part on its page; `path`: the page's own. What is typed or opened in it does not last: keep forms outside. */
export function live({ id, path }: { id: string; path: string }, content: Content): Html {
  return html`
    <div id=${id} class="live" hx-get=${path} hx-select=${`#${id}`} hx-swap="outerMorph" hx-trigger="news from:body throttle:1s" hx-headers=${BACKGROUND}>
      ${content}
    </div>
  `;
}
