/** The totals of a run or a preview. The API computes all amounts. */
import type { ResultOf } from '../../../api/operation.ts';
import type { previewPayrollRun } from '../../../api/operations/payroll-run-creation.ts';
import { type Cents, centsOf } from '../../../money.ts';
import { capitalized, count, counted, difference, money, plain, term } from '../../elements/format.ts';
import { employeeOf } from '../../elements/links.ts';
import { AMOUNT_COLUMNS, table } from '../../elements/list.ts';
import { type Html, html } from '../../html.ts';
import type { Visit } from '../../page.ts';
import { itemsPath, KINDS } from '../items/labels.ts';
import type { ComputedRun } from './labels.ts';
import { paychecks } from './paycheck-lines.ts';

type Preview = ResultOf<typeof previewPayrollRun>;
type Computed = ComputedRun | Preview;
type Sum = Computed['totals']['by_line_of_coverage'][number];

/** Employees shown here; the API has all. */
const NOT_IN_RUN_SHOWN = 100;

/** Renders folded tables: the sums of a run, next to those of the previous run, what stays open, and who is not in it. */
export function breakdown(run: Computed, visit: Pick<Visit, 'may'>): Html {
  const { totals, comparison: compared, open_items: left } = run;
  const items = left.reduce((sum, group) => sum + group.items, 0);
  return html`
    ${(compared !== null || totals.lines > 0) && html`<details><summary>By line of coverage</summary>${compared === null ? sums(totals.by_line_of_coverage) : comparison(compared)}</details>`}
    ${left.length > 0 && html`<details><summary>${`${counted(items, 'open item')} after this run`}</summary>${openItems(run)}</details>`}
    ${run.on_other_schedules.length > 0 && onOtherSchedules(run)}
    ${run.not_in_run_count > 0 && notInRun(run, visit)}
  `;
}

function figures({ employees, totals, ...run }: Computed): Html {
  const { pay_dates_used: dates, pay_date } = run;
  const place = dates?.indexOf(pay_date) ?? -1;
  const without = Math.max(0, employees - totals.employees);
  return html`
    <div class="cards figures">
      ${figure('Employee amount', money(totals.member_amount), counted(totals.lines, 'line'))}
      ${figure('Employer amount', money(totals.employer_amount))}
      ${figure('Employees', count(employees), `${count(totals.employees)} with deductions, ${count(without)} without`)}
      ${dates !== null && place >= 0 && figure('Pay date', `${place + 1} of ${dates.length}`, 'of the year’s pay dates')}
    </div>
  `;
}

/** A preview has lines only when it names employees. */
export function previewOf(preview: Preview, visit: Pick<Visit, 'may'>): Html {
  const { lines, totals } = preview;
  const isCut = lines !== null && lines.length < totals.lines;
  const cut = isCut && html`<p class="hint">${`The first ${lines.length} lines are shown.`}</p>`;
  return html`
    <section class="preview" aria-labelledby="preview">
      <h2 id="preview">Preview (not saved)</h2>
      ${figures(preview)}
      ${lines !== null && html`<div>${cut}${paychecks(lines)}</div>`}
      ${breakdown(preview, visit)}
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

const BY_COVERAGE = { caption: 'By line of coverage', captionHidden: true } as const;

function sums(rows: readonly Sum[]): Html {
  return table(rows, BY_COVERAGE, [
    ['Line of coverage', ({ line_of_coverage }) => term(line_of_coverage), 'name'],
    ['Employees', ({ employees }) => count(employees), 'number'],
    ['Lines', ({ lines }) => count(lines), 'number'],
    ...AMOUNT_COLUMNS,
  ]);
}

function comparison(compared: NonNullable<Computed['comparison']>): Html {
  const { totals, by_line_of_coverage } = compared;
  const largestFirst = by_line_of_coverage.toSorted((a, b) => Number(sizeOf(b) - sizeOf(a)));
  const rows = [...largestFirst, { ...totals, line_of_coverage: 'Total' }];
  return table(rows, BY_COVERAGE, [
    ['Line of coverage', ({ line_of_coverage }) => term(line_of_coverage), 'name'],
    ['Employee before', (row) => money(row.previous_member_amount), 'number'],
    ['Employee now', (row) => money(row.member_amount), 'number'],
    ['Difference', (row) => difference(row.member_difference), 'number'],
    ['Employer now', (row) => money(row.employer_amount), 'number'],
    ['Employer difference', (row) => difference(row.employer_difference), 'number'],
  ]);
}

/** Returns the absolute difference in cents. */
function sizeOf({ member_difference }: { readonly member_difference: string }): Cents {
  return centsOf(member_difference.replace('-', ''));
}

function openItems({ open_items, employer_id, ...run }: Computed): Html {
  const back = 'id' in run ? run.id : undefined;
  const list = table(open_items, { caption: 'Open items after this run', captionHidden: true }, [
    ['Kind', ({ kind }) => KINDS[kind], 'name'],
    ['Items', ({ items }) => count(items), 'number'],
    ['Employees', (sum) => count(sum.employees), 'number'],
    ...AMOUNT_COLUMNS,
  ]);
  return html`<section>${list}<p class="on-screen"><a href=${itemsPath({ employer_id, run: back })}>Decide about open items</a></p></section>`;
}

function onOtherSchedules({ on_other_schedules: groups }: Computed): Html {
  const employees = groups.reduce((sum, group) => sum + group.employees, 0);
  return html`
    <details>
      <summary>${`${counted(employees, 'employee')} with deductions on other pay schedules`}</summary>
      ${table(groups, { caption: 'Employees on other pay schedules', captionHidden: true }, [
        ['Pay frequency', ({ pay_frequency }) => pay_frequency, 'name'],
        ['Pay group', ({ pay_group }) => pay_group],
        ['Employees', (group) => count(group.employees), 'number'],
      ])}
    </details>
  `;
}

function notInRun({ not_in_run, not_in_run_count }: Computed, visit: Pick<Visit, 'may'>): Html {
  const shown = not_in_run.slice(0, NOT_IN_RUN_SHOWN);
  return html`
    <details>
      <summary>${`${counted(not_in_run_count, 'employee')} with deductions not in this run`}</summary>
      ${table(shown, { caption: 'Employees not in this run', captionHidden: true }, [
        ['Employee', ({ employee_id }) => employeeOf(employee_id, visit), 'name'],
        ['Reason', ({ reason }) => capitalized(plain(reason).replace('frequency', 'pay frequency'))],
      ])}
      ${shown.length < not_in_run_count && html`<p class="hint">${`The first ${shown.length} are shown.`}</p>`}
    </details>
  `;
}
