/** Generates the pay dates of a year, as a preview in the form of a pay schedule. */
import { Temporal } from 'temporal-polyfill';
import { isDay } from '../../../contract/instant.ts';
import type { Problem } from '../../../errors.ts';
import { choicesOf, filledForm, type Place, type Specs } from '../../elements/fields.ts';
import { type Html, html } from '../../html.ts';

/** Pay dates every few days, or on one or more days of each month. Day 31 is the last day of every month. */
export type PayDateRule =
  | { readonly every: number; readonly from: string }
  | { readonly daysOfMonth: readonly number[] };
type PayDate = { readonly pay_date: string; readonly period_start: string; readonly period_end: string };

const FRIDAY = 5;
/** A leap year, and the weekend after it. */
const DAYS_COVERED = 368;
const LAG_DAYS_MAX = 31;
const LAST_DAY = '31';
const STEP_DAYS: ReadonlyMap<string, number> = new Map([
  ['weekly', 7],
  ['biweekly', 14],
]);
const DAYS_OF_MONTH = choicesOf({
  ...Object.fromEntries(Array.from({ length: 30 }, (_, index) => [String(index + 1), String(index + 1)])),
  [LAST_DAY]: 'last business day',
});
const RULE_FIELDS: Specs = {
  from: { label: 'One pay date of the year', type: 'date' },
  day: { label: 'Pay day of the month', choices: DAYS_OF_MONTH },
  second_day: { label: 'Other pay day of the month', choices: DAYS_OF_MONTH },
  lag_days: { label: 'Days from period end to pay date', size: 4 },
};
const DEFAULTS = { year: '', pay_frequency: '', from: '', day: LAST_DAY, second_day: '15', lag_days: '0' };
type Typed = Readonly<Record<string, string>>;

/**
 * Returns the pay dates of a year. A date on a weekend moves to the Friday before it, possibly into the year before. A
 * period ends `lagDays` days before its unmoved pay date, and starts after the end of the previous period.
 */
export function generatePayDates(year: number, rule: PayDateRule, lagDays: number): PayDate[] {
  const dates = 'every' in rule ? steppedDates(year, rule) : monthlyDates(year, rule.daysOfMonth);
  const ends = dates.map((date) => date.subtract({ days: lagDays }));
  return dates.flatMap((date, index) => {
    const payDate = date.subtract({ days: Math.max(0, date.dayOfWeek - FRIDAY) });
    const [previousEnd, end] = [ends[index - 1], ends[index]];
    if (payDate.year !== year || previousEnd === undefined || end === undefined) return [];
    const period_start = previousEnd.add({ days: 1 }).toString();
    return [{ pay_date: payDate.toString(), period_start, period_end: end.toString() }];
  });
}

/** Returns the dates of the year, an earlier one, and the next year's dates that a weekend may move. */
function steppedDates(year: number, { every, from }: { every: number; from: string }): Temporal.PlainDate[] {
  const known = Temporal.PlainDate.from(from);
  const steps = Math.floor(known.until(new Temporal.PlainDate(year, 1, 1)).days / every) - 1;
  const first = known.add({ days: steps * every });
  const length = Math.ceil(DAYS_COVERED / every) + 2;
  return Array.from({ length }, (_, index) => first.add({ days: index * every }));
}

/** Returns the dates from December of the year before to January of the next year. */
function monthlyDates(year: number, daysOfMonth: readonly number[]): Temporal.PlainDate[] {
  const days = daysOfMonth.toSorted((a, b) => a - b);
  const before = new Temporal.PlainYearMonth(year, 1).subtract({ months: 1 });
  return Array.from({ length: 14 }, (_, months) => before.add({ months })).flatMap((month) =>
    days.map((day) => month.toPlainDate({ day })),
  );
}

/** Generates the pay dates from a submitted form, or returns the problems of its fields. */
export function generatedFrom(
  form: Typed,
): { ok: true; rows: PayDate[] } | { ok: false; problems: Problem[] } {
  const typed: Record<keyof typeof DEFAULTS, string> = { ...DEFAULTS, ...form };
  const { year, pay_frequency, from, day, second_day, lag_days } = typed;
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
  return { ok: true, rows: generatePayDates(Number(year), rule, Number(lag_days)) };
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
  const problem = { type: '', title: '', status: 400, errors: [...problems] };
  const { fieldOf, isWrong } = filledForm(RULE_FIELDS, { ...DEFAULTS, ...typed }, problem);
  const names = Object.keys(RULE_FIELDS);
  return html`
    <details class="field" open=${isOpen || names.some(isWrong)}>
      <summary>Generate the pay dates of the year</summary>
      <div class="fields">
        ${names.map(fieldOf)}
        <button type="submit" class="quiet" name="do" value="generate">Generate</button>
      </div>
      <p class="hint">A date on a weekend moves to the Friday before it. Change dates on holidays below. Generating replaces the rows below, and nothing is saved before you save the pay schedule.</p>
    </details>
    ${preview !== null && html`<p role="status">${preview}</p>`}
  `;
}
