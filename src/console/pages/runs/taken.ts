/** What payroll really took of a finalized run, from its file: the difference is owed, and becomes arrears. */
import type { FastifyInstance } from 'fastify';
import type { Schemas } from '../../../client.ts';
import { count, counted } from '../../elements/facts.ts';
import { idLink } from '../../elements/links.ts';
import { address } from '../../elements/pager.ts';
import { table } from '../../elements/table.ts';
import { type Html, html } from '../../html.ts';
import { page } from '../../page.ts';
import type { ConsoleParts } from '../../parts.ts';
import { upload } from '../../upload.ts';
import { fileForm, sendFile } from './file.ts';
import { refusedRows } from './refused-rows.ts';
import { outlineOf } from './run.ts';
import { runLink, runPath } from './run-path.ts';

type Report = Schemas['TakenReport'];
type Difference = Report['differences'][number];

const COLUMNS = [
  ['employee_id', 'whose; required'],
  ['amount', 'what was taken of the employee’s side; 0 for nothing; required'],
  ['deduction_id', 'which line: as much of these as tells it from the employee’s others'],
  ['line_of_coverage', ''],
  ['payroll_code', ''],
  ['kind', 'regular, adjustment or arrears'],
  ['adjustment_for', 'the earlier run that the line settles'],
] as const;

export function takenPages(app: FastifyInstance, parts: ConsoleParts): void {
  const scope = 'runs:write';

  page(app, parts, { url: '/runs/:run_id/taken', scope }, async (visit) => {
    const { run_id, state, taken_reports } = await outlineOf(visit);
    return {
      title: `What was taken of ${run_id}`,
      place: 'runs',
      body: html`
        <div>
          <p>
            ${'A line that the file does not name was taken in full, so it may hold the exceptions only. What was taken too little is owed, and shows as arrears in the next runs. '}<a href=${runPath(run_id)}>Back to the run</a>
          </p>
          ${taken_reports.length > 0 && html`<p>${`There ${taken_reports.length === 1 ? 'is a report' : `are ${taken_reports.length} reports`} on this run already: another one takes the place of the last, as a whole.`}</p>`}
          ${
            state === 'finalized'
              ? fileForm({
                  to: runPath(run_id, '/taken'),
                  label: 'What payroll took',
                  button: 'Record it',
                  columns: COLUMNS,
                })
              : html`<p>${`The run is ${state}: what was taken is reported of a finalized one.`}</p>`
          }
          <div id="outcome" aria-live="polite"></div>
        </div>
      `,
    };
  });

  upload(app, parts, { url: '/runs/:run_id/taken', scope, file: 'file' }, async (given) => {
    const run_id = given.params.run_id ?? '';
    const path = `/v1/payroll-runs/${encodeURIComponent(run_id)}/taken`;
    const report = await refusedRows(async () => (await sendFile(given, path)) as Report);
    return 'refused' in report ? report.refused : recorded(report.answer, run_id);
  });
}

function recorded({ report, lines, owed, difference_count, differences }: Report, runId: string): Html {
  return html`
    <section aria-labelledby="recorded">
      <h2 id="recorded">${`Report ${report} stands`}</h2>
      <p>${`It names ${counted(lines, 'line')}; the others were taken in full. Owed in all: `}<strong>${owed}</strong></p>
      ${
        differences.length > 0 &&
        html`
          <div>
            ${table({
              caption: 'What becomes arrears',
              columns: [
                {
                  title: 'Employee',
                  kind: 'name',
                  cell: ({ employee_id }: Difference) =>
                    idLink(address(runPath(runId), { employee_id }), employee_id),
                },
                { title: 'Line of coverage', cell: ({ line_of_coverage }) => line_of_coverage },
                {
                  title: 'Line',
                  cell: ({ kind, adjustment_for }) =>
                    adjustment_for === null
                      ? kind
                      : html`<span>${`${kind} of `}${runLink(adjustment_for)}</span>`,
                },
                { title: 'Finalized', kind: 'number', cell: ({ member_amount }) => member_amount },
                { title: 'Taken', kind: 'number', cell: ({ taken }) => taken },
                { title: 'Owed', kind: 'number', cell: (row) => row.owed },
              ],
              rows: differences,
            })}
            <p class="hint">
              ${difference_count > differences.length && `The first ${count(differences.length)} of ${count(difference_count)}. `}
              ${'The next run shows them as arrears, and takes them where it is put with arrears: include. Below zero, too much was taken, and is given back. '}
              <a href=${address('/runs/new', { like: runId })}>Put the next run</a>
            </p>
          </div>
        `
      }
    </section>
  `;
}
