/** The first file of an employer: its columns are recognized, a person confirms how it is read, and it is checked and staged. */
import type { ResultOf } from '../../api/operation.ts';
import { CENSUS_FIELDS, getFileFormat, proposeFileFormat } from '../../api/operations/file-formats.ts';
import { Refusal } from '../../api/problem.ts';
import { field, hiddenFields, optionsOf } from '../elements/fields.ts';
import { count, counted, lacksScope } from '../elements/format.ts';
import { firstFilePath } from '../elements/links.ts';
import { rowProblems, table } from '../elements/list.ts';
import { upload } from '../forms.ts';
import { type Content, type Html, html } from '../html.ts';
import type { Console, Visit } from '../page.ts';
import { dataOrNull } from '../performing.ts';
import { TIMEOUT } from './census-upload.ts';
import { CONSTANTS, confirmFirstFile, ORGANIZATION } from './first-file-format.ts';

type Proposal = ResultOf<typeof proposeFileFormat>;
type Format = NonNullable<Proposal['format']>;

const LISTED = 200;
const KIND = { kind: 'census' } as const;

export function firstFilePages(pages: Console): void {
  pages.page('/census/:employer_id/first-file', 'runs:write', async ({ params, may }) => {
    const { employer_id = '' } = params;
    const body = may('census:write')
      ? fileForm(employer_id)
      : html`<p>${lacksScope('To stage a census', 'census:write')}</p>`;
    return { title: `First file of ${employer_id}`, body };
  });

  upload(pages, '/census/:employer_id/first-file', 'runs:write', 'census', async (uploaded) => {
    const { api, file, filename, params, fields } = uploaded;
    if (/\.json$/i.test(filename))
      throw new Refusal('INVALID_REQUEST', 'Choose a .csv or .xlsx file. A JSON file needs no file format.');
    const { employer_id } = params;
    const proposal = await api.upload(
      proposeFileFormat,
      { content: file, headers: { 'content-type': 'text/csv' } },
      { params: { employer_id, ...KIND }, query: { sheet: fields.sheet || undefined } },
    );
    const { has_organization } = (await storedFormat(uploaded)) ?? { has_organization: false };
    return proposed(proposal, has_organization, uploaded);
  });

  pages.action('/census/:employer_id/first-file/confirm', 'runs:write', confirmFirstFile);
}

/** Returns the employer's format; null for an employer that nothing is known of. */
async function storedFormat({ api, params }: Visit) {
  return dataOrNull(api.perform(getFileFormat, { params: { employer_id: params.employer_id, ...KIND } }));
}

/** The file stays in the form until it is staged. */
function fileForm(employerId: string): Html {
  return html`
    <section class="card" aria-labelledby="file">
      <h2 id="file">1. Choose the file</h2>
      <p>Choose the export of your HR or payroll system as it is. Its columns are recognized, and nothing is saved until you confirm them.</p>
      <form id="upload-form" hx-post=${firstFilePath(employerId)} hx-encoding="multipart/form-data" hx-target="#proposal" hx-config=${TIMEOUT}>
        ${field({ name: 'sheet', label: 'Sheet (only if the workbook has several)', value: '' })}
        <div class="field">
          <label for="census">Census (Excel or CSV file)</label>
          <input id="census" class="drop" name="census" type="file" accept=".csv,.xlsx,text/csv" required />
          <p class="hint">Choose a file or drop it here. At most 64 MiB.</p>
        </div>
        <div class="actions">
          <button type="submit">Recognize columns</button>
          <span class="busy soft" role="status">Reading every row …</span>
        </div>
      </form>
    </section>
    <div id="proposal"></div>
    <div id="confirmed"></div>
    <div id="outcome"></div>
  `;
}

/** Shows how the file would be read, for a person to correct and confirm. */
function proposed(proposal: Proposal, hasOrganization: boolean, visit: Visit): Html {
  const { format, problem_count, problems, repairs } = proposal;
  const listed = problems.slice(0, LISTED);
  const open = html`
    <h3>${counted(problem_count, 'problem')}</h3>
    <p>${format === null ? 'Correct the file, choose it again, and recognize its columns again.' : 'Choose the right field of a column below, or correct the file and choose it again.'}</p>
    ${rowProblems(listed)}
    ${problem_count > listed.length && html`<p class="hint">${`${counted(problem_count - listed.length, 'more problem')} not shown.`}</p>`}
  `;
  return html`
    <section class="card" aria-labelledby="proposal-title">
      <h2 id="proposal-title" tabindex="-1" autofocus>2. Check how it is read</h2>
      <p>${sourceOf(proposal)}</p>
      ${problem_count > 0 && open}
      ${changesOf(repairs)}
      ${format !== null && formatForm(format, hasOrganization, visit)}
    </section>
  `;
}

function sourceOf({ repairs }: Proposal): string {
  const { rows, sheet, hidden_rows, header_line } = repairs;
  if (header_line === null) return 'No row with the names of columns was found.';
  const from = sheet === null ? '' : ` of the sheet ${sheet}`;
  const hidden = hidden_rows > 0 ? `, ${counted(hidden_rows, 'hidden row')} among them` : '';
  return `${counted(rows, 'employee')} below the column names in line ${header_line}${from}${hidden}.`;
}

/** What changes before it counts: by column and rule, with examples for users who may see values. */
function changesOf({ changes }: Proposal['repairs']): Content {
  if (changes.length === 0) return html`<p>Every value is read as it is.</p>`;
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

type Example = NonNullable<Proposal['repairs']['changes'][number]['examples']>[number];

function exampleOf({ line, before, after }: Example): Html {
  return html`<div>${`Line ${line}: ${before} → ${after || 'no value'}`}</div>`;
}

function formatForm(format: Format, hasOrganization: boolean, visit: Visit): Html {
  const { columns, constants = {}, id_prefix, leave_out = [], sheet } = format;
  const choices = [
    { value: '', label: 'Not read' },
    ...CENSUS_FIELDS.map((name) => ({ value: name, label: name })),
  ];
  const rowOf = ({ header, field: name, rules = [] }: Format['columns'][number], at: number) => html`
    <tr>
      <th scope="row"><label for=${`field-${at}`}>${header}</label></th>
      <td>
        ${hiddenFields({ [`header-${at}`]: header, [`was-${at}`]: name ?? '', [`rules-${at}`]: rules.join(',') })}
        <select id=${`field-${at}`} name=${`field-${at}`}>${optionsOf(choices, name ?? '')}</select>
      </td>
      <td>${rules.map((rule) => rule.replaceAll('-', ' ')).join(', ')}</td>
    </tr>
  `;
  return html`
    <form id="format-form" class="long" novalidate hx-post=${`${firstFilePath(visit.params.employer_id ?? '')}/confirm`} hx-target="#confirmed">
      ${hiddenFields({ sheet: sheet ?? undefined })}
      <div class="scroll" role="region" aria-label="Columns" tabindex="0">
        <table>
          <caption>Columns of the file</caption>
          <thead><tr><th scope="col">Column</th><th scope="col">Is read as</th><th scope="col">Confirmed changes</th></tr></thead>
          <tbody>${columns.map(rowOf)}</tbody>
        </table>
      </div>
      <h3>Rows to leave out</h3>
      ${[...leave_out, { header: '', values: [], reason: '' }].map(leftOutFields)}
      <h3>What the file lacks</h3>
      <div class="columns">
        ${CONSTANTS.map(({ name, ...spec }) => field({ ...spec, name: `constant-${name}`, value: (constants as Readonly<Record<string, string>>)[name] ?? '' }))}
        ${field({ name: 'id_prefix', label: 'Prefix of employee IDs', value: id_prefix ?? '', hint: 'Only if the benefits service has other IDs: acme- reads 1001 as acme-1001. It cannot change after the first census.' })}
      </div>
      <details open=${!hasOrganization}>
        <summary>${hasOrganization ? 'Replace the stored employer' : 'Employer'}</summary>
        <div class="columns">${ORGANIZATION.map((spec) => field({ ...spec, value: '' }))}</div>
      </details>
      <div class="actions">
        <button type="submit">Confirm how files are read</button>
        <span class="hint">Later files are read the same way, also without a person.</span>
      </div>
    </form>
  `;
}

function leftOutFields(
  { header, values, reason }: NonNullable<Format['leave_out']>[number],
  at: number,
): Html {
  return html`
    <div class="columns">
      ${field({ name: `leave-header-${at}`, label: 'Column', value: header })}
      ${field({ name: `leave-values-${at}`, label: 'Values, one in each line', rows: 2, value: values.join('\n'), hint: 'Total* stands for all values that begin with Total.' })}
      ${field({ name: `leave-reason-${at}`, label: 'Reason', value: reason })}
    </div>
  `;
}
