/** Files from payroll: reports of deductions taken, and the comparison of a run with payroll’s figures. */
import type { FastifyInstance } from 'fastify';
import { type ProblemDetails, problemOf } from '../../../api/problem.ts';
import type { Schemas } from '../../../client.ts';
import { AppError } from '../../../errors.ts';
import { isRejectedByApi } from '../../api-client.ts';
import { toned } from '../../elements/facts.ts';
import { count, counted, money, plain } from '../../elements/format.ts';
import { address, idLink, runLink, runPath } from '../../elements/links.ts';
import { type RowPlace, rowProblems, table } from '../../elements/table.ts';
import { type Upload, upload } from '../../forms.ts';
import { type Html, html } from '../../html.ts';
import { type ConsoleParts, page } from '../../page.ts';
import { outlineOf } from './run.ts';

type Report = Schemas['TakenReport'];
type Difference = Report['differences'][number];

const TAKEN_COLUMNS = [
  ['employee_id', 'Employee ID (required)'],
  ['amount', 'Amount taken from the employee; 0 for none (required)'],
  ['deduction_id', 'Deduction ID, where the employee has several lines'],
  ['line_of_coverage', 'Line of coverage, where the employee has several lines'],
  ['payroll_code', 'Payroll code, where the employee has several lines'],
  ['kind', 'regular, adjustment or arrears'],
  ['adjustment_for', 'The earlier run that the line corrects'],
] as const;

export function takenPages(app: FastifyInstance, parts: ConsoleParts): void {
  const scope = 'runs:write';

  page(app, parts, { url: '/runs/:run_id/taken', scope }, async (visit) => {
    const { id: run_id, state, taken_reports } = await outlineOf(visit);
    return {
      title: `Deductions taken in ${run_id}`,
      place: 'runs',
      body: html`
        <p>
          ${'List only the exceptions: a line that is not in the file counts as taken in full. Amounts not taken become arrears in the next runs. '}<a href=${runPath(run_id)}>Back to the run</a>
        </p>
        ${taken_reports.length > 0 && html`<p>This run has a report already. A new report replaces it.</p>`}
        ${
          state === 'finalized'
            ? fileForm({
                to: runPath(run_id, '/taken'),
                label: 'Deductions taken',
                button: 'Save',
                columns: TAKEN_COLUMNS,
              })
            : html`<p>${`This run is ${state}. Deductions taken can be reported only for a finalized run.`}</p>`
        }
        <div id="outcome" aria-live="polite"></div>
      `,
    };
  });

  upload(app, parts, { url: '/runs/:run_id/taken', scope, file: 'file' }, async (given) => {
    const run_id = given.params.run_id ?? '';
    const sent = await sendFile<Report>(given, `/v1/payroll-runs/${encodeURIComponent(run_id)}/taken`);
    return 'rejected' in sent ? sent.rejected : saved(sent.response, run_id);
  });
}

function saved({ id, lines, owed, difference_count, differences }: Report, runId: string): Html {
  return html`
    <section aria-labelledby="saved">
      <h2 id="saved">${`Report ${id} saved`}</h2>
      <p>${`It has ${counted(lines, 'line')}; all others were taken in full. Arrears: `}<strong>${money(owed)}</strong></p>
      ${
        differences.length > 0 &&
        html`
          ${table<Difference>({
            caption: 'Arrears',
            columns: [
              {
                title: 'Employee',
                kind: 'name',
                cell: ({ employee_id }) => idLink(address(runPath(runId), { employee_id }), employee_id),
              },
              { title: 'Line of coverage', cell: ({ line_of_coverage }) => plain(line_of_coverage) },
              {
                title: 'Line',
                cell: ({ kind, adjustment_for }) =>
                  adjustment_for === null
                    ? kind
                    : html`<span>${`${kind} for `}${runLink(adjustment_for)}</span>`,
              },
              { title: 'Finalized', kind: 'number', cell: ({ member_amount }) => money(member_amount) },
              { title: 'Taken', kind: 'number', cell: ({ taken }) => money(taken) },
              { title: 'Arrears', kind: 'number', cell: (row) => money(row.owed) },
            ],
            rows: differences,
          })}
          <p class="hint">
            ${difference_count > differences.length && `The first ${count(differences.length)} of ${count(difference_count)} are shown. `}
            ${'To deduct them, include arrears in the next run. A negative amount is refunded. '}
            <a href=${address('/runs/new', { like: runId })}>Create the next run</a>
          </p>
        `
      }
    </section>
  `;
}

type Audit = Schemas['PayrollRunAudit'];
type Category = Audit['only_here'];
type Row = Category['rows'][number];
type Name = Audit['compared_by'][number];

const CATEGORIES = [
  ['amount_differs', 'Different amount', 'Both have it, with different amounts.'],
  ['only_here', 'Only in the run', 'The run has it, but payroll’s file does not.'],
  ['only_in_payroll', 'Only in payroll', 'Payroll’s file has it, but the run does not.'],
  ['employee_unknown', 'Unknown employee', 'This employer has no such employee in the roster.'],
] as const;

const AUDIT_COLUMNS = [
  ['employee_id', 'Employee ID (required)'],
  ['member_amount', 'Employee amount in payroll (required)'],
  ['payroll_code', 'Payroll code, or'],
  ['line_of_coverage', 'line of coverage, or'],
  ['deduction_id', 'deduction ID: one of the three, the same in all rows'],
  ['employer_amount', 'Employer amount in payroll; compared if given'],
] as const;

const NAMES: Readonly<Record<string, string>> = {
  payroll_code: 'Payroll code',
  line_of_coverage: 'Line of coverage',
  deduction_id: 'Deduction ID',
};

export function auditPages(app: FastifyInstance, parts: ConsoleParts): void {
  const scope = 'runs:read';

  page(app, parts, { url: '/runs/:run_id/audit', scope }, async (visit) => {
    const { id: run_id, state } = await outlineOf(visit);
    return {
      title: `Compare ${run_id} with payroll`,
      place: 'runs',
      body: html`
        <p>
          ${`Compares ${state === 'open' ? 'the current run' : 'the run'} with the amounts that payroll is going to deduct. The file is not saved. `}<a href=${runPath(run_id)}>Back to the run</a>
        </p>
        ${fileForm({ to: runPath(run_id, '/audit'), label: 'File from payroll', button: 'Compare', submitsOnChoice: true, columns: AUDIT_COLUMNS })}
        <div id="outcome" aria-live="polite"></div>
      `,
    };
  });

  upload(app, parts, { url: '/runs/:run_id/audit', scope, file: 'file' }, async (given) => {
    const run_id = given.params.run_id ?? '';
    const sent = await sendFile<Audit>(given, `/v1/payroll-runs/${encodeURIComponent(run_id)}/audit`);
    return 'rejected' in sent ? sent.rejected : outcome(sent.response, given.filename, runPath(run_id));
  });
}

function outcome(audit: Audit, filename: string, path: string): Html {
  const { compared_by } = audit;
  const differing = CATEGORIES.reduce((sum, [category]) => sum + audit[category].count, 0);
  const result =
    differing === 0 ? toned('identical', 'good') : toned(counted(differing, 'difference'), 'bad');
  return html`
    <section aria-labelledby="result">
      <h2 id="result">${result}${` ${filename}`}</h2>
      <p class="hint">${`Compared by ${compared_by.map((name) => nameOf(name).toLowerCase()).join(', ')}. Lines that are shown only are left out.`}</p>
      ${sums(audit)}
      ${CATEGORIES.filter(([category]) => audit[category].count > 0).map(([category, title, meaning]) => differences(audit[category], { title, meaning, by: compared_by, path: category === 'employee_unknown' ? null : path }))}
    </section>
  `;
}

/** The categories add up to the run and to the file. */
function sums(audit: Audit): Html {
  const rows = [
    ...CATEGORIES.map(([category, title]) => ({ title, ...audit[category] })),
    { title: 'Identical', ...audit.matched },
  ];
  return table<(typeof rows)[number]>({
    caption: 'Summary',
    stacked: true,
    columns: [
      { title: 'Category', kind: 'name', cell: (row) => row.title },
      { title: 'Lines', kind: 'number', cell: (row) => count(row.count) },
      { title: 'Employee, run', kind: 'number', cell: (row) => money(row.member_amount) },
      { title: 'Employee, payroll', kind: 'number', cell: (row) => money(row.payroll_member_amount) },
      { title: 'Employer, run', kind: 'number', cell: (row) => money(row.employer_amount) },
      {
        title: 'Employer, payroll',
        kind: 'number',
        cell: (row) => money(audit.employer_compared ? row.payroll_employer_amount : null),
      },
    ],
    rows,
  });
}

function nameOf(name: Name): string {
  return NAMES[name] ?? name;
}

/** `path`: the run's page, to link the lines that explain its amount. */
function differences(
  { count: all, rows }: Category,
  { title, meaning, by, path }: { title: string; meaning: string; by: readonly Name[]; path: string | null },
): Html {
  return html`
    <section>
      <h3>${`${title}: ${count(all)}`}</h3>
      <p class="hint">${`${meaning}${rows.length < all ? ` The first ${count(rows.length)} are shown.` : ''}`}</p>
      ${table<Row>({
        caption: title,
        stacked: true,
        captionHidden: true,
        columns: [
          {
            title: 'Employee',
            kind: 'name',
            cell: ({ employee_id }) => idLink(path && address(path, { employee_id }), employee_id),
          },
          ...by.map((name) => ({
            title: nameOf(name),
            cell: (row: Row) => (name === 'line_of_coverage' ? plain(row[name] ?? '–') : (row[name] ?? '–')),
          })),
          { title: 'Employee, run', kind: 'number', cell: (row) => money(row.member_amount) },
          { title: 'Employee, payroll', kind: 'number', cell: (row) => money(row.payroll_member_amount) },
          { title: 'Employer, run', kind: 'number', cell: (row) => money(row.employer_amount) },
          { title: 'Employer, payroll', kind: 'number', cell: (row) => money(row.payroll_employer_amount) },
        ],
        rows,
      })}
    </section>
  `;
}

const TYPES: Readonly<Record<string, string>> = {
  csv: 'text/csv',
  json: 'application/json',
  ndjson: 'application/x-ndjson',
};
const ACCEPTED = '.csv,.json,.ndjson,text/csv,application/json,application/x-ndjson';

/** Renders the form. `submitsOnChoice`: it is sent as soon as a file is chosen. */
function fileForm({
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
async function sendFile<T>(
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
