/** The form that a run is put with: each choice with what it does, the rare ones out of the way. */
import type { ProblemDetails } from '../../../api/problem.ts';
import {
  choiceField,
  choicesOf,
  type FieldProblem,
  linesField,
  selectField,
  textField,
} from '../../elements/field.ts';
import { type Place, problemSummary } from '../../elements/problem-summary.ts';
import { type Content, type Html, html } from '../../html.ts';
import { DEFAULTS, fieldOf, type Typed } from './form-body.ts';
import * as words from './words.ts';

export type Shown = {
  readonly typed: Typed;
  readonly problem?: ProblemDetails;
  /** What stands below the form: a preview. */
  readonly below?: Html;
  readonly maySave: boolean;
};

/** The form, what was refused of it, and what stands below it: what a press of its buttons is answered with. */
export function runForm({ typed, problem, below, maySave }: Shown): Html {
  const errors = Map.groupBy(problem?.errors ?? [], ({ path }) => fieldOf(path));
  const field: Field = (name) => ({
    name,
    label: LABELS[name] ?? name,
    value: typed[name] ?? '',
    problems: errors.get(name) ?? [],
  });
  return html`
    <div id="run-form">
      ${problem !== undefined && problemSummary(problem, placeOf)}
      <form class="long" novalidate hx-post="/runs/new" hx-target="#run-form" hx-swap="outerHTML" hx-config="timeout:600s">
        ${paidFields(field)}
        ${earlierFields(field)}
        ${rare('How amounts come about', ['scheme', 'remainder', 'extra_paycheck', 'applies_on', 'policy_reason'], field, amountFields(field))}
        ${rare('The pay dates of the year', ['pay_dates'], field, calendarField(field))}
        ${rare('Off-cycle, and only some employees', ['kind', 'employee_ids', 'deductions', 'final_checks'], field, narrowFields(field))}
        <div class="actions">
          <button type="submit" name="do" value="preview" class=${maySave ? 'quiet' : undefined}>Preview</button>
          ${maySave && html`<button type="submit" name="do" value="save">Save the run</button>`}
          <span class="busy soft" role="status">Computing …</span>
        </div>
        <p class="hint">
          ${maySave ? 'A preview keeps nothing. A saved run is open: it is computed anew until you finalize it, and can be deleted.' : 'A preview keeps nothing. To save a run, your token needs the scope runs:write.'}
        </p>
      </form>
      ${below}
    </div>
  `;
}

/** `employee_ids[3]` is about the fourth line of its field. */
function placeOf(path: string): Place | null {
  const id = fieldOf(path);
  if (id === null) return null;
  const [, index] = /\[(\d+)\]$/.exec(path) ?? [];
  const label = LABELS[id] ?? id;
  return { id, label: index === undefined ? label : `${label}, line ${Number(index) + 1}` };
}

const LABELS: Readonly<Record<string, string>> = {
  run_id: 'Run id',
  employer_id: 'Employer id',
  pay_frequency: 'Pay frequency',
  pay_group: 'Pay group',
  period_start: 'Pay period from',
  period_end: 'Pay period to',
  pay_date: 'Pay date',
  adjustments: 'Adjustments',
  arrears: 'Arrears',
  scheme: 'Scheme',
  remainder: 'Remainder',
  extra_paycheck: 'Extra paycheck',
  policy_reason: 'Reason to differ from the policy',
  applies_on: 'Day that counts',
  pay_dates: 'Pay dates',
  kind: 'Kind',
  employee_ids: 'Only these employees',
  deductions: 'Only these deductions',
  final_checks: 'Last paychecks',
};

type Field = (name: string) => { name: string; label: string; value: string; problems: FieldProblem[] };

function paidFields(field: Field): Html {
  return html`
    <section class="card" aria-labelledby="paid">
      <h2 id="paid">What is paid</h2>
      <div class="columns">
        ${textField({ ...field('run_id'), required: true, hint: 'An id of your own, such as acme-2026-07-17: 1 to 128 of A-Z a-z 0-9 . _ -' })}
        ${textField({ ...field('employer_id'), required: true, hint: 'Whose employees are paid, by the id of the census.' })}
        ${selectField({
          ...field('pay_frequency'),
          choices: choicesOf(words.FREQUENCIES),
          hint: 'How often these employees are paid. Only employees of this frequency are in the run.',
        })}
        ${textField({ ...field('pay_group'), hint: 'Only employees of this pay group. Leave it empty where there are none.' })}
        ${textField({ ...field('period_start'), type: 'date', required: true, hint: 'The first day that this check pays.' })}
        ${textField({ ...field('period_end'), type: 'date', required: true, hint: 'The last day that this check pays.' })}
        ${textField({ ...field('pay_date'), type: 'date', required: true, hint: 'The day on which is paid. It tells the tax year, and the place of this check in it.' })}
      </div>
    </section>
  `;
}

function earlierFields(field: Field): Html {
  return html`
    <section class="card" aria-labelledby="earlier">
      <h2 id="earlier">What earlier runs left</h2>
      <div class="columns">
        ${choiceField({
          ...field('adjustments'),
          hint: 'Differences of earlier finalized runs of the year, by what is known now: a change that came late.',
          choices: ofPolicy(words.ADJUSTMENTS),
        })}
        ${choiceField({
          ...field('arrears'),
          hint: 'What payroll could not take of an earlier check, by its report.',
          choices: ofPolicy(words.ARREARS),
        })}
      </div>
    </section>
  `;
}

function amountFields(field: Field): Html {
  return html`
    <div class="columns">
      ${choiceField({ ...field('scheme'), hint: 'Which checks share which part of the year, where a deduction is for another period than this check.', choices: ofPolicy(words.SCHEMES) })}
      ${choiceField({ ...field('remainder'), hint: 'Which check takes the cents that a division leaves.', choices: ofPolicy(words.REMAINDERS) })}
      ${choiceField({ ...field('extra_paycheck'), hint: 'Some years have a check more than usual.', choices: ofPolicy(words.EXTRA_PAYCHECKS) })}
      ${textField({ ...field('policy_reason'), hint: 'Required if the run differs from the employer’s payroll policy, also above.' })}
      ${choiceField({ ...field('applies_on'), hint: 'A deduction is taken if it is in effect on this day.', choices: ofPolicy(words.APPLIES_ON) })}
    </div>
  `;
}

function calendarField(field: Field): Html {
  return linesField({
    ...field('pay_dates'),
    rows: 6,
    hint: 'All regular pay dates of the calendar year, one on each line, such as 2026-07-17. Leave it empty to take those of the employer’s pay schedule; without one, a weekly or biweekly run steps them from its own pay date, and says so.',
  });
}

function narrowFields(field: Field): Html {
  return html`
    <div class="columns">
      ${choiceField({ ...field('kind'), choices: explained(words.RUN_KINDS) })}
      ${linesField({ ...field('employee_ids'), hint: 'Employee ids, one on each line. A preview then shows the lines. Empty: everybody who is paid.' })}
      ${linesField({ ...field('deductions'), hint: 'Deduction ids, one on each line. Empty: all that are in effect.' })}
      ${linesField({ ...field('final_checks'), hint: 'Employees whose employment ended before this pay period and who are paid once more, one on each line.' })}
    </div>
  `;
}

/** Open when it says something else than a new form, or something in it was refused. */
function rare(title: string, names: readonly string[], field: Field, content: Content): Html {
  const isOpen = names
    .map(field)
    .some(({ name, value, problems }) => problems.length > 0 || value !== (DEFAULTS[name] ?? ''));
  return html`
    <details class="card rare" open=${isOpen}>
      <summary>${title}</summary>
      ${content}
    </details>
  `;
}

/** The choices of an option, which the employer's payroll policy decides unless the run states it. */
function ofPolicy(said: Readonly<Record<string, string>>) {
  return [
    { value: '', label: 'employer’s policy', hint: 'As the payroll policy of the employer says.' },
    ...explained(said),
  ];
}

function explained(said: Readonly<Record<string, string>>) {
  return Object.entries(said).map(([value, hint]) => ({ value, label: value, hint }));
}
