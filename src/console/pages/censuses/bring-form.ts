/** The form that a census is brought with. */
import { type Html, html } from '../../html.ts';
import { employerPath } from './paths.ts';

/** How long a browser waits for the answer: as long as the listener reads a body. */
const WAITS = 'timeout:600s';

/** The form. What the check says goes below it; the file stays in the form until it is staged. */
export function bringForm(employerId: string): Html {
  return html`
    <section class="card" aria-labelledby="bring">
      <h2 id="bring">Bring a census</h2>
      <p>
        ${'The file is checked and compared with the last upload, row by row, and nothing of it is kept. It stays in your browser; when you stage it, it is sent once more, checked again and kept encrypted.'}
      </p>
      <form
        id="bring-form"
        hx-post=${`${employerPath(employerId)}/check`}
        hx-encoding="multipart/form-data"
        hx-target="#outcome"
        hx-config=${WAITS}
      >
        <details class="field">
          <summary>The census is a CSV: add its organization</summary>
          <label for="organization">Organization, a JSON file</label>
          <input id="organization" name="organization" type="file" accept=".json,application/json" />
          <p class="hint">A CSV has a row for each employee and no place for the employer itself.</p>
        </details>
        <div class="field">
          <label for="census">Census, a JSON or CSV file</label>
          <input id="census" class="drop" name="census" type="file" accept=".json,.csv,application/json,text/csv" required />
          <p class="hint">Choose it, or drop it there. At most 256 MiB.</p>
        </div>
        <div class="actions">
          <button type="submit">Check it</button>
          <span class="busy soft" role="status">Checking every row …</span>
        </div>
      </form>
      <div id="outcome"></div>
    </section>
  `;
}

/** Sends the form's file to be staged: the very one that was checked. */
export function stageButton(employerId: string, checked: string): Html {
  return html`
    <button
      type="button"
      form="bring-form"
      hx-post=${`${employerPath(employerId)}/stage?checked=${checked}`}
      hx-encoding="multipart/form-data"
      hx-config=${WAITS}
    >Stage this census</button>
  `;
}
