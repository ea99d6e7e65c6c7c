/** What was refused of a form, on top of it: where the focus goes, with a link to each field. */
import type { ProblemDetails } from '../../api/problem.ts';
import { type Html, html } from '../html.ts';
import { count } from './facts.ts';

/** More than a person mends at a time; the rest is counted. */
const SHOWN = 20;

/** Its title speaks of the reference, which people at a form have not read. */
const BAD_REQUEST = 400;

/** Where a path of the API leads: the id of an element, and what people call it. */
export type Place = { readonly id: string; readonly label: string };

/** `placeOf`: null where the path is about none of the form's fields. What is no form leaves the focus where it is. */
export function problemSummary(
  { status, title, detail, errors = [], error_count }: ProblemDetails,
  placeOf?: (path: string) => Place | null,
): Html {
  const shown = errors.slice(0, SHOWN);
  const more = (error_count ?? errors.length) - shown.length;
  return html`
    <div class="problem" role="alert" tabindex="-1" autofocus=${placeOf !== undefined}>
      <strong>${status === BAD_REQUEST && errors.length > 0 ? 'This has to be mended first' : title}</strong>
      ${errors.length === 0 && detail !== undefined && html`<p>${detail}</p>`}
      ${
        shown.length > 0 &&
        html`<ul>
          ${shown.map(({ path, rule }) => html`<li>${placed(path, placeOf?.(path) ?? null)}${` ${rule}`}</li>`)}
          ${more > 0 && html`<li>${`and ${count(more)} more`}</li>`}
        </ul>`
      }
    </div>
  `;
}

function placed(path: string, place: Place | null): Html {
  return place === null ? html`<code>${path}</code>` : html`<a href=${`#${place.id}`}>${place.label}</a>`;
}
