/** Parts of the pages that send a file: how it is read, and what its format changes. */
import type { ResultOf } from '../../api/operation.ts';
import type { validateCensus } from '../../api/operations/census-uploads.ts';
import { type ProblemDetails, Refusal } from '../../api/problem.ts';
import type { Problem } from '../../errors.ts';
import { WHOLE_FILE } from '../../formats/csv-header.ts';
import type { FileKindName } from '../../formats/file-format.ts';
import { ROW_TYPES } from '../../formats/rows.ts';
import type { Upload } from '../forms.ts';
import { type Content, type Html, html } from '../html.ts';
import type { Visit } from '../page.ts';
import type { UploadedFile } from '../performing.ts';
import { field } from './fields.ts';
import { count, counted, lacksScope } from './format.ts';
import { address } from './links.ts';
import { type Column, table } from './list.ts';

/** The longest time that the listener takes to read a body. */
const TIMEOUT = 'timeout:600s';

/** The ids of the form that keeps the chosen file, and of the element that shows its result. */
const FILE_FORM = 'file-form';
export const OUTCOME = 'outcome';

/** An employer's files of a kind. `use`: what the page that sends a file does with it; `run`: the run that the file is about. */
export type FileOf = {
  readonly employer_id: string;
  readonly kind: FileKindName;
  readonly use?: string | undefined;
  readonly run?: string | undefined;
};

/** The path of the page that sets how an employer's files of a kind are read, or a path below it. */
export function filePath({ employer_id, kind, ...query }: FileOf, below = ''): string {
  return address(`/files/${encodeURIComponent(employer_id)}/${kind}${below}`, query);
}

/** `before` and `after`: other fields. `trigger`: the events that send the file. `busy`: what happens while it arrives. */
type FileForm = {
  readonly label: string;
  readonly accept: string;
  readonly hint: string;
  readonly button: string;
  readonly busy: string;
  readonly before?: Content;
  readonly after?: Content;
  readonly look?: string;
  readonly trigger?: string;
};

/** Renders the form that keeps the chosen file and sends it to `path`. */
export function chosenFileForm(path: string, form: FileForm): Html {
  const { label, accept, hint, button, busy, before, after, look, trigger } = form;
  return html`
    <form id=${FILE_FORM} class=${look} hx-post=${path} hx-encoding="multipart/form-data" hx-target=${`#${OUTCOME}`} hx-trigger=${trigger} hx-config=${TIMEOUT}>
      ${SHEET}
      ${before}
      <div class="field">
        <label for="file">${label}</label>
        <input id="file" class="drop" name="file" type="file" accept=${accept} aria-describedby="file-hint" required />
        <p class="hint" id="file-hint">${hint}</p>
      </div>
      <div class="actions">
        <button type="submit" class="while-unchanged">${button}</button>
        <span class="busy soft" role="status">${busy}</span>
      </div>
      ${after}
    </form>
  `;
}

/** Renders a button that sends the chosen file to another path. `isAtOnce`: without a click, as soon as it is shown. */
export function sendFile(path: string, label: string, { isAtOnce = false, look = '' } = {}): Html {
  return html`
    <button
      type="button"
      class=${look || undefined}
      form=${FILE_FORM}
      hx-post=${path}
      hx-encoding="multipart/form-data"
      hx-target=${`#${OUTCOME}`}
      hx-trigger=${isAtOnce ? 'load, click' : undefined}
      hx-config=${TIMEOUT}
    >${label}</button>
  `;
}

/** Renders the problems of a rejected file, and offers to set how such files are read. Recognizes a file of another form instead. */
export function rejectedFile(
  problem: ProblemDetails,
  file: FileOf,
  uploaded: Pick<Upload, 'filename' | 'may'>,
): Html {
  const isOther = hasOtherForm(problem.errors ?? []);
  if (isOther && uploaded.may('runs:write')) return readOtherwise(file, uploaded, true);
  return html`${rejectedRows(problem)}${isTable(uploaded) && readOtherwise(file, uploaded, false)}`;
}

export function rejectedRows({ title, errors = [], error_count = errors.length }: ProblemDetails): Html {
  return html`
    <section aria-labelledby="rejected">
      <h2 id="rejected">${title}</h2>
      <p>${`Nothing was saved or compared: the file has ${counted(error_count, 'problem')}.`}</p>
      ${rowProblems(errors, error_count)}
    </section>
  `;
}

export function fileOf({ filename, file: content }: Upload): UploadedFile {
  const [, ending = ''] = /\.([a-z]+)$/i.exec(filename) ?? [];
  // The content shows whether it is a workbook.
  const types: Readonly<Record<string, string>> = { ...ROW_TYPES, xlsx: ROW_TYPES.csv };
  const type = types[ending.toLowerCase()];
  if (type === undefined)
    throw new Refusal('INVALID_REQUEST', 'Choose a .xlsx, .csv, .json or .ndjson file.');
  return { content, headers: { 'content-type': type } };
}

/** Reports whether a file format may read a file. JSON needs no file format. */
export function isTable({ filename }: Pick<Upload, 'filename'>): boolean {
  return !/json$/i.test(filename);
}

/** Reports whether a file was refused as a whole because of its form, which a file format may read. */
export function hasOtherForm(problems: readonly Pick<Problem, 'path'>[]): boolean {
  return problems.some(({ path }) => path === WHOLE_FILE);
}

/** Renders the button that recognizes the columns of the chosen file. `isAtOnce`: without a click, as soon as it is shown. */
export function readOtherwise(file: FileOf, { may }: Pick<Visit, 'may'>, isAtOnce: boolean): Html {
  if (!may('runs:write')) return html`<p>${lacksScope('To set how such files are read', 'runs:write')}</p>`;
  const label = isAtOnce ? 'Recognize its columns' : 'Change how it is read';
  return html`<div class="actions">${sendFile(filePath(file), label, { isAtOnce, look: 'quiet' })}</div>`;
}

/** For a workbook of several sheets. The field precedes the file, which is sent last. */
const SHEET = html`
  <details class="field">
    <summary>For a workbook with several sheets: name one</summary>
    ${field({ name: 'sheet', label: 'Sheet', value: '' })}
  </details>
`;

type Repairs = NonNullable<ResultOf<typeof validateCensus>['repairs']>;

/** Renders what the employer's file format changed in a file; null without a format. */
export function repairsOf({ repairs }: { readonly repairs: Repairs | null }): Html | null {
  if (repairs === null) return null;
  const { hidden_rows, left_out, changes } = repairs;
  const left = left_out.filter(({ rows }) => rows > 0);
  const content = html`
    ${hidden_rows > 0 && html`<p>${`${counted(hidden_rows, 'hidden row')} of the sheet read like visible rows`}</p>`}
    ${left.map(({ rows, reason }) => html`<p>${`${counted(rows, 'row')} left out: ${reason}`}</p>`)}
    ${changeTable(repairs)}
  `;
  const listed = changes.length + left.length;
  return folded('Changes by the file format', listed, listed, content);
}

export function changeTable({ changes }: Pick<Repairs, 'changes'>): Html {
  const hasExamples = changes.every(({ examples }) => examples !== null);
  return html`
    ${table(changes, { caption: 'Values that are read differently' }, [
      ['Column', ({ header }) => header, 'name'],
      ['Field', ({ field: name }) => html`<code>${name}</code>`],
      ['Rule', ({ rule }) => rule.replaceAll('-', ' ')],
      ['Values', ({ cells }) => count(cells), 'number'],
      ['Examples', ({ examples }) => (examples ?? []).map(exampleOf)],
    ])}
    ${!hasExamples && html`<p class="hint">${lacksScope('To see examples', 'pii:read')}</p>`}
  `;
}

type Example = NonNullable<Repairs['changes'][number]['examples']>[number];

function exampleOf({ line, before, after }: Example): Html {
  return html`<div>${`Line ${line}: ${before} → ${after || 'no value'}`}</div>`;
}

export function folded(title: string, all: number, shown: number, content: Html): Html | null {
  if (all === 0) return null;
  return html`
    <details open=${all <= 20}>
      <summary>${`${title}: ${count(all)}`}</summary>
      ${content}
      ${all > shown && html`<p class="hint">${`The first ${count(shown)} are shown.`}</p>`}
    </details>
  `;
}

/** The most problems of a file that a page lists. */
const LISTED = 200;

/** Lists the problems of a file. `all`: how many there are. */
export function rowProblems(problems: readonly Problem[], all = problems.length): Html {
  const shown = problems.slice(0, LISTED);
  const more = all > shown.length ? ` ${count(all - shown.length)} more are not shown.` : '';
  const columns: readonly Column<Problem>[] = [
    ['Row', ({ path }) => placeOf(path)[0], 'name'],
    ['Field', ({ path }) => html`<code>${placeOf(path)[1]}</code>`],
    ['Problem', ({ rule, hint }) => (hint === undefined ? rule : `${rule}; ${hint}`)],
  ];
  return html`
    ${shown.length > 0 && table(shown, { caption: 'Problems by row and field', captionHidden: true }, columns)}
    <p class="hint">${`Row 1 is the first row below the column names; in JSON, the first entry.${more}`}</p>
  `;
}

/** Lists the values of a file that are allowed, but may be mistakes. `all`: how many there are. */
export function warningsIn(warnings: readonly Problem[], all = warnings.length): Html | null {
  const content = html`<p>Look at these rows. They block nothing, but some are probably mistakes.</p>${rowProblems(warnings, all)}`;
  return folded('Warnings', all, all, content);
}

/** Returns the row and the field of `employees[17].address.state`: `18` and `address.state`. */
function placeOf(path: string): [row: string, field: string] {
  const [, index, field] = /^\w+\[(\d+)\]\.?(.*)$/s.exec(path) ?? [];
  if (index !== undefined) return [count(Number(index) + 1), field || 'whole row'];
  const [, ofOrganization] = /^organization\.?(.*)$/s.exec(path) ?? [];
  return ofOrganization === undefined ? ['file', path || 'all'] : ['organization', ofOrganization || 'all'];
}
