/** The options that decide amounts. The first value of each list is its default. */

export const SCHEMES = ['annualized', 'month-even', 'first-checks'] as const;
export type Scheme = (typeof SCHEMES)[number];

export const APPLIES_ON = ['pay_date', 'period_end'] as const;
export type AppliesOn = (typeof APPLIES_ON)[number];

export const REMAINDERS = ['last', 'spread', 'none'] as const;
export type Remainder = (typeof REMAINDERS)[number];

export const EXTRA_PAYCHECKS = ['take', 'skip'] as const;
export type ExtraPaycheck = (typeof EXTRA_PAYCHECKS)[number];

export type AmountOptions = {
  scheme: Scheme;
  /** The field of the run that holds the day on which a deduction must be in effect. */
  applies_on: AppliesOn;
  remainder: Remainder;
  extra_paycheck: ExtraPaycheck;
};

/** Returns the options with defaults for those that are left out. */
export function withDefaults(
  given: { readonly [Name in keyof AmountOptions]?: AmountOptions[Name] | undefined },
): AmountOptions {
  return {
    scheme: given.scheme ?? 'annualized',
    applies_on: given.applies_on ?? 'pay_date',
    remainder: given.remainder ?? 'last',
    extra_paycheck: given.extra_paycheck ?? 'take',
  };
}
