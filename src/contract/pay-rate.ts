import Type, { type Static } from 'typebox';
import { compile } from './check.ts';
import { day, oneOf } from './fields.ts';

/** How often an employee is paid, and the period that a deduction's contributions are for. */
export const PAY_FREQUENCIES = ['weekly', 'biweekly', 'semimonthly', 'monthly'] as const;
export type PayFrequency = (typeof PAY_FREQUENCIES)[number];

/** Digits before the point: more than any pay, and few enough to add up exactly in any decimal type. */
const AMOUNT_DIGITS_MAX = 15;

/** What an employee earns from a day on. */
export const PayRate = Type.Object(
  {
    amount: Type.String({
      pattern: `^[0-9]{1,${AMOUNT_DIGITS_MAX}}(\\.[0-9]{1,2})?$`,
      rule: 'must be an amount of 0 or more with at most 2 decimals, as a string',
    }),
    period: oneOf(['annually', 'hourly']),
    effective_start: day,
  },
  { additionalProperties: false },
);
export type PayRate = Static<typeof PayRate>;

export const payRate = compile(PayRate);
