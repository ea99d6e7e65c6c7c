/** What stands where there is nothing yet. */
import { type Content, type Html, html } from '../html.ts';

/** `says`: what there is none of. `children`: what to do first, with the exact command or request. */
export function empty(says: string, children: Content = null): Html {
  return html`<div class="card empty"><p><strong>${says}</strong></p>${children}</div>`;
}

/** A command or a request to copy. */
export function command(text: string): Html {
  return html`<pre tabindex="0"><code>${text}</code></pre>`;
}
