/** The filters of the ledger, which are those of `GET /v1/deductions`, each with what it is for. */
import { LINES_OF_COVERAGE, TAXABILITIES } from '../../../contract/deduction.ts';
import { ANY, type Choice, selectField, textField } from '../../elements/field.ts';
import { plain, taxabilityWord } from '../../elements/plain.ts';
import { type Html, html } from '../../html.ts';
import { thenFields } from './then-form.ts';

export const LEDGER_PATH = '/ledger';

export const FILTERS = [
  'employer_id',
  'employee_id',
  'line_of_coverage',
  'taxability',
  'matched',
  'on',
  'known_at',
] as const;

/** What the page was asked with. */
export type Query = Readonly<Partial<Record<(typeof FILTERS)[number] | 'cursor', string>>>;

const LINES = LINES_OF_COVERAGE.map((value): Choice => ({ value, label: plain(value) }));
const TAXED = TAXABILITIES.map((value): Choice => ({ value, label: taxabilityWord(value) }));
const MATCHED: readonly Choice[] = [
  { value: 'true', label: 'in the roster' },
  { value: 'false', label: 'not in the roster' },
];

/**
 * A plain form: without a script too, and its address can be kept and shared. Closed until something is filtered: it is
 * as high as a telephone's screen, and the list is what one came for.
 */
export function filterForm(query: Query): Html {
  const filtered = inWords(query);
  const given = (name: (typeof FILTERS)[number]) => ({ name, value: query[name] ?? '' });
  return html`
    <details class="card" open=${filtered.length > 0}>
      <summary>${filtered.length > 0 ? `Filters: ${filtered.join(', ')}` : 'Filters: none, all deductions'}</summary>
      <form method="get" action=${LEDGER_PATH} class="filters" aria-label="Filters">
      ${textField({ ...given('employer_id'), label: 'Employer id', hint: 'Of employees of this employer.' })}
      ${textField({ ...given('employee_id'), label: 'Employee id', hint: 'Of this employee.' })}
      ${selectField({ ...given('line_of_coverage'), label: 'Line of coverage', choices: [ANY, ...LINES], hint: 'What it pays for.' })}
      ${selectField({ ...given('taxability'), label: 'Taxability', choices: [ANY, ...TAXED], hint: 'Taken before or after tax.' })}
      ${selectField({ ...given('matched'), label: 'Employee', choices: [ANY, ...MATCHED], hint: 'Whether a census or a hire told of the employee.' })}
      ${thenFields(query)}
      <div class="actions">
        <button type="submit">Show</button>
        ${filtered.length > 0 && html`<a class="button quiet" href=${LEDGER_PATH}>Clear</a>`}
      </div>
      </form>
    </details>
  `;
}

/** What is asked for, as it is said when the fields are closed. */
function inWords(query: Query): string[] {
  const { employer_id, employee_id, line_of_coverage, taxability, matched, on, known_at } = query;
  return [
    employer_id !== undefined && `employer ${employer_id}`,
    employee_id !== undefined && `employee ${employee_id}`,
    line_of_coverage !== undefined && plain(line_of_coverage),
    taxability !== undefined && taxabilityWord(taxability),
    matched !== undefined && (MATCHED.find(({ value }) => value === matched)?.label ?? matched),
    on !== undefined && `on ${on}`,
    known_at !== undefined && `as known at ${known_at}`,
  ].filter((one) => one !== false);
}
