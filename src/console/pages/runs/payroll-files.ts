/** Files from payroll: reports of deductions taken, and the comparison of a run with payroll’s figures. */
import { Readable } from 'node:stream';
import type { ResultOf } from '../../../api/operation.ts';
import { auditPayrollRun, listTakenLines, recordTaken } from '../../../api/operations/payroll-run-lines.ts';
import { type ProblemDetails, Refusal } from '../../../api/problem.ts';
import { describeRows, type WithRows } from '../../../api/schemas.ts';
import { ROW_TYPES } from '../../../formats/rows.ts';
import { live, state } from '../../elements/facts.ts';
import {
  chosenFileForm,
  type FileOf,
  fileOf,
  OUTCOME,
  rejectedFile,
  rejectedRows,
  repairsOf,
  sendFile,
} from '../../elements/file.ts';
import { count, counted, instant, lacksScope, money, plain, term } from '../../elements/format.ts';
import { address, idLink, named, runEmployeeLink, runLink, runPath } from '../../elements/links.ts';
import { type Column, PAGE_ROWS, pager, table, withNote } from '../../elements/list.ts';
import { type Upload, upload } from '../../forms.ts';
import { type Html, html } from '../../html.ts';
import type { Console, Visit } from '../../page.ts';
import { attempt, type UploadedFile } from '../../performing.ts';
import { itemsPath } from '../items/labels.ts';
import type { Run } from './labels.ts';
import { leftOpen, paycheckForm, reportedAmounts } from './short-paycheck.ts';
import { outlineOf, pageOfRun } from './state.ts';

type Audit = ResultOf<typeof auditPayrollRun>;

const CATEGORIES = [
  ['amount_differs', 'Different amount', 'Both have the line, with different amounts.'],
  ['only_here', 'Only in the run', 'The run has the line, but payroll’s file does not.'],
  ['only_in_payroll', 'Only in payroll', 'Payroll’s file has the line, but the run does not.'],
  ['employee_unknown', 'Unknown employee', 'This employer has no such employee in the roster.'],
] as const;
const COMPARED_BY: Readonly<Record<string, string>> = {
  payroll_code: 'Payroll code',
  line_of_coverage: 'Line of coverage',
  deduction_id: 'Deduction ID',
};

export function payrollFilePages(pages: Console): void {
  const taken = '/runs/:run_id/taken';
  pageOfRun(pages, '/taken', 'runs:read', async (visit, run) => ({
    title: 'Deductions taken:',
    body: html`
      <p>Report only what payroll did not take in full, for one employee or with a file. It becomes an open item: the payroll policy decides whether later runs take it.</p>
      <div id=${OUTCOME} aria-live="polite"></div>
      ${await takenForms(run, visit)}
      ${live({ id: 'reports', path: address(runPath(run.id, '/taken'), visit.query) }, await reportsOf(run, visit))}
    `,
  }));
  const send = (isPreview: boolean) => (uploaded: Upload) => {
    const rejected = async (problem: ProblemDetails) =>
      rejectedFile(problem, await ofRun(uploaded, 'taken'), uploaded);
    return reported(uploaded, fileOf(uploaded), rejected, isPreview);
  };
  upload(pages, `${taken}/check`, 'runs:write', send(true));
  upload(pages, taken, 'runs:write', send(false));

  pages.action(`${taken}/paycheck`, 'runs:write', async (act) => {
    const report = await reportedAmounts(act);
    if (report.lines.length === 0) throw new Refusal('INVALID_REQUEST', 'Enter at least one amount.');
    const content = Readable.from([JSON.stringify(report)], { objectMode: false });
    return reported(act, { content, headers: { 'content-type': ROW_TYPES.json } }, rejectedRows);
  });

  pages.action(`${taken}/preview`, 'runs:write', leftOpen);

  pageOfRun(pages, '/audit', 'runs:read', async (_, { id, state }) => ({
    title: 'Compare with payroll:',
    body: html`
      <p>${`Compares ${state === 'open' ? 'the current run' : 'the run'} with the amounts that payroll is going to deduct. The file is not saved.`}</p>
      ${fileForm(runPath(id, '/audit'), 'File from payroll', 'Compare', auditPayrollRun)}
      <div id=${OUTCOME} aria-live="polite"></div>
    `,
  }));
  upload(pages, '/runs/:run_id/audit', 'runs:read', async (uploaded) => {
    const { api, params, filename } = uploaded;
    const call = api.upload(auditPayrollRun, fileOf(uploaded));
    const { data, problem } = await attempt(call, 422);
    if (problem === undefined) return outcome(data, filename, params.run_id ?? '');
    return rejectedFile(problem, await ofRun(uploaded, 'audit'), uploaded);
  });
}

async function takenForms(run: Run, visit: Visit): Promise<Html> {
  if (run.state !== 'finalized')
    return html`<p>${`This run is ${run.state}. Deductions taken can be reported only for a finalized run.`}</p>`;
  if (!visit.may('runs:write')) return html`<p>${lacksScope('To report deductions taken', 'runs:write')}</p>`;
  return html`
    ${await paycheckForm(run, visit)}
    <section aria-labelledby="with-file">
      <h2 id="with-file">With a file</h2>
      ${fileForm(runPath(run.id, '/taken/check'), 'File with deductions taken', 'Check', recordTaken)}
    </section>
  `;
}

async function reportsOf(run: Run, { api, query }: Visit): Promise<Html | null> {
  const { id, taken_reports } = run;
  if (taken_reports.length === 0) return null;
  const list = { limit: PAGE_ROWS, cursor: query.cursor };
  const { data, next_cursor } = await api.perform(listTakenLines, { query: list });
  const recorded = new Map(taken_reports.map((report) => [report.id, report.recorded_at]));
  return html`
    <section aria-labelledby="reports-title">
      <h2 id="reports-title">Reported so far</h2>
      <p>A later report replaces only the lines that it names. To undo a line, report it with its full amount.</p>
      ${table(data, { caption: 'Reported lines', captionHidden: true }, [
        ['Employee', ({ employee_id }) => runEmployeeLink(id, employee_id), 'name'],
        ...LINE_COLUMNS,
        [
          'Report',
          ({ report_id, replaced_by }) => [
            withNote(instant(recorded.get(report_id)), `report ${report_id}`),
            replaced_by !== null && state(`replaced by report ${replaced_by}`),
          ],
        ],
      ])}
      ${pager(runPath(id, '/taken'), query, next_cursor)}
    </section>
  `;
}

type ReportedLine = ResultOf<typeof recordTaken>['differences'][number];
const LINE_COLUMNS: readonly Column<ReportedLine>[] = [
  ['Line of coverage', ({ line_of_coverage }) => term(line_of_coverage)],
  [
    'Line',
    ({ kind, adjustment_for: run }) =>
      run === null ? term(kind) : html`<span>${term(kind)} for ${runLink(run)}</span>`,
  ],
  ['Finalized', ({ member_amount }) => money(member_amount), 'number'],
  ['Taken', ({ taken }) => money(taken), 'number'],
  ['Arrears', ({ owed }) => money(owed), 'number'],
];

/** Saves a report, or only shows what it would leave open. */
async function reported(
  visit: Visit,
  file: UploadedFile,
  rejected: (problem: ProblemDetails) => Html | Promise<Html>,
  isPreview = false,
): Promise<Html> {
  const call = visit.api.upload(recordTaken, file, { query: { preview: isPreview } });
  const { data, problem } = await attempt(call, 422);
  return problem === undefined ? reportShown(data, await outlineOf(visit), isPreview) : rejected(problem);
}

/** Describes payroll's files about a run. Confirming how they are read leads back to the run. */
async function ofRun(visit: Visit, use: 'audit' | 'taken'): Promise<FileOf> {
  const { id: run, employer_id } = await outlineOf(visit);
  return { employer_id, kind: 'payroll', use, run };
}

function reportShown(
  report: ResultOf<typeof recordTaken>,
  { id: run, employer_id }: Run,
  isPreview: boolean,
): Html {
  const { id, lines, owed, difference_count, differences, unnamed_codes } = report;
  const shown = differences.length;
  const decide = html`<a href=${itemsPath({ employer_id, kind: 'arrears', run })}>Decide about open items</a>`;
  const arrears = html`
    ${table(differences, { caption: 'Arrears' }, [
      ['Employee', ({ employee_id }) => runEmployeeLink(run, employee_id), 'name'],
      ...LINE_COLUMNS,
    ])}
    <p class="hint">
      ${difference_count > shown && `The first ${count(shown)} of ${count(difference_count)} are shown. `}
      ${isPreview ? 'They become open items' : 'They are open items now: decide whether a later paycheck takes them'}${'. A negative amount is refunded. '}
      ${!isPreview && decide}
    </p>
  `;
  return html`
    <section aria-labelledby="reported">
      <h2 id="reported" tabindex="-1" autofocus>${isPreview ? 'Nothing is saved yet' : `Report ${id} saved`}</h2>
      ${repairsOf(report)}
      <p>${`${counted(lines, 'line')} ${isPreview ? 'in the file' : 'reported'}. Stays open: `}<strong>${money(owed)}</strong></p>
      ${unnamed_codes.map(({ payroll_code, lines: of, member_amount }) => html`<p class="problem">${`The file has no amount of the code ${payroll_code}: ${counted(of, 'line')} of `}${money(member_amount)}${of === 1 ? ' counts' : ' count'}${' as taken in full. If payroll did not take them, report them with 0.00.'}</p>`)}
      ${shown > 0 && arrears}
      ${isPreview && html`<div class="actions">${sendFile(runPath(run, '/taken'), 'Save these amounts')}</div>`}
    </section>
  `;
}

function outcome(audit: Audit, filename: string, runId: string): Html {
  const differing = CATEGORIES.reduce((sum, [category]) => sum + audit[category].count, 0);
  const result = differing === 0 ? state('identical') : state(counted(differing, 'difference'), 'bad');
  const names = audit.compared_by.map((name) => COMPARED_BY[name]?.toLowerCase()).join(', ');
  return html`
    <section aria-labelledby="result">
      <h2 id="result">${result}${` ${filename}`}</h2>
      ${repairsOf(audit)}
      <p class="hint">${`Compared by ${names}. Lines marked “shown only” are not compared.`}</p>
      ${sums(audit)}
      ${CATEGORIES.map((category) => differences(audit, category, runId))}
    </section>
  `;
}

const AMOUNT_COLUMNS: readonly Column<Omit<Audit['only_here']['rows'][number], 'employee_id'>>[] = [
  ['Employee, run', (row) => money(row.member_amount), 'number'],
  ['Employee, payroll', (row) => money(row.payroll_member_amount), 'number'],
  ['Employer, run', (row) => money(row.employer_amount), 'number'],
  ['Employer, payroll', (row) => money(row.payroll_employer_amount), 'number'],
];

/** The categories add up to the run and to the file. */
function sums({ matched, ...audit }: Audit): Html {
  const categories = CATEGORIES.map(([category, title]) => ({ title, ...audit[category] }));
  const rows = [...categories, { title: 'Identical', ...matched }];
  return table(rows, { caption: 'Summary' }, [
    ['Category', ({ title }) => title, 'name'],
    ['Lines', (row) => count(row.count), 'number'],
    ...AMOUNT_COLUMNS,
  ]);
}

/** Lists the rows of a category, with links to the lines of the run that explain their amounts. */
function differences(audit: Audit, category: (typeof CATEGORIES)[number], runId: string): Html | null {
  const [name, title, meaning] = category;
  const { count: all, rows } = audit[name];
  if (all === 0) return null;
  const employeeOf = ({ employee_id }: (typeof rows)[number]) =>
    name === 'employee_unknown' ? idLink(null, employee_id) : runEmployeeLink(runId, employee_id);
  const near: Column<(typeof rows)[number]>[] = rows.some((row) => row.near_employee_id !== undefined)
    ? [['In the roster', ({ near_employee_id: id }) => (id == null ? '–' : named('employee', id))]]
    : [];
  const comparedBy = audit.compared_by.map((field): Column<(typeof rows)[number]> => {
    const shown = field === 'line_of_coverage' ? plain : String;
    return [COMPARED_BY[field], (row) => shown(row[field] ?? '–')];
  });
  return html`
    <section>
      <h3>${`${title}: ${count(all)}`}</h3>
      <p class="hint">${`${meaning}${rows.length < all ? ` The first ${count(rows.length)} are shown.` : ''}`}</p>
      ${table(rows, { caption: title, captionHidden: true }, [['Employee', employeeOf, 'name'], ...near, ...comparedBy, ...AMOUNT_COLUMNS])}
    </section>
  `;
}

/** Renders the form for a file of `op`, which is sent as soon as it is chosen. */
function fileForm(to: string, label: string, button: string, op: WithRows): Html {
  const { description, columns } = describeRows(op);
  const accepted = Object.entries(ROW_TYPES).map(([ending, type]) => `.${ending},${type}`);
  const after = html`
    <details>
      <summary>File format</summary>
      <p>${description}</p>
      ${table(columns, { caption: 'Columns of the file', captionHidden: true }, [
        ['Column', ([name]) => html`<code>${name}</code>`, 'name'],
        ['Description', ([, description]) => description],
      ])}
      <p class="hint">${'A CSV file has a header with these names, in any order. A JSON file is '}<code>${'{"lines": [{…}]}'}</code>${' with the same names. Amounts are strings such as 12.34.'}</p>
    </details>
  `;
  return chosenFileForm(to, {
    ...{ label, accept: `.xlsx,${accepted.join(',')}`, button, busy: 'Reading the file …', after },
    hint: 'Choose a file or drop it here. Excel, CSV, JSON or NDJSON, at most 64 MiB. A file with payroll’s own columns is read through the employer’s file format.',
    ...{ look: 'card', trigger: 'change, submit' },
  });
}
