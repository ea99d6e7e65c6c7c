/** What a run comes to. Every number is the API's; only the length of a bar is worked out here. */
import type { Schemas } from '../../../client.ts';
import { bar } from '../../elements/chart.ts';
import { count, counted } from '../../elements/facts.ts';
import { plain, taxabilityWord } from '../../elements/plain.ts';
import { table } from '../../elements/table.ts';
import { type Content, type Html, html } from '../../html.ts';
import { paychecks } from './line-list.ts';
import { runLink } from './run-path.ts';
import { NOT_IN_RUN, type Totals } from './words.ts';

export type Computed = Pick<
  Schemas['PayrollRun'],
  | 'employees'
  | 'totals'
  | 'calendar_assumed'
  | 'pay_dates_used'
  | 'pay_date'
  | 'comparison'
  | 'not_in_run'
  | 'not_in_run_count'
>;

export function figures(run: Computed): Html {
  const { employees, totals, calendar_assumed, pay_dates_used, pay_date } = run;
  const place = pay_dates_used?.indexOf(pay_date) ?? -1;
  return html`
    <div>
      <div class="cards figures">
        ${figure('Employees pay', totals.member_amount, counted(totals.lines, 'line'))}
        ${figure('Employer pays', totals.employer_amount, 'beside it')}
        ${figure('In the run', count(employees), `${counted(totals.employees, 'employee')} with something to deduct, ${count(Math.max(0, employees - totals.employees))} without`)}
        ${
          pay_dates_used !== null &&
          place >= 0 &&
          figure(
            'Check of the year',
            `${place + 1} of ${pay_dates_used.length}`,
            calendar_assumed
              ? 'stepped from the pay date: there is no pay schedule'
              : 'by the pay dates given',
          )
        }
      </div>
      ${
        totals.reported.lines > 0 &&
        html`<p>
          ${`${counted(totals.reported.lines, 'line')} of earlier runs ${totals.reported.lines === 1 ? 'is' : 'are'} only shown, and in none of these sums: employees ${totals.reported.member_amount}, employer ${totals.reported.employer_amount}.`}
        </p>`
      }
      ${totals.lines > 0 && byCoverage(totals)}
      ${totals.lines > 0 && byTaxability(totals)}
      ${run.comparison !== null && comparison(run.comparison)}
      ${run.not_in_run_count > 0 && notInRun(run)}
    </div>
  `;
}

type Comparison = NonNullable<Schemas['PayrollRun']['comparison']>;

/** The run against the previous one: totals, head counts, and the largest movers. */
function comparison({
  previous_run_id,
  employees,
  totals,
  by_line_of_coverage,
  largest_movers,
}: Comparison): Html {
  const { joined, left } = employees;
  return html`
    <section aria-labelledby="comparison">
      <h2 id="comparison">${'Change since '}${runLink(previous_run_id)}</h2>
      <p>${`${count(employees.previous)} employees before, ${count(employees.current)} now: ${count(joined)} joined, ${count(left)} left.`}</p>
      ${table({
        caption: 'Change by line of coverage',
        stacked: true,
        columns: [
          { title: 'Line of coverage', kind: 'name', cell: ({ name }: Compared) => name },
          { title: 'Employees before', kind: 'number', cell: (row) => row.previous_member_amount },
          { title: 'Employees now', kind: 'number', cell: (row) => row.member_amount },
          { title: 'Difference', kind: 'number', cell: (row) => row.member_difference },
          { title: 'Employer difference', kind: 'number', cell: (row) => row.employer_difference },
        ],
        rows: [
          ...by_line_of_coverage.map((row) => ({ ...row, name: plain(row.line_of_coverage) })),
          { ...totals, name: 'Total' },
        ],
      })}
      ${
        largest_movers.length > 0 &&
        table({
          caption: 'Largest movers',
          columns: [
            {
              title: 'Employee',
              kind: 'name',
              cell: ({ employee_id }: (typeof largest_movers)[number]) => employee_id,
            },
            { title: 'Before', kind: 'number', cell: (row) => row.previous_member_amount },
            { title: 'Now', kind: 'number', cell: (row) => row.member_amount },
            { title: 'Difference', kind: 'number', cell: (row) => row.member_difference },
          ],
          rows: largest_movers,
        })
      }
    </section>
  `;
}

type Compared = Comparison['totals'] & { readonly name: Content };

/** Employees shown on the page; the API has all of them. */
const NOT_IN_RUN_SHOWN = 100;

function notInRun({ not_in_run, not_in_run_count }: Computed): Html {
  const shown = not_in_run.slice(0, NOT_IN_RUN_SHOWN);
  return html`
    <details>
      <summary>${`${counted(not_in_run_count, 'employee')} with a deduction, not in this run`}</summary>
      ${table({
        caption: 'Not in this run',
        captionHidden: true,
        columns: [
          { title: 'Employee', kind: 'name', cell: ({ employee_id }: (typeof shown)[number]) => employee_id },
          { title: 'Reason', cell: ({ reason }) => NOT_IN_RUN[reason] },
        ],
        rows: shown,
      })}
      ${shown.length < not_in_run_count && html`<p class="hint">${`The first ${shown.length}.`}</p>`}
    </details>
  `;
}

/** What a preview says, with the lines where it names employees. */
export function previewOf(preview: Schemas['PayrollRunPreview']): Html {
  const { lines, totals } = preview;
  return html`
    <section class="preview" aria-labelledby="preview">
      <h2 id="preview" tabindex="-1" autofocus>Preview: nothing is kept</h2>
      ${figures(preview)}
      ${
        lines === null
          ? html`<p class="hint">To see lines in a preview, say whose: Only these employees.</p>`
          : html`<div>${lines.length < totals.lines + totals.reported.lines && html`<p class="hint">${`The first ${lines.length} lines.`}</p>`}${paychecks(lines)}</div>`
      }
    </section>
  `;
}

function figure(name: string, value: string, says: string): Html {
  return html`
    <div class="card">
      <div class="soft">${name}</div>
      <div class="figure">${value}</div>
      <div class="hint">${says}</div>
    </div>
  `;
}

type Row = { employees: number; lines: number; member_amount: string; employer_amount: string };
type Named = Row & { readonly name: Content };

function byCoverage({ by_line_of_coverage }: Totals): Html {
  return sums(
    'By line of coverage',
    by_line_of_coverage.map((row) => ({ ...row, name: plain(row.line_of_coverage) })),
  );
}

function byTaxability({ by_taxability }: Totals): Html {
  return sums(
    'By taxability',
    by_taxability.map((row) => ({ ...row, name: taxabilityWord(row.taxability) })),
  );
}

/** The bars of both sides have one measure, so that they can be compared. */
function sums(caption: string, rows: readonly Named[]): Html {
  const longest = Math.max(
    ...rows.flatMap((row) => [lengthOf(row.member_amount), lengthOf(row.employer_amount)]),
  );
  const barColumn = (of: string, amount: (row: Named) => string) => ({
    title: html`<span class="hidden-label">${`${of}, compared`}</span>`,
    kind: 'picture' as const,
    cell: (row: Named) => bar(Number(amount(row)), longest),
  });
  return table({
    caption,
    stacked: true,
    columns: [
      { title: 'Of', kind: 'name', cell: ({ name }: Named) => name },
      { title: 'Employees', kind: 'number', cell: ({ employees }) => count(employees) },
      { title: 'Lines', kind: 'number', cell: ({ lines }) => count(lines) },
      { title: 'Employees pay', kind: 'number', cell: ({ member_amount }) => member_amount },
      barColumn('Employees pay', ({ member_amount }) => member_amount),
      { title: 'Employer pays', kind: 'number', cell: ({ employer_amount }) => employer_amount },
      barColumn('Employer pays', ({ employer_amount }) => employer_amount),
    ],
    rows,
  });
}

function lengthOf(amount: string): number {
  return Math.abs(Number(amount));
}
