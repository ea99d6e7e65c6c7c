/** Labels and explanations of a run's options, states and lines. */
import type { Schemas } from '../../../client.ts';
import { plain } from '../../elements/format.ts';

export type Run = Schemas['PayrollRunOutline'];
export type Line = Schemas['Line'];

export const STATES: Readonly<Record<Run['state'], string>> = {
  open: 'It is recomputed from the ledger each time you open it, until you finalize it.',
  finalized: 'It is final. You can verify it against the ledger.',
  voided: 'It no longer counts, but stays readable.',
};

export const FREQUENCIES: Readonly<Record<Run['pay_frequency'], string>> = {
  weekly: 'weekly',
  biweekly: 'biweekly (every two weeks)',
  semimonthly: 'semimonthly (twice a month)',
  monthly: 'monthly',
};

/** The options that a payroll policy sets. */
export const OPTIONS = {
  scheme: 'Scheme',
  remainder: 'Remainder',
  extra_paycheck: 'Extra paycheck',
  applies_on: 'Effective on',
  adjustments: 'Adjustments',
  arrears: 'Arrears',
} as const;

export const RUN_KINDS: Readonly<Record<Run['kind'], string>> = {
  regular: 'A regular pay date, with all employees of the pay frequency.',
  off_cycle: 'A paycheck between pay dates, with the employees and deductions that you list.',
};

export const SCHEMES: Readonly<Record<Run['scheme'], string>> = {
  annualized:
    'The annual amount is divided by all paychecks of the year: $150.00 monthly is $69.23 on each of 26 paychecks.',
  'month-even':
    'The monthly amount is divided by the paychecks of that month: $150.00 is $75.00 on each of two, or $50.00 on each of three.',
  'first-checks':
    'Only the first paychecks of a month take a deduction: two if biweekly, four if weekly. Further ones take none.',
};

export const REMAINDERS: Readonly<Record<Run['remainder'], string>> = {
  last: 'All paychecks are equal, and the last one takes the remaining cents.',
  spread: 'The remaining cents are spread over the paychecks.',
  none: 'Each paycheck is rounded on its own, so the year may differ by a few cents.',
};

export const EXTRA_PAYCHECKS: Readonly<Record<Run['extra_paycheck'], string>> = {
  take: 'A 27th biweekly or 53rd weekly paycheck takes the biweekly or weekly contribution too.',
  skip: 'A 27th biweekly or 53rd weekly paycheck skips the biweekly or weekly contribution.',
};

export const APPLIES_ON: Readonly<Record<Run['applies_on'], string>> = {
  pay_date: 'The pay date.',
  period_end: 'The last day of the pay period.',
};

export const ADJUSTMENTS: Readonly<Record<Run['adjustments'], string>> = {
  report: 'Adjustments are shown but not deducted.',
  include: 'Adjustments are deducted or refunded with this paycheck.',
};

export const ARREARS: Readonly<Record<Run['arrears'], string>> = {
  report: 'Arrears are shown but not deducted.',
  include: 'Arrears are deducted with this paycheck.',
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
  same: 'unchanged',
};

export const AMOUNT_CHANGES: Readonly<Record<NonNullable<Line['amount_change']>, string>> = {
  same: 'same amount',
  rounding: 'rounding',
  calendar: 'other pay dates',
  changed: 'amount changed',
};

/** The meaning of each flag of a line. */
export const FLAGS: Readonly<Record<Line['flags'][number], string>> = {
  frequency_mismatch:
    'The contribution is neither monthly nor for this pay frequency. The frequency is probably outdated.',
  negative: 'The contribution is negative. Check that a refund is intended.',
  partial_cycle: 'The deduction is in effect on only some of the pay dates that share its amount.',
  absent_from_census: 'The employee is not in the newest census, and no termination was reported.',
  no_further_paycheck: 'The employee has left and gets no further paycheck to settle this on.',
  open_after_termination: 'Employment has ended, but the deduction has not.',
  overlap: 'The employee has two deductions in effect for this line of coverage.',
  prior_year: 'This line belongs to a run of an earlier tax year, so it is shown only.',
  reported: 'Shown only: it is not in the totals and must not be deducted.',
  retro_pre_tax: 'A pre-tax deduction rises for past paychecks. Election rules rarely allow this.',
  retro_refund: 'A pre-tax deduction falls for past paychecks, so the employee gets a refund.',
  coverage_beyond_last_check:
    'Coverage lasts to the end of the month, after the last regular paycheck. A final paycheck may take the rest.',
  missed_check: 'The employee belonged in that run but was not in it.',
  missed_check_partial:
    'Other runs cover part of that pay period for the employee, so this line is shown only.',
};

/** Returns a flag as a short label. */
export function flagLabel(flag: Line['flags'][number]): string {
  return flag === 'reported' ? 'shown only' : plain(flag);
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

/** Turns a map from values to explanations into choices. */
export function explained(meanings: Readonly<Record<string, string>>) {
  return Object.entries(meanings).map(([value, hint]) => ({ value, label: value, hint }));
}
