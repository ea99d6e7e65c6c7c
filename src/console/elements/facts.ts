/** What is known of one thing, term by term. */
import { type Content, type Html, html } from '../html.ts';

/** A term whose content is null, undefined or false is left out. */
export function facts(pairs: readonly (readonly [term: string, content: Content])[]): Html {
  const known = pairs.filter(([, content]) => content !== null && content !== undefined && content !== false);
  return html`
    <dl class="facts">
      ${known.map(([term, content]) => [html`<dt>${term}</dt>`, html`<dd>${content}</dd>`])}
    </dl>
  `;
}

/** `12,345`. For counts; money is shown as the API gives it. */
export function count(value: number): string {
  return value.toLocaleString('en-US');
}

/** `1 line`, `2 lines`, `1,000 lines`. */
export function counted(number: number, one: string, several = `${one}s`): string {
  return `${count(number)} ${number === 1 ? one : several}`;
}
