/** Labels and explanations of a run's options, states and lines. */
import type { ResultOf, RowOf } from '../../../api/operation.ts';
import type { listPayrollRunLines } from '../../../api/operations/payroll-run-lines.ts';
import type { getPayrollRun, getPayrollRunOutline } from '../../../api/operations/payroll-runs.ts';
import type { listPayrollsDue } from '../../../api/operations/payrolls-due.ts';
import { flagTexts } from '../../../formats/flags.ts';
import { recoupText } from '../../../formats/recoup.ts';
import type { Choice } from '../../elements/fields.ts';
import { dayText, plain } from '../../elements/format.ts';
import { nameIn } from '../../elements/links.ts';
import { type Html, html } from '../../html.ts';

export type Run = ResultOf<typeof getPayrollRunOutline>;
/** A run with its computed amounts. */
export type ComputedRun = ResultOf<typeof getPayrollRun>;
export type Line = RowOf<typeof listPayrollRunLines>;

export const FREQUENCIES: Readonly<Record<Run['pay_frequency'], string>> = {
  weekly: 'weekly',
  biweekly: 'biweekly (every two weeks)',
  semimonthly: 'semimonthly (twice a month)',
  monthly: 'monthly',
};

type OptionName = 'applies_on' | 'open_items';
type Option = { readonly label: string; readonly hint: string; readonly choices: readonly Choice[] };

function explained(choices: Readonly<Record<string, readonly [label: string, hint: string]>>): Choice[] {
  return Object.entries(choices).map(([value, [label, hint]]) => ({ value, label, hint }));
}

/** The first choice of each option is the API's default. */
export const OPTIONS: Readonly<Record<OptionName, Option>> = {
  applies_on: {
    label: 'In effect on',
    hint: 'A deduction is taken if it is in effect on this day.',
    choices: explained({
      pay_date: [
        'The pay date',
        'A deduction that starts after the pay period is taken if it starts by the pay date.',
      ],
      period_end: [
        'The last day of the pay period',
        'A deduction that starts after the pay period is not taken.',
      ],
      next_month: [
        'The first day of the next month',
        'Premiums are taken a month ahead: a paycheck of June takes what is in effect on July 1.',
      ],
    }),
  },
  open_items: {
    label: 'Open items',
    hint: 'Differences from earlier runs, amounts not taken, and opening items.',
    choices: explained({
      decided: ['After a decision', 'An item is deducted or refunded after a person decided to take it.'],
      include: [
        'Deduct or refund',
        'Items are deducted or refunded with the next paycheck, except those that need a decision.',
      ],
    }),
  },
};
/** The option that is typed: `all`, a multiple such as `2x`, or an amount. */
export const RECOUP = {
  label: 'Limit for open items',
  rule: 'must be all, a multiple such as 2x, or an amount such as 50.00',
  hint: 'The most that a paycheck takes of an employee’s open items for a line of coverage: all, a multiple of the regular amount such as 2x, or an amount such as 50.00.',
};
/** Returns the limit as a column or a fact shows it. */
export function recoupLimit(recoup: Run['recoup']): string {
  return recoup.method === 'all' ? 'No limit' : recoupText(recoup);
}
export const OPTION_NAMES = Object.keys(OPTIONS) as OptionName[];

export function choiceOf(name: OptionName, value: string): Choice | undefined {
  return OPTIONS[name].choices.find((choice) => choice.value === value);
}

export const RUN_KINDS = explained({
  regular: ['Regular', 'A regular pay date, with all employees of the pay frequency.'],
  off_cycle: ['Off-cycle', 'A paycheck between pay dates, with the employees and deductions that you list.'],
});

/** Words for changes of amounts, and for their reasons, that differ from their names. */
const WORDS: Readonly<Record<string, string>> = {
  same: 'unchanged',
  calendar: 'different pay dates',
  shares: 'shares of a final paycheck',
  policy: 'different payroll policy',
  unassigned: 'not assigned to an employer',
  settled_before: 'settled in the previous run',
};

/** Returns the words for a change of a line or an amount, or for the reason of one. */
export function changeName(name: string): string {
  return WORDS[name] ?? plain(name);
}

export function flagLabel(flag: Line['flags'][number]): string {
  return flagTexts(flag).label ?? plain(flag);
}

/** `Jun 29, 2026 to Jul 12, 2026`. */
export function periodOf({ period_start, period_end }: Pick<Run, 'period_start' | 'period_end'>): string {
  return `${dayText(period_start)} to ${dayText(period_end)}`;
}

type Named = Pick<RowOf<typeof listPayrollsDue>, 'employer_id' | 'pay_frequency' | 'pay_group' | 'pay_date'>;

/** Names a payroll or its run: `Acme, biweekly, Jul 17, 2026`, with the word off-cycle, and with its pay group. */
export function nameOf({ employer_id, pay_group, ...run }: Named & { readonly kind?: Run['kind'] }): Html {
  const schedule = run.kind === 'off_cycle' ? 'off-cycle' : run.pay_frequency;
  const date = run.pay_date === null ? null : dayText(run.pay_date);
  const rest = [schedule, pay_group, date].filter((part) => part !== null);
  return html`<span>${nameIn('employer', employer_id)}${rest.map((part) => `, ${part}`)}</span>`;
}
