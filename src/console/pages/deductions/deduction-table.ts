/** Deductions as a table, wherever some are listed. */
import type { Schemas } from '../../../client.ts';
import { deductionLink, employeeLink } from '../../elements/links.ts';
import { plain, taxabilityWord } from '../../elements/plain.ts';
import { state } from '../../elements/state.ts';
import { type Column, table } from '../../elements/table.ts';
import { type Html, html } from '../../html.ts';
import { employerOf } from './employer.ts';
import { spanOf, standing, type Terms } from './words.ts';

type Deduction = Schemas['Deduction'];

/** `day`: of which how each stands is told. `of`: `employee` where all are of one, who then is not named in each row. */
export function deductionTable(
  deductions: readonly Deduction[],
  { caption, day, of = 'anybody' }: { caption: string; day: string; of?: 'anybody' | 'employee' },
): Html {
  const whose: Column<Deduction>[] = [
    { title: 'Employee', cell: ({ employee_id }) => employeeLink(employee_id) },
    { title: 'Employer', cell: employerOf },
  ];
  const columns: Column<Deduction>[] = [
    { title: 'Deduction', kind: 'name', cell: ({ id }) => deductionLink(id) },
    ...(of === 'anybody' ? whose : []),
    { title: 'Coverage', cell: coverageOf },
    { title: 'Taxability', kind: 'date', cell: ({ taxability }) => taxabilityWord(taxability) },
    { title: 'Employee pays', kind: 'number', cell: ({ member_contribution }) => member_contribution },
    { title: 'Employer pays', kind: 'number', cell: ({ employer_contribution }) => employer_contribution },
    { title: 'Period', cell: ({ period }) => period },
    { title: 'Effective', kind: 'date', cell: datesOf },
    { title: `On ${day}`, cell: (deduction) => standingOf(deduction, day) },
    { title: 'Version', kind: 'number', cell: ({ version }) => version },
  ];
  return table({ caption, stacked: true, columns, rows: deductions });
}

function coverageOf({ line_of_coverage, coverage_type }: Deduction): Html {
  return html`
    <span>
      ${plain(line_of_coverage)}
      ${typeof coverage_type === 'string' && html`<span class="soft under">${plain(coverage_type)}</span>`}
    </span>
  `;
}

/** From when until when. */
export function datesOf(terms: Terms): Html {
  const { from, until } = spanOf(terms);
  return html`
    <span>
      ${from === null ? 'no first day' : `from ${from}`}
      <span class="under">${until === null ? 'no last day' : `to ${until}`}</span>
    </span>
  `;
}

function standingOf(deduction: Deduction, day: string): Html {
  const { word, tone } = standing(spanOf(deduction), day);
  return state(word, tone);
}
