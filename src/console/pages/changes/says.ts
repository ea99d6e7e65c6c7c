/** What a change says: personal data, shown to who may read it and asks for it. */
import type { Schemas } from '../../../client.ts';
import { facts } from '../../elements/facts.ts';
import { type Html, html } from '../../html.ts';
import type { Visit } from '../../page.ts';
import { changePath } from './words.ts';

type Change = Schemas['EmployeeChange'];

/** `change` has its body where it was asked for; null for who may not. */
export function said(change: Change, { may }: Visit): Html | null {
  if (!may('pii:read')) return null;
  const { body, body_absent, answer } = change;
  return html`
    <section aria-labelledby="says">
      <h2 id="says">What it says</h2>
      ${
        body === undefined
          ? html`
              <form method="get" action=${changePath(change.change_id)}>
                <input type="hidden" name="body" value="true" />
                <p>
                  <button type="submit" class="quiet">Show the personal data</button>
                  <span class="hint">${' Who looked, and when, is written down.'}</span>
                </p>
              </form>
            `
          : body === null
            ? html`<p class="soft">${body_absent}</p>`
            : html`<div class="card">${facts(fieldsOf(body))}</div>`
      }
      ${
        answer !== undefined &&
        answer !== null &&
        html`
          <div>
            <h3>What the service answered</h3>
            <pre tabindex="0"><code>${answer}</code></pre>
          </div>
        `
      }
    </section>
  `;
}

/** Each value by its path, as the columns of a file name it. */
function fieldsOf(value: unknown, path = ''): [string, string][] {
  if (Array.isArray(value)) return value.flatMap((one, index) => fieldsOf(one, `${path}[${index}]`));
  if (typeof value === 'object' && value !== null) {
    return Object.entries(value).flatMap(([name, one]) =>
      fieldsOf(one, path === '' ? name : `${path}.${name}`),
    );
  }
  return [[path, String(value)]];
}
