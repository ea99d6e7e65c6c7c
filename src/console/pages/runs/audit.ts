/** Compares a run with payroll's own file, to the cent. */
import type { FastifyInstance } from 'fastify';
import type { Schemas } from '../../../client.ts';
import { toned } from '../../elements/facts.ts';
import { count, counted, money, plain } from '../../elements/format.ts';
import { address, idLink, runPath } from '../../elements/links.ts';
import { table } from '../../elements/table.ts';
import { upload } from '../../forms.ts';
import { type Html, html } from '../../html.ts';
import { type ConsoleParts, page } from '../../page.ts';
import { fileForm, sendFile } from './payroll-file.ts';
import { outlineOf } from './run.ts';

type Audit = Schemas['Audit'];
type Category = Audit['only_here'];
type Row = Category['rows'][number];
type Name = Audit['compared_by'][number];

const CATEGORIES = [
  ['amount_differs', 'Different amount', 'Both have it, with different amounts.'],
  ['only_here', 'Only in the run', 'The run has it, but payroll’s file does not.'],
  ['only_in_payroll', 'Only in payroll', 'Payroll’s file has it, but the run does not.'],
  ['employee_unknown', 'Unknown employee', 'This employer has no such employee in the roster.'],
] as const;

const COLUMNS = [
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
        <div>
          <p>
            ${`Compares ${state === 'open' ? 'the current run' : 'the run'} with the amounts that payroll is going to deduct. The file is not saved. `}<a href=${runPath(run_id)}>Back to the run</a>
          </p>
          ${fileForm({ to: runPath(run_id, '/audit'), label: 'File from payroll', button: 'Compare', submitsOnChoice: true, columns: COLUMNS })}
          <div id="outcome" aria-live="polite"></div>
        </div>
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
