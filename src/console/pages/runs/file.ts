/** Payroll's files: dropped on a page, passed on to the API as they come. */
import { Refusal } from '../../../api/problem.ts';
import { table } from '../../elements/table.ts';
import { type Html, html } from '../../html.ts';
import type { Upload } from '../../upload.ts';

const TYPES: Readonly<Record<string, string>> = {
  csv: 'text/csv',
  json: 'application/json',
  ndjson: 'application/x-ndjson',
};
const ACCEPTED = '.csv,.json,.ndjson,text/csv,application/json,application/x-ndjson';

/** Hands the file that was brought on to a path of the API, and answers what that says. Throws `ApiRefusal`. */
export function sendFile({ filename, file, send }: Upload, path: string): Promise<unknown> {
  const [, ending] = /\.([a-z]+)$/i.exec(filename) ?? [];
  const type = TYPES[(ending ?? '').toLowerCase()];
  if (type === undefined) {
    throw new Refusal(
      'invalid-request',
      'bring a .csv, .json or .ndjson file: its name tells how it is read',
    );
  }
  return send({ method: 'POST', path, headers: { 'content-type': type }, body: file });
}

/** The form: dropping a file on it is choosing it. `sends`: by itself, once a file is chosen. */
export function fileForm({
  to,
  label,
  button,
  sends = false,
  columns,
}: {
  to: string;
  label: string;
  button: string;
  sends?: boolean;
  columns: readonly (readonly [name: string, is: string])[];
}): Html {
  return html`
    <form
      class="card"
      hx-post=${to}
      hx-encoding="multipart/form-data"
      hx-target="#outcome"
      hx-trigger=${sends ? 'change, submit' : 'submit'}
      hx-config="timeout:600s"
    >
      <div class="field">
        <label for="file">${label}</label>
        <input id="file" class="drop" name="file" type="file" accept=${ACCEPTED} aria-describedby="file-hint" required />
        <p class="hint" id="file-hint">Drop it there, or choose it. CSV, JSON or NDJSON in UTF-8, at most 64 MiB.</p>
      </div>
      <div class="actions">
        <button type="submit">${button}</button>
        <span class="busy soft" role="status">Reading every row …</span>
      </div>
      <details>
        <summary>What the file holds</summary>
        ${table({
          caption: 'Columns of the file',
          captionHidden: true,
          columns: [
            {
              title: 'Column',
              kind: 'name',
              cell: ([name]: readonly [string, string]) => html`<code>${name}</code>`,
            },
            { title: 'Is', cell: ([, is]) => is },
          ],
          rows: columns,
        })}
        <p class="hint">${'A CSV has a header with these names, in any order; a JSON is '}<code>${'{"lines": [{…}]}'}</code>${' with the same. Amounts are texts such as 12.34.'}</p>
      </details>
    </form>
  `;
}
