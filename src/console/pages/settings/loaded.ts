/**
 * A list is saved as a whole, so whoever saves last would undo what another has changed meanwhile. The form knows the
 * list as it was when it was loaded, by its hash.
 */
import { createHash } from 'node:crypto';
import { type Content, type Html, html } from '../../html.ts';

const NAME = 'loaded';

/** What the API answered, as a short text that tells two answers apart. */
export function markOf(list: unknown): string {
  return createHash('sha256').update(JSON.stringify(list)).digest('hex');
}

/** The mark of the list that a form was filled from; empty where it says none, which is that of no list. */
export function loadedOf(form: Readonly<Record<string, string>>): string {
  return form[NAME] ?? '';
}

export function loadedField(mark: string): Html {
  return html`<input type="hidden" name=${NAME} value=${mark} />`;
}

/** Nothing was saved, because the list is another one by now: what it is, and how one goes on. */
export function changedMeanwhile(what: string, now: Content): Html {
  return html`
    <div class="problem" role="alert" tabindex="-1" autofocus>
      <strong>${`Not saved: ${what} changed since you opened this page`}</strong>
      <p>Somebody else saved meanwhile. This is what is there now:</p>
      ${now}
      <p>What you typed is below. Bring it in line with the above; saving again puts yours in its place.</p>
    </div>
  `;
}
