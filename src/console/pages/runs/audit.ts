/** A run beside payroll's own file: what only one of them has, and where the amounts differ. */
import type { FastifyInstance } from 'fastify';
import type { Schemas } from '../../../client.ts';
import { count, counted } from '../../elements/facts.ts';
import { idLink } from '../../elements/links.ts';
import { address } from '../../elements/pager.ts';
import { plain } from '../../elements/plain.ts';
import { toned } from '../../elements/state.ts';
import { table } from '../../elements/table.ts';
import { type Html, html } from '../../html.ts';
import { page } from '../../page.ts';
import type { ConsoleParts } from '../../parts.ts';
import { upload } from '../../upload.ts';
import { fileForm, sendFile } from './file.ts';
import { refusedRows } from './refused-rows.ts';
import { outlineOf } from './run.ts';
import { runPath } from './run-path.ts';

type Audit = Schemas['Audit'];
type Heap = Audit['only_here'];
type Row = Heap['rows'][number];

const HEAPS = [
  ['amount_differs', 'The amount differs', 'Both have it, with other amounts.'],
  ['only_here', 'Only here', 'The run has it, and payroll’s file does not.'],
  ['only_in_payroll', 'Only in payroll', 'Payroll’s file has it, and the run does not.'],
  [
    'employee_unknown',
    'Employee unknown',
    'Payroll’s file has it for an employee of whom the roster knows nothing with this employer.',
  ],
] as const;

const COLUMNS = [
  ['employee_id', 'whose; required'],
  ['member_amount', 'what payroll has for the employee’s side; required'],
  ['payroll_code', 'what the amount is for, by payroll’s code,'],
  ['line_of_coverage', 'or by line of coverage,'],
  ['deduction_id', 'or by deduction: one of the three, the same in all rows'],
  ['employer_amount', 'what payroll has for the employer’s side; compared where it is given'],
] as const;

export function auditPages(app: FastifyInstance, parts: ConsoleParts): void {
  const scope = 'runs:read';

  page(app, parts, { url: '/runs/:run_id/audit', scope }, async (visit) => {
    const { run_id, state } = await outlineOf(visit);
    return {
      title: `Compare ${run_id} with payroll`,
      place: 'runs',
      body: html`
        <div>
          <p>
            ${`The run ${state === 'open' ? 'as it is computed now' : 'as it was frozen'} is compared with what payroll is going to deduct, to the cent. Nothing of the file is kept. `}<a href=${runPath(run_id)}>Back to the run</a>
          </p>
          ${fileForm({ to: runPath(run_id, '/audit'), label: 'Payroll’s file', button: 'Compare', sends: true, columns: COLUMNS })}
          <div id="outcome" aria-live="polite"></div>
        </div>
      `,
    };
  });

  upload(app, parts, { url: '/runs/:run_id/audit', scope, file: 'file' }, async (given) => {
    const path = `/v1/payroll-runs/${encodeURIComponent(given.params.run_id ?? '')}/audit`;
    const audit = await refusedRows(async () => (await sendFile(given, path)) as Audit);
    return 'refused' in audit
      ? audit.refused
      : outcome(audit.answer, given.filename, runPath(given.params.run_id ?? ''));
  });
}

function outcome(audit: Audit, filename: string, path: string): Html {
  const differing = HEAPS.reduce((sum, [heap]) => sum + audit[heap].count, 0);
  return html`
    <section aria-labelledby="heaps">
      <h2 id="heaps">
        ${differing === 0 ? toned('They are the same', 'good') : toned(counted(differing, 'difference'), 'bad')}${` ${filename}`}
      </h2>
      <p class="hint">${`Compared by ${audit.compared_by.join(', ')}. Lines that are only shown are left out.`}</p>
      ${sums(audit)}
      ${HEAPS.filter(([heap]) => audit[heap].count > 0).map(([heap, title, says]) => heapOf(audit[heap], { title, says, by: audit.compared_by, path: heap === 'employee_unknown' ? null : path }))}
    </section>
  `;
}

/** The five add up to the run and to the file: nothing is lost between them. */
function sums(audit: Audit): Html {
  const rows = [
    ...HEAPS.map(([heap, title]) => ({ title, ...audit[heap] })),
    { title: 'The same in both', ...audit.matched },
  ];
  return table({
    caption: 'Heaps',
    stacked: true,
    columns: [
      { title: 'Heap', kind: 'name', cell: (row: (typeof rows)[number]) => row.title },
      { title: 'Count', kind: 'number', cell: (row) => count(row.count) },
      { title: 'Employees, run', kind: 'number', cell: (row) => row.member_amount },
      { title: 'Employees, payroll', kind: 'number', cell: (row) => row.payroll_member_amount },
      { title: 'Employer, run', kind: 'number', cell: (row) => row.employer_amount },
      {
        title: 'Employer, payroll',
        kind: 'number',
        // A file without that side has no sum of it, which 0.00 would be.
        cell: (row) => (audit.employer_compared ? row.payroll_employer_amount : '–'),
      },
    ],
    rows,
  });
}

/** Coverage in words, as everywhere else; codes and ids as they are. */
function namingOf(row: Row, name: Audit['compared_by'][number]): string {
  const value = row[name] ?? '–';
  return name === 'line_of_coverage' ? plain(value) : value;
}

function heapOf(
  heap: Heap,
  given: { title: string; says: string; by: Audit['compared_by']; path: string | null },
): Html {
  const { title, says, by, path } = given;
  const { count: all, rows } = heap;
  // To the lines that explain the run's amount, where there may be any.
  const linesOf = (id: string) => idLink(path === null ? null : address(path, { employee_id: id }), id);
  return html`
    <section>
      <h3>${`${title}: ${count(all)}`}</h3>
      <p class="hint">${`${says}${rows.length < all ? ` The first ${count(rows.length)} are shown.` : ''}`}</p>
      ${table({
        caption: title,
        stacked: true,
        captionHidden: true,
        columns: [
          {
            title: 'Employee',
            kind: 'name',
            cell: ({ employee_id }: Row) => linesOf(employee_id),
          },
          ...by.map((name) => ({
            title: name.replaceAll('_', ' '),
            cell: (row: Row) => namingOf(row, name),
          })),
          {
            title: 'Employee pays, run',
            kind: 'number' as const,
            cell: (row: Row) => row.member_amount ?? '–',
          },
          { title: 'Payroll', kind: 'number' as const, cell: (row: Row) => row.payroll_member_amount ?? '–' },
          {
            title: 'Employer pays, run',
            kind: 'number' as const,
            cell: (row: Row) => row.employer_amount ?? '–',
          },
          {
            title: 'Payroll',
            kind: 'number' as const,
            cell: (row: Row) => row.payroll_employer_amount ?? '–',
          },
        ],
        rows,
      })}
    </section>
  `;
}
