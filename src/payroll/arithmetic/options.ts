/** What a run may say about its amounts: names and defaults of "Payroll run" in the design. */

export const SCHEMES = ['annualized', 'month-even', 'first-checks'] as const;
export type Scheme = (typeof SCHEMES)[number];

export const APPLIES_ON = ['period_end', 'pay_date', 'period_start'] as const;
export type AppliesOn = (typeof APPLIES_ON)[number];

export const ROUNDINGS = ['half-up', 'half-even', 'down', 'up'] as const;
export type Rounding = (typeof ROUNDINGS)[number];

export const REMAINDERS = ['spread', 'first', 'last', 'none'] as const;
export type Remainder = (typeof REMAINDERS)[number];

export const EXTRA_PAYCHECKS = ['take', 'skip'] as const;
export type ExtraPaycheck = (typeof EXTRA_PAYCHECKS)[number];

export type AmountOptions = {
  scheme: Scheme;
  /** Names the field of the run that holds the day on which a deduction must be effective. */
  applies_on: AppliesOn;
  rounding: Rounding;
  remainder: Remainder;
  extra_paycheck: ExtraPaycheck;
};

/** The options with those filled in that are left out. */
export function withDefaults(
  given: { readonly [Name in keyof AmountOptions]?: AmountOptions[Name] | undefined },
): AmountOptions {
  const scheme = given.scheme ?? 'annualized';
  return {
    scheme,
    // Shares of a year follow the work that a check pays; shares of a month follow the check's own month.
    applies_on: given.applies_on ?? (scheme === 'annualized' ? 'period_end' : 'pay_date'),
    rounding: given.rounding ?? 'half-up',
    remainder: given.remainder ?? 'spread',
    extra_paycheck: given.extra_paycheck ?? 'take',
  };
}
