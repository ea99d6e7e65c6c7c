/** Lines by paycheck: what is taken, and on demand how each cent of it came about. */
import { facts } from '../../elements/facts.ts';
import { deductionLink, idLink } from '../../elements/links.ts';
import { address } from '../../elements/pager.ts';
import { plain, taxabilityWord } from '../../elements/plain.ts';
import { toned } from '../../elements/state.ts';
import { type Html, html } from '../../html.ts';
import { runLink } from './run-path.ts';
import { AMOUNT_CHANGES, CHANGES, FLAGS, flagWord, type Line } from './words.ts';

type Showing = {
  /** The page of the run, to go to one employee's lines; without it, in a preview, there is none. */
  readonly path?: string;
  /** Whether the person may look into the ledger. */
  readonly mayLedger?: boolean;
};

/** The lines in their order, those of one employee together. */
export function paychecks(lines: readonly Line[], showing: Showing = {}): Html {
  const byEmployee = [...Map.groupBy(lines, (line) => line.employee_id)];
  return html`
    <div class="paychecks">
      <div class="paycheck-heads" aria-hidden="true">
        <span>Employee pays</span>
        <span>Employer pays</span>
      </div>
      ${byEmployee.map(
        ([employee, own]) => html`
          <section class="card paycheck">
            <h3>${showing.path === undefined ? employee : idLink(address(showing.path, { employee_id: employee }), employee)}</h3>
            ${own.map((line) => lineOf(line, showing))}
          </section>
        `,
      )}
    </div>
  `;
}

function lineOf(line: Line, showing: Showing): Html {
  const isReported = line.flags.includes('reported');
  return html`
    <details class=${isReported ? 'line reported' : 'line'}>
      <summary>
        <span class="of">${plain(line.line_of_coverage)}<span class="soft">${`, ${taxabilityWord(line.taxability)}`}</span></span>
        <span class="says">
          ${line.kind !== 'regular' && toned(line.kind, 'plain')}
          ${line.change !== null && line.change !== 'same' && toned(changeOf(line), 'plain')}
          ${line.change === 'same' && differs(line) && toned(AMOUNT_CHANGES[line.amount_change], 'plain')}
          ${line.flags.map((flag) => toned(flag === 'reported' ? 'only shown' : flagWord(flag), 'warn'))}
        </span>
        <span class="pays"><span class="hidden-label">${'employee pays '}</span>${line.member_amount}</span>
        <span class="pays soft"><span class="hidden-label">${'employer pays '}</span>${line.employer_amount}</span>
      </summary>
      <div class="why">
        <ol class="explanation">${line.explanation.split('; plus ').map((step) => html`<li>${step}</li>`)}</ol>
        ${line.flags.length > 0 && html`<ul>${line.flags.map((flag) => html`<li>${FLAGS[flag]}</li>`)}</ul>`}
        ${factsOf(line, showing)}
      </div>
    </details>
  `;
}

/** `changed from 57.69`: what the person who compares two paychecks wants to read. */
function changeOf({ change, previous_amount }: Line): string {
  const word = change === null ? '' : CHANGES[change];
  if (change === 'changed') return `${word} from ${previous_amount}`;
  return change === 'ended' && previous_amount !== null ? `${word}, was ${previous_amount}` : word;
}

type Differing = Line & { amount_change: NonNullable<Line['amount_change']> };

function differs(line: Line): line is Differing {
  return line.amount_change !== null && line.amount_change !== 'same';
}

function differencesOf({ amount_change, member_difference, employer_difference }: Differing): string {
  return `${AMOUNT_CHANGES[amount_change]}: employee ${signed(member_difference)}, employer ${signed(employer_difference)}`;
}

function signed(amount: string | null): string {
  return amount?.startsWith('-') === false ? `+${amount}` : String(amount);
}

function factsOf(line: Line, { mayLedger = false }: Showing): Html {
  const { deduction_id, version, adjustment_for, period, previous_amount } = line;
  const deduction = mayLedger ? deductionLink(deduction_id) : html`<span class="id">${deduction_id}</span>`;
  return facts([
    ['Employee contributes', period !== null && `${line.member_contribution} ${period}, as received`],
    ['Employer contributes', period !== null && `${line.employer_contribution} ${period}, as received`],
    ['In the run before', previous_amount],
    ['Amount change', differs(line) && differencesOf(line)],
    ['Settles the run', adjustment_for !== null && runLink(adjustment_for)],
    ['Deduction', version === null ? deduction : html`<span>${deduction}${`, version ${version}`}</span>`],
    ['Covers', line.coverage_type !== null && plain(line.coverage_type)],
    ['Payroll code', line.payroll_code],
    [
      'Employer’s payroll code',
      line.employer_payroll_code !== null &&
        `${line.employer_payroll_code}${line.employer_treatment === null ? '' : ` (${line.employer_treatment})`}`,
    ],
    ['Description', line.description],
  ]);
}
