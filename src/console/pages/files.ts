/** An employer's files in any form: columns are recognized, a person confirms how files are read, and the chosen file is used. */
import type { ResultOf } from '../../api/operation.ts';
import { importDeductions } from '../../api/operations/deduction-imports.ts';
import { proposeFileFormat } from '../../api/operations/file-formats.ts';
import { Refusal } from '../../api/problem.ts';
import { FILE_KINDS, type FileKindName } from '../../formats/file-format.ts';
import { changeTable, chosenFileForm, type FileOf, filePath, OUTCOME, sendFile } from '../elements/file.ts';
import { counted, lacksScope } from '../elements/format.ts';
import { censusPath, cutOverPath, nameIn, runPath } from '../elements/links.ts';
import { rowProblems } from '../elements/list.ts';
import { upload } from '../forms.ts';
import { type Html, html } from '../html.ts';
import type { Console, Visit } from '../page.ts';
import { deductionFiles } from './deduction-file.ts';
import { confirmFormat, formatForm } from './file-format.ts';

type Proposal = ResultOf<typeof proposeFileFormat>;

const LISTED = 200;

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

  upload(pages, '/files/:employer_id/:kind', 'runs:write', 'file', async (uploaded) => {
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

  deductionFiles(pages);
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
  const fields = html`
    <div class="field">
      <label for="file">${isImport ? 'Deductions (Excel, CSV, JSON or NDJSON file)' : 'Payroll’s file (Excel or CSV)'}</label>
      <input id="file" class="drop" name="file" type="file" accept=${isImport ? '.xlsx,.csv,.json,.ndjson,text/csv' : '.xlsx,.csv,text/csv'} required />
      <p class="hint">Choose a file or drop it here. At most 64 MiB.</p>
    </div>
    <div class="actions">
      <button type="submit">${isImport ? 'Check' : 'Recognize columns'}</button>
      <span class="busy soft" role="status">Reading every row …</span>
    </div>
  `;
  return html`
    <section class="card" aria-labelledby="choose">
      <h2 id="choose">Choose the file</h2>
      <p>${EXPLANATIONS[of.kind]}</p>
      ${chosenFileForm(filePath(of, isImport ? '/check' : ''), fields)}
    </section>
    <div id=${OUTCOME}></div>
  `;
}

/** Shows how the file would be read, for a person to correct and confirm. */
async function proposed(proposal: Proposal, of: FileOf, visit: Visit): Promise<Html> {
  const { format, problem_count, problems, repairs } = proposal;
  const listed = problems.slice(0, LISTED);
  const open = html`
    <h3>${counted(problem_count, 'problem')}</h3>
    <p>${format === null ? 'Correct the file, choose it again, and check it again.' : 'Choose the right field of a column below, or correct the file and choose it again.'}</p>
    ${rowProblems(listed)}
    ${problem_count > listed.length && html`<p class="hint">${`${counted(problem_count - listed.length, 'more problem')} not shown.`}</p>`}
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

/** Renders the next step with the chosen file. A check or a comparison starts without a click. */
function confirmed({ employer_id, kind, use, run }: FileOf): Html {
  const done = html`<p class="done" role="status">Your files are now read this way. Nothing of this file is saved yet.</p>`;
  const [path, label, isAtOnce] = nextOf();
  return html`${done}${path !== null && html`<div class="actions">${sendFile(path, label, { isAtOnce })}</div>`}`;

  function nextOf(): readonly [path: string | null, label: string, isAtOnce: boolean] {
    if (use === 'audit' && run !== undefined) return [runPath(run, '/audit'), 'Compare', true];
    if (use === 'taken' && run !== undefined) return [runPath(run, '/taken'), 'Save', false];
    if (use !== undefined) return [cutOverPath(employer_id, use), 'Compare', true];
    if (kind === 'census') return [`${censusPath(employer_id)}/check`, 'Check the file', true];
    if (kind === 'deductions') return [filePath({ employer_id, kind }, '/check'), 'Check the file', true];
    return [null, '', false];
  }
}
