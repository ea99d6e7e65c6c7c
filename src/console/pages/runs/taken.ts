/** Deductions taken: payroll reports what it took of a finalized run; the difference becomes arrears. */
import type { FastifyInstance } from 'fastify';
import type { Schemas } from '../../../client.ts';
import { count, counted, money, plain } from '../../elements/format.ts';
import { address, idLink, runLink, runPath } from '../../elements/links.ts';
import { table } from '../../elements/table.ts';
import { upload } from '../../forms.ts';
import { type Html, html } from '../../html.ts';
import { type ConsoleParts, page } from '../../page.ts';
import { fileForm, sendFile } from './payroll-file.ts';
import { outlineOf } from './run.ts';

type Report = Schemas['TakenReport'];
type Difference = Report['differences'][number];

const COLUMNS = [
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
        <div>
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
                  columns: COLUMNS,
                })
              : html`<p>${`This run is ${state}. Deductions taken can be reported only for a finalized run.`}</p>`
          }
          <div id="outcome" aria-live="polite"></div>
        </div>
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
          <div>
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
          </div>
        `
      }
    </section>
  `;
}
