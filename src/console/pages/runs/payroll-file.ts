/** Files from payroll: the upload form, and the problems of a rejected file. */
import { type ProblemDetails, problemOf } from '../../../api/problem.ts';
import { AppError } from '../../../errors.ts';
import { isRejectedByApi } from '../../api-client.ts';
import { count, counted } from '../../elements/format.ts';
import { type RowPlace, rowProblems, table } from '../../elements/table.ts';
import type { Upload } from '../../forms.ts';
import { type Html, html } from '../../html.ts';

const TYPES: Readonly<Record<string, string>> = {
  csv: 'text/csv',
  json: 'application/json',
  ndjson: 'application/x-ndjson',
};
const ACCEPTED = '.csv,.json,.ndjson,text/csv,application/json,application/x-ndjson';

/** Renders the form. `submitsOnChoice`: it is sent as soon as a file is chosen. */
export function fileForm({
  to,
  label,
  button,
  submitsOnChoice = false,
  columns,
}: {
  to: string;
  label: string;
  button: string;
  submitsOnChoice?: boolean;
  columns: readonly (readonly [name: string, description: string])[];
}): Html {
  return html`
    <form
      class="card"
      hx-post=${to}
      hx-encoding="multipart/form-data"
      hx-target="#outcome"
      hx-trigger=${submitsOnChoice ? 'change, submit' : 'submit'}
      hx-config="timeout:600s"
    >
      <div class="field">
        <label for="file">${label}</label>
        <input id="file" class="drop" name="file" type="file" accept=${ACCEPTED} aria-describedby="file-hint" required />
        <p class="hint" id="file-hint">Choose a file or drop it here. CSV, JSON or NDJSON in UTF-8, at most 64 MiB.</p>
      </div>
      <div class="actions">
        <button type="submit">${button}</button>
        <span class="busy soft" role="status">Reading the file …</span>
      </div>
      <details>
        <summary>File format</summary>
        ${table<readonly [string, string]>({
          caption: 'Columns of the file',
          captionHidden: true,
          columns: [
            { title: 'Column', kind: 'name', cell: ([name]) => html`<code>${name}</code>` },
            { title: 'Description', cell: ([, description]) => description },
          ],
          rows: columns,
        })}
        <p class="hint">${'A CSV file has a header with these names, in any order. A JSON file is '}<code>${'{"lines": [{…}]}'}</code>${' with the same names. Amounts are strings such as 12.34.'}</p>
      </details>
    </form>
  `;
}

/** Sends the uploaded file to the API. Returns its response, or a table of the rows that it rejected. Throws the error of a rejected call. */
export async function sendFile<T>(
  { filename, file, send }: Upload,
  path: string,
): Promise<{ response: T } | { rejected: Html }> {
  const [, ending] = /\.([a-z]+)$/i.exec(filename) ?? [];
  const type = TYPES[(ending ?? '').toLowerCase()];
  if (type === undefined) throw new AppError('INVALID_REQUEST', 'Choose a .csv, .json or .ndjson file.');
  try {
    const headers = { 'content-type': type };
    return { response: (await send({ method: 'POST', path, headers, body: file })) as T };
  } catch (error) {
    const problem = isRejectedByApi(error) ? problemOf(error) : null;
    if (problem?.status !== 422) throw error;
    return { rejected: rejectedRows(problem) };
  }
}

function rejectedRows({ title, errors = [], error_count = errors.length }: ProblemDetails): Html {
  return html`
    <section aria-labelledby="rejected">
      <h2 id="rejected">${title}</h2>
      <p>
        ${`Nothing was saved: the file has ${counted(error_count, 'problem')}.${errors.length < error_count ? ` The first ${count(errors.length)} are shown.` : ''} Row 1 is the first row after the header.`}
      </p>
      ${rowProblems(errors, placeOf)}
    </section>
  `;
}

/** `lines[17].amount` as `18` and `amount`. */
function placeOf(path: string): RowPlace {
  const [, index, field] = /^lines\[(\d+)\]\.?(.*)$/s.exec(path) ?? [];
  if (index === undefined) return { row: 'file', field: path };
  return { row: count(Number(index) + 1), field: field || 'whole row' };
}
