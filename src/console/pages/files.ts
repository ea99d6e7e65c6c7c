/** An employer's files in any form: columns are recognized, a person confirms how files are read, and the chosen file is used. */
import type { ResultOf } from '../../api/operation.ts';
import { importDeductions } from '../../api/operations/deduction-imports.ts';
import { proposeFileFormat } from '../../api/operations/file-formats.ts';
import { Refusal } from '../../api/problem.ts';
import { FILE_KINDS, type FileKindName } from '../../formats/file-format.ts';
import {
  changeTable,
  chosenFileForm,
  type FileOf,
  fileOf,
  filePath,
  OUTCOME,
  readOtherwise,
  rejectedFile,
  repairsOf,
  rowProblems,
  sendFile,
  warningsIn,
} from '../elements/file.ts';
import { count, counted, lacksScope } from '../elements/format.ts';
import { address, censusPath, cutOverPath, nameIn, runPath } from '../elements/links.ts';
import { type Upload, upload } from '../forms.ts';
import { type Html, html } from '../html.ts';
import type { Console, Done, Visit } from '../page.ts';
import { attempt } from '../performing.ts';
import { confirmFormat, formatForm } from './file-format.ts';
import { setupPath } from './payrolls.ts';

type Proposal = ResultOf<typeof proposeFileFormat>;

export function filePages(pages: Console): void {
  pages.page('/files/:employer_id/:kind', importDeductions.scope, async (visit) => {
    const of = fileIn(visit);
    const { kind } = of;
    if (kind === 'census') return { go: censusPath(of.employer_id) };
    return {
      title: html`${TITLES[kind]} of ${nameIn('employer', of.employer_id)}`,
      body: fileForm({ ...of, kind }, visit),
    };
  });

  upload(pages, '/files/:employer_id/:kind', 'runs:write', async (uploaded) => {
    const { api, file, filename, fields } = uploaded;
    if (/\.(?:nd)?json$/i.test(filename))
      throw new Refusal('INVALID_REQUEST', 'Choose a .csv or .xlsx file. A JSON file needs no file format.');
    const proposal = await api.upload(
      proposeFileFormat,
      { content: file, headers: { 'content-type': 'text/csv' } },
      { query: { sheet: fields.sheet || undefined } },
    );
    return proposed(proposal, fileIn(uploaded), uploaded);
  });

  pages.action('/files/:employer_id/:kind/confirm', 'runs:write', async (act) => {
    const of = fileIn(act);
    const problem = await confirmFormat(act, of);
    return problem ?? confirmed(of);
  });

  upload(pages, '/files/:employer_id/deductions/check', importDeductions.scope, (uploaded) =>
    sent(uploaded, true),
  );
  upload(pages, '/files/:employer_id/deductions/import', importDeductions.scope, (uploaded) =>
    sent(uploaded, false),
  );
}

const TITLES: Readonly<Record<FileKindName, string>> = {
  census: 'Census',
  deductions: 'Deductions',
  payroll: 'Payroll files',
};

function fileIn({ params, query }: Pick<Visit, 'params' | 'query'>): FileOf {
  const kind = FILE_KINDS.find((each) => each === params.kind);
  if (kind === undefined) throw new Refusal('NOT_FOUND', 'No such kind of file.');
  return { employer_id: params.employer_id ?? '', kind, use: query.use, run: query.run };
}

const EXPLANATIONS = {
  deductions:
    'Choose the list of what payroll deducts today as it is. First, each row is checked, and nothing is saved. Then you can import the same file.',
  payroll:
    'Choose a file that payroll writes or loads, as it is. Its columns are recognized, and nothing is saved until you confirm them. Files of amounts taken, comparisons with payroll, and files for payroll then have these columns.',
} as const;

/** The file stays in the form until it is used. */
function fileForm(of: FileOf & { kind: keyof typeof EXPLANATIONS }, { may }: Visit): Html {
  if (of.kind === 'payroll' && !may('runs:write'))
    return html`<p>${lacksScope('To set how files are read', 'runs:write')}</p>`;
  const isImport = of.kind === 'deductions';
  const form = chosenFileForm(filePath(of, isImport ? '/check' : ''), {
    label: isImport ? 'Deductions (Excel, CSV, JSON or NDJSON file)' : 'Payroll’s file (Excel or CSV)',
    accept: isImport ? '.xlsx,.csv,.json,.ndjson,text/csv' : '.xlsx,.csv,text/csv',
    hint: 'Choose a file or drop it here. At most 64 MiB.',
    button: isImport ? 'Check' : 'Recognize columns',
    busy: 'Reading every row …',
  });
  return html`
    <section class="card" aria-labelledby="choose">
      <h2 id="choose">Choose the file</h2>
      <p>${EXPLANATIONS[of.kind]}</p>
      ${form}
    </section>
    <div id=${OUTCOME}></div>
  `;
}

/** Shows how the file would be read, for a person to correct and confirm. */
async function proposed(proposal: Proposal, of: FileOf, visit: Visit): Promise<Html> {
  const { format, problem_count, problems, repairs } = proposal;
  const open = html`
    <h3>${counted(problem_count, 'problem')}</h3>
    <p>${format === null ? 'Correct the file, choose it again, and check it again.' : 'Choose the right field of a column below, or correct the file and choose it again.'}</p>
    ${rowProblems(problems, problem_count)}
  `;
  return html`
    <section class="card" aria-labelledby="proposal-title">
      <h2 id="proposal-title" tabindex="-1" autofocus>Check how it is read</h2>
      <p>${sourceOf(proposal)}</p>
      ${problem_count > 0 && open}
      ${repairs.changes.length > 0 ? changeTable(repairs) : html`<p>Every value is read as it is.</p>`}
      ${format !== null && (await formatForm(format, of, visit))}
    </section>
    <div id="confirmed"></div>
  `;
}

function sourceOf({ repairs }: Proposal): string {
  const { rows, sheet, hidden_rows, header_line } = repairs;
  if (header_line === null) return 'No row with the names of columns was found.';
  const from = sheet === null ? '' : ` of the sheet ${sheet}`;
  const hidden = hidden_rows > 0 ? `, ${counted(hidden_rows, 'hidden row')} among them` : '';
  return `${counted(rows, 'row')} below the column names in line ${header_line}${from}${hidden}.`;
}

/** Renders the next step with the chosen file, a check or a comparison, which starts without a click. */
function confirmed({ employer_id, kind, use, run }: FileOf): Html {
  const done = html`<p class="done" role="status">Your files are now read this way. Nothing of this file is saved yet.</p>`;
  const next = nextOf();
  return html`${done}${next !== null && html`<div class="actions">${sendFile(...next, { isAtOnce: true })}</div>`}`;

  function nextOf(): readonly [path: string, label: string] | null {
    if (use === 'audit' && run !== undefined) return [runPath(run, '/audit'), 'Compare'];
    if (use === 'taken' && run !== undefined) return [runPath(run, '/taken/check'), 'Check the file'];
    if (use !== undefined) return [cutOverPath(employer_id, use), 'Compare'];
    if (kind === 'census') return [`${censusPath(employer_id)}/check`, 'Check the file'];
    if (kind === 'deductions') return [filePath({ employer_id, kind }, '/check'), 'Check the file'];
    return null;
  }
}

type Imported = ResultOf<typeof importDeductions>;

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
      ${warningsIn(result.warnings)}
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
