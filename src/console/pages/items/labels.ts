/** The words and filters of open items. */
import type { RowOf } from '../../../api/operation.ts';
import type { listOpenItems } from '../../../api/operations/open-items.ts';
import { choicesOf, type Specs } from '../../elements/fields.ts';
import { dayText, money, plain, term } from '../../elements/format.ts';
import { address, pathOf } from '../../elements/links.ts';
import { EMPLOYEE_FILTER, type Filter } from '../../elements/list.ts';
import { type Html, html } from '../../html.ts';
import type { Visit } from '../../page.ts';
import { EMPLOYER_FILTER } from '../employers.ts';

export type Item = RowOf<typeof listOpenItems>;

export const KINDS: Readonly<Record<Item['kind'], string>> = {
  arrears: 'Arrears',
  opening: 'Opening item',
  missed_check: 'Missed paycheck',
  adjustment: 'Adjustment',
};

export const STATES: Readonly<Record<Item['state'], string>> = {
  open: 'Open',
  take: 'To be taken',
  hold: 'On hold',
  settled: 'Settled',
  written_off: 'Written off',
  paid_directly: 'Paid directly',
};

export const REOPENED: Readonly<Record<NonNullable<Item['reopened']>, string>> = {
  amount_changed: 'the amount changed since it was decided',
  hold_ended: 'the hold has ended',
  part_written_off: 'an amount is left after the write-off',
  part_paid: 'an amount is left after the payment',
};

export const ACTIONS: Readonly<Record<NonNullable<Item['decision']>['action'], string>> = {
  take: 'Take or return with paychecks',
  hold: 'Hold',
  write_off: 'Write off',
  paid_directly: 'Paid outside payroll',
};

type Term = { action: keyof typeof ACTIONS; field: Specs[string]; inWords: (value: string) => string };

/** The fields that only decisions with one action have: in the form, and in words. */
export const TERMS: Readonly<Record<'amount' | 'until' | 'paid_on', Term>> = {
  amount: {
    action: 'paid_directly',
    field: { label: 'Amount paid of each item', size: 12, hint: 'Negative if the employee got it back.' },
    inWords: money,
  },
  until: {
    action: 'hold',
    field: { label: 'Hold through', type: 'date' },
    inWords: (day) => `through ${dayText(day)}`,
  },
  paid_on: {
    action: 'paid_directly',
    field: { label: 'Paid on', type: 'date' },
    inWords: (day) => `on ${dayText(day)}`,
  },
};
const TERM_NAMES = Object.keys(TERMS) as (keyof typeof TERMS)[];

/** Writes a decision in words: `Hold, through Dec 18, 2026`. */
export function decided({ action, covers, ...terms }: NonNullable<Item['decision']>): string {
  const parts = [
    ACTIONS[action],
    covers === 'employee' && 'all items',
    ...TERM_NAMES.map((name) => terms[name] !== null && TERMS[name].inWords(terms[name])),
  ];
  return parts.filter((part) => part !== false).join(', ');
}

/** Renders the line of coverage of an item, for people who may open it as a link to its deduction. */
export function deductionOf(
  item: { deduction_id: string | null; line_of_coverage: string; taxability: string },
  may: Visit['may'],
): Html {
  const { deduction_id, line_of_coverage, taxability } = item;
  const path = deduction_id === null || !may('ledger:read') ? null : pathOf('/deductions', deduction_id);
  const coverage = term(line_of_coverage);
  return html`<span>${path === null ? coverage : html`<a href=${path}>${coverage}</a>`}${', '}<span class="whole">${plain(taxability)}</span></span>`;
}

export const FILTERS: readonly Filter[] = [
  { ...EMPLOYER_FILTER, required: true },
  EMPLOYEE_FILTER,
  { name: 'kind', label: 'Kind', choices: choicesOf(KINDS) },
  { name: 'state', label: 'State', choices: choicesOf(STATES) },
];

export function itemsPath(filters: Readonly<Record<string, string | undefined>>): string {
  return address('/open-items', filters);
}
