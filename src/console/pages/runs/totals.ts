/** The totals of a run or a preview. The API computes all amounts. */
import type { Schemas } from '../../../client.ts';
import { bar } from '../../elements/chart.ts';
import { count, counted, money, plain } from '../../elements/format.ts';
import { runLink } from '../../elements/links.ts';
import { table } from '../../elements/table.ts';
import { type Content, type Html, html } from '../../html.ts';
import { NOT_IN_RUN } from './labels.ts';
import { paychecks } from './lines.ts';

type Computed = Pick<
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
type Comparison = NonNullable<Computed['comparison']>;
type Compared = Comparison['totals'] & { readonly name: string };
type Named = {
  readonly name: Content;
  readonly employees: number;
  readonly lines: number;
  readonly member_amount: string;
  readonly employer_amount: string;
};

/** Employees shown here; the API has all. */
const NOT_IN_RUN_SHOWN = 100;

export function figures(run: Computed): Html {
  const { employees, totals, calendar_assumed, pay_dates_used, pay_date } = run;
  const { lines, reported } = totals;
  const place = pay_dates_used?.indexOf(pay_date) ?? -1;
  return html`
    <div class="cards figures">
      ${figure('Employee amount', money(totals.member_amount), counted(lines, 'line'))}
      ${figure('Employer contribution', money(totals.employer_amount))}
      ${figure('Employees', count(employees), `${count(totals.employees)} with deductions, ${count(Math.max(0, employees - totals.employees))} without`)}
      ${
        pay_dates_used !== null &&
        place >= 0 &&
        figure(
          'Pay date',
          `${place + 1} of ${pay_dates_used.length}`,
          calendar_assumed ? 'assumed: the employer has no pay schedule' : 'of the year’s pay dates',
        )
      }
    </div>
    ${
      reported.lines > 0 &&
      html`<p>${`${counted(reported.lines, 'line')} for earlier runs ${reported.lines === 1 ? 'is' : 'are'} shown only and not in these totals: employee amount ${money(reported.member_amount)}, employer amount ${money(reported.employer_amount)}.`}</p>`
    }
    ${
      lines > 0 &&
      sums(
        'By line of coverage',
        'Line of coverage',
        totals.by_line_of_coverage.map((row) => ({ ...row, name: plain(row.line_of_coverage) })),
      )
    }
    ${
      lines > 0 &&
      sums(
        'By taxability',
        'Taxability',
        totals.by_taxability.map((row) => ({ ...row, name: plain(row.taxability) })),
      )
    }
    ${run.comparison !== null && comparison(run.comparison)}
    ${run.not_in_run_count > 0 && notInRun(run)}
  `;
}

/** A preview has lines only when it names employees. */
export function previewOf(preview: Schemas['PayrollRunPreview']): Html {
  const { lines, totals } = preview;
  const all = totals.lines + totals.reported.lines;
  return html`
    <section class="preview" aria-labelledby="preview">
      <h2 id="preview" tabindex="-1" autofocus>Preview (not saved)</h2>
      ${figures(preview)}
      ${
        lines === null
          ? html`<p class="hint">To see lines in a preview, enter employee IDs in “Only these employees”.</p>`
          : html`<div>${lines.length < all && html`<p class="hint">${`The first ${lines.length} lines are shown.`}</p>`}${paychecks(lines)}</div>`
      }
    </section>
  `;
}

function figure(name: string, value: string, note = ''): Html {
  return html`
    <div class="card">
      <div class="soft">${name}</div>
      <div class="figure">${value}</div>
      <div class="hint">${note}</div>
    </div>
  `;
}

/** All bars have the same scale. */
function sums(caption: string, title: string, rows: readonly Named[]): Html {
  const longest = Math.max(
    ...rows.flatMap((row) =>
      [row.member_amount, row.employer_amount].map((amount) => Math.abs(Number(amount))),
    ),
  );
  const barColumn = (of: string, amount: (row: Named) => string) => ({
    title: html`<span class="hidden-label">${`${of}, compared`}</span>`,
    kind: 'picture' as const,
    cell: (row: Named) => bar(Number(amount(row)), longest),
  });
  return table<Named>({
    caption,
    stacked: true,
    columns: [
      { title, kind: 'name', cell: ({ name }) => name },
      { title: 'Employees', kind: 'number', cell: ({ employees }) => count(employees) },
      { title: 'Lines', kind: 'number', cell: ({ lines }) => count(lines) },
      { title: 'Employee amount', kind: 'number', cell: ({ member_amount }) => money(member_amount) },
      barColumn('Employee amount', ({ member_amount }) => member_amount),
      { title: 'Employer amount', kind: 'number', cell: ({ employer_amount }) => money(employer_amount) },
      barColumn('Employer amount', ({ employer_amount }) => employer_amount),
    ],
    rows,
  });
}

function comparison({
  previous_run_id,
  employees,
  totals,
  by_line_of_coverage,
  largest_movers,
}: Comparison): Html {
  const { previous, current, joined, left } = employees;
  return html`
    <section aria-labelledby="comparison">
      <h2 id="comparison">${'Changes since '}${runLink(previous_run_id)}</h2>
      <p>${`Employees: ${count(previous)} before, ${count(current)} now, ${count(joined)} joined, ${count(left)} left.`}</p>
      ${table<Compared>({
        caption: 'Changes by line of coverage',
        stacked: true,
        columns: [
          { title: 'Line of coverage', kind: 'name', cell: ({ name }) => name },
          { title: 'Employee before', kind: 'number', cell: (row) => money(row.previous_member_amount) },
          { title: 'Employee now', kind: 'number', cell: (row) => money(row.member_amount) },
          { title: 'Employee difference', kind: 'number', cell: (row) => money(row.member_difference) },
          { title: 'Employer difference', kind: 'number', cell: (row) => money(row.employer_difference) },
        ],
        rows: [
          ...by_line_of_coverage.map((row) => ({ ...row, name: plain(row.line_of_coverage) })),
          { ...totals, name: 'Total' },
        ],
      })}
      ${
        largest_movers.length > 0 &&
        table<(typeof largest_movers)[number]>({
          caption: 'Largest changes by employee',
          columns: [
            { title: 'Employee', kind: 'name', cell: ({ employee_id }) => employee_id },
            { title: 'Before', kind: 'number', cell: (row) => money(row.previous_member_amount) },
            { title: 'Now', kind: 'number', cell: (row) => money(row.member_amount) },
            { title: 'Difference', kind: 'number', cell: (row) => money(row.member_difference) },
          ],
          rows: largest_movers,
        })
      }
    </section>
  `;
}

function notInRun({ not_in_run, not_in_run_count }: Computed): Html {
  const shown = not_in_run.slice(0, NOT_IN_RUN_SHOWN);
  return html`
    <details>
      <summary>${`${counted(not_in_run_count, 'employee')} with deductions not in this run`}</summary>
      ${table<(typeof shown)[number]>({
        caption: 'Employees not in this run',
        captionHidden: true,
        columns: [
          { title: 'Employee', kind: 'name', cell: ({ employee_id }) => employee_id },
          { title: 'Reason', cell: ({ reason }) => NOT_IN_RUN[reason] },
        ],
        rows: shown,
      })}
      ${shown.length < not_in_run_count && html`<p class="hint">${`The first ${shown.length} are shown.`}</p>`}
    </details>
  `;
}
