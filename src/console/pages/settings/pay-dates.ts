/** Generates the pay dates of a year, as a preview in the form of a pay schedule. */
import { isDay } from '../../../contract/instant.ts';
import type { Problem } from '../../../errors.ts';
import {
  DATES_MOVE,
  LAG_DAYS_MAX,
  PROPOSED_TAKES,
  type ProposedDate,
  type ProposedTakes,
  proposePayDates,
  STEP_DAYS,
} from '../../../formats/pay-date-proposal.ts';
import { choicesOf, filledForm, type Place, problemIn, type Specs } from '../../elements/fields.ts';
import { type Html, html } from '../../html.ts';

const LAST_DAY = '31';
const DAYS_OF_MONTH = choicesOf({
  ...Object.fromEntries(Array.from({ length: 30 }, (_, index) => [String(index + 1), String(index + 1)])),
  [LAST_DAY]: 'last business day',
});
export const RULE_FIELDS: Specs = {
  from: { label: 'One pay date of the year', type: 'date' },
  day: { label: 'Pay day of the month', choices: DAYS_OF_MONTH },
  second_day: { label: 'Other pay day of the month', choices: DAYS_OF_MONTH },
  lag_days: { label: 'Days from period end to pay date', size: 4 },
  taking: {
    label: 'Dates that take deductions',
    choices: choicesOf({
      every: 'every date',
      'first-of-month': 'the first two of each month (four if weekly)',
      first: 'the first of each month',
      last: 'the last of each month',
    } satisfies Record<ProposedTakes, string>),
    hint: 'The other dates take only deductions per check, such as an HSA of $100.00 a check.',
  },
};
export const RULE_DEFAULTS = {
  ...{ year: '', pay_frequency: '', from: '', day: LAST_DAY, second_day: '15', lag_days: '0' },
  taking: PROPOSED_TAKES[0] as string,
};
type Typed = Readonly<Record<string, string>>;

/** Generates the pay dates from a submitted form, or returns the problems of its fields. */
export function generatedFrom(
  form: Typed,
): { ok: true; rows: ProposedDate[] } | { ok: false; problems: Problem[] } {
  const typed: Record<keyof typeof RULE_DEFAULTS, string> = { ...RULE_DEFAULTS, ...form };
  const { year, pay_frequency, from, day, second_day, lag_days } = typed;
  const takes = PROPOSED_TAKES.find((known) => known === typed.taking) ?? PROPOSED_TAKES[0];
  const every = STEP_DAYS.get(pay_frequency);
  const days = pay_frequency === 'semimonthly' ? [day, second_day] : [day];
  const problems: Problem[] = [];
  if (!isDay(`${year}-01-01`)) problems.push({ path: 'year', rule: 'must be a year' });
  if (every !== undefined && !isDay(from)) problems.push({ path: 'from', rule: 'must be a pay date' });
  if (every === undefined && !days.every((value) => DAYS_OF_MONTH.some((choice) => choice.value === value)))
    problems.push({ path: 'day', rule: 'must be a day of the month' });
  if (every === undefined && new Set(days).size < days.length)
    problems.push({ path: 'second_day', rule: 'must not be the same day' });
  if (!/^\d{1,2}$/.test(lag_days) || Number(lag_days) > LAG_DAYS_MAX)
    problems.push({ path: 'lag_days', rule: `must be a whole number from 0 to ${LAG_DAYS_MAX}` });
  if (problems.length > 0) return { ok: false, problems };
  const rule = every === undefined ? { daysOfMonth: days.map(Number) } : { every, from };
  const proposed = { lagDays: Number(lag_days), frequency: pay_frequency, takes };
  return { ok: true, rows: proposePayDates(Number(year), rule, proposed) };
}

/** Returns the field that a problem of the rule is about; null for other problems. */
export function placeInRule(path: string): Place | null {
  if (path === 'year') return { id: 'year', label: 'Year of the pay dates' };
  const label = RULE_FIELDS[path]?.label;
  return label === undefined ? null : { id: path, label };
}

/** Renders the fields of the rule. `preview` describes the dates that were generated. */
export function generator(
  typed: Typed,
  problems: readonly Problem[],
  isOpen: boolean,
  preview: string | null,
): Html {
  const { fieldOf, isWrong } = filledForm(RULE_FIELDS, { ...RULE_DEFAULTS, ...typed }, problemIn(problems));
  const names = Object.keys(RULE_FIELDS);
  return html`
    <details class="field" open=${isOpen || names.some(isWrong)}>
      <summary>Generate the pay dates of the year</summary>
      <div class="fields">
        ${names.map(fieldOf)}
        <button type="submit" class="quiet" name="do" value="generate">Generate</button>
      </div>
      <p class="hint">${`${DATES_MOVE} Generating replaces the rows below, and nothing is saved before you save the pay schedule.`}</p>
    </details>
    ${preview !== null && html`<p role="status">${preview}</p>`}
  `;
}
