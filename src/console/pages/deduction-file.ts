/** Importing what payroll deducts today: the file is checked first, then the same file is imported. */
import type { ResultOf } from '../../api/operation.ts';
import { importDeductions } from '../../api/operations/deduction-imports.ts';
import {
  type FileOf,
  fileOf,
  filePath,
  readOtherwise,
  rejectedFile,
  repairsOf,
  sendFile,
} from '../elements/file.ts';
import { count, counted } from '../elements/format.ts';
import { address } from '../elements/links.ts';
import { rowProblems } from '../elements/list.ts';
import { type Upload, upload } from '../forms.ts';
import { type Html, html } from '../html.ts';
import type { Console, Done, Visit } from '../page.ts';
import { attempt } from '../performing.ts';
import { setupPath } from './payrolls.ts';

type Imported = ResultOf<typeof importDeductions>;

export function deductionFiles(pages: Console): void {
  upload(pages, '/files/:employer_id/deductions/check', importDeductions.scope, 'file', (uploaded) =>
    sent(uploaded, true),
  );
  upload(pages, '/files/:employer_id/deductions/import', importDeductions.scope, 'file', (uploaded) =>
    sent(uploaded, false),
  );
}

async function sent(uploaded: Upload, preview: boolean): Promise<Html | Done> {
  const { api, params } = uploaded;
  const file: FileOf = { employer_id: params.employer_id ?? '', kind: 'deductions' };
  const call = api.upload(importDeductions, fileOf(uploaded), {
    query: { employer_id: file.employer_id, preview },
  });
  const { data, problem } = await attempt(call, 422);
  if (problem !== undefined) return rejectedFile(problem, file, uploaded);
  return preview ? checked(data, file, uploaded) : imported(data, file, uploaded);
}

function checked(result: Imported, file: FileOf, visit: Visit): Html {
  const { rows, imported: added, placeholders } = result;
  return html`
    <section class="card" aria-labelledby="result">
      <h2 id="result" tabindex="-1" autofocus>${`No problems in ${counted(rows, 'deduction')}`}</h2>
      <p>${`${count(added)} new, ${count(rows - added)} imported before.${placeholders > 0 ? ` ${counted(placeholders, 'deduction')} without an ID of the benefits service: each is replaced once the service sends its deduction.` : ''}`}</p>
      ${repairsOf(result)}
      ${warningsOf(result)}
      <div class="actions">
        ${added > 0 && sendFile(filePath(file, '/import'), 'Import these deductions')}
      </div>
      ${result.repairs !== null && readOtherwise(file, visit, false)}
    </section>
  `;
}

/** Leads to the next step. The check has shown the warnings. */
function imported(
  { imported: added, applied }: Imported,
  { employer_id }: FileOf,
  { may }: Visit,
): Html | Done {
  if (may('runs:write') && may('runs:read'))
    return { go: address(setupPath(), { employer_id, imported: added }) };
  return html`<p class="done" role="status">${`${counted(added, 'deduction')} imported.${applied ? '' : ' They appear within seconds.'}`}</p>`;
}

function warningsOf({ warnings }: Imported): Html | null {
  if (warnings.length === 0) return null;
  return html`<h3>${`Warnings: ${count(warnings.length)}`}</h3><p>They block nothing.</p>${rowProblems(warnings)}`;
}
