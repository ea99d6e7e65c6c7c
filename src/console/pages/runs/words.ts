/** What a run and its lines say, in words for the person who runs payroll. Pure. */
import type { Schemas } from '../../../client.ts';

export type Run = Schemas['PayrollRunOutline'];
export type Line = Schemas['Line'];
export type Totals = Schemas['Totals'];

export const STATES: Readonly<Record<Run['state'], string>> = {
  open: 'Open: computed anew from what the ledger knows whenever it is looked at. Finalize it when you agree.',
  finalized: 'Finalized: it stands as it was frozen, and can be proved.',
  voided: 'Voided: it was taken back, stays readable, and counts as nothing.',
};

export const FREQUENCIES: Readonly<Record<Run['pay_frequency'], string>> = {
  weekly: 'weekly',
  biweekly: 'biweekly (every two weeks)',
  semimonthly: 'semimonthly (twice a month)',
  monthly: 'monthly',
};

export const RUN_KINDS: Readonly<Record<Run['kind'], string>> = {
  regular: 'One of the pay dates of the year, with everybody who is paid then.',
  off_cycle:
    'A check between the pay dates. It names its employees, and takes only the deductions that it names.',
};

export const SCHEMES: Readonly<Record<Run['scheme'], string>> = {
  annualized: 'A year’s amount is shared by all checks of the year: 150.00 monthly is 69.23 on 26 checks.',
  'month-even':
    'A month’s amount is shared by the checks of that month: 75.00 each of two, 50.00 each of three.',
  'first-checks':
    'Only the first checks of a month take: two of biweekly ones, four of weekly ones. A further one takes nothing.',
};

export const REMAINDERS: Readonly<Record<Run['remainder'], string>> = {
  last: 'Checks are equal, and the last one takes the remaining cents.',
  spread: 'The remaining cents are spread over the checks, so that they sum up exactly.',
  none: 'Each check is rounded on its own. The year may differ by a few cents.',
};

export const EXTRA_PAYCHECKS: Readonly<Record<Run['extra_paycheck'], string>> = {
  take: 'A 27th biweekly or 53rd weekly check takes a contribution for that period once more.',
  skip: 'Such a check takes nothing of it.',
};

export const APPLIES_ON: Readonly<Record<Run['applies_on'], string>> = {
  pay_date: 'In effect on the pay date.',
  period_end: 'In effect on the last day of the pay period.',
};

export const ADJUSTMENTS: Readonly<Record<Run['adjustments'], string>> = {
  report: 'They are shown, and not deducted.',
  include: 'They are deducted, or given back, with this paycheck.',
};

export const ARREARS: Readonly<Record<Run['arrears'], string>> = {
  report: 'It is shown, and not deducted.',
  include: 'It is deducted with this paycheck.',
};

export const LINE_KINDS: Readonly<Record<Line['kind'], string>> = {
  regular: 'Deductions',
  adjustment: 'Adjustments',
  arrears: 'Arrears',
};

export const CHANGES: Readonly<Record<NonNullable<Line['change']>, string>> = {
  new: 'new',
  changed: 'changed',
  ended: 'ended',
  moved: 'moved',
  same: 'the same',
};

export const AMOUNT_CHANGES: Readonly<Record<NonNullable<Line['amount_change']>, string>> = {
  same: 'same amount',
  rounding: 'rounding',
  calendar: 'calendar',
  changed: 'amount changed',
};

/** What somebody should know of a line that has the flag. */
export const FLAGS: Readonly<Record<Line['flags'][number], string>> = {
  frequency_mismatch:
    'The contribution is neither monthly nor for this pay frequency: usually a stale frequency.',
  negative: 'The contribution is less than nothing: see whether a refund is meant.',
  partial_cycle:
    'The first or last check of a deduction that is in effect on only some of the pay dates that share the amount.',
  absent_from_census: 'The newest census lacks the employee, of whom no termination is known.',
  no_further_paycheck: 'The employee left this employer: there is no paycheck to settle it on.',
  open_after_termination: 'The employment has ended, and the deduction has not.',
  overlap: 'Two deductions of the employee for this line of coverage are in effect.',
  prior_year: 'Of a run of another tax year: only shown.',
  reported: 'Only shown: in no total, and not to be deducted.',
  retro_pre_tax: 'Pre-tax deductions rise after the fact, which elections rarely allow: look at it.',
  retro_refund: 'Pre-tax deductions fall after the fact: something is given back.',
  coverage_beyond_last_check:
    'Coverage lasts to the end of the month, after the last regular check: a final check may take the rest.',
  missed_check: 'The employee belonged in that run and was not in it.',
  missed_check_partial: 'Other runs of the employee cover part of that pay period: only shown.',
};

/** A flag as a few words, to stand on a line. */
export function flagWord(flag: Line['flags'][number]): string {
  return flag.replaceAll('_', ' ');
}

/** `2026-06-29 to 2026-07-12`. */
export function periodOf({ period_start, period_end }: Pick<Run, 'period_start' | 'period_end'>): string {
  return `${period_start} to ${period_end}`;
}

/** Why an employee with a deduction is not in a run. */
export const NOT_IN_RUN: Readonly<Record<Schemas['PayrollRun']['not_in_run'][number]['reason'], string>> = {
  two_employers: 'Active with two employers',
  terminated: 'Terminated',
  not_hired_yet: 'Not hired yet',
  unknown_frequency: 'Unknown pay frequency',
  other_frequency: 'Other pay frequency',
  unknown_pay_group: 'Unknown pay group',
  other_pay_group: 'Other pay group',
  not_selected: 'Not selected',
};
