/**
 * Amounts worked out by hand, in whole cents: what the demo checks the sidecar's against. It knows just the rules of
 * docs/payroll.md that the demo's runs use, and shares no code with them. Pure.
 */
import type { Deduction } from '../../contract/deduction.ts';
import type { PayFrequency } from '../../contract/pay-rate.ts';

/** A place among the pay dates of a year: check `check` of `checks`, from 1. */
export type Place = { check: number; checks: number };

/** Premiums are for a month. */
const MONTHS = 12n;

/** What one paycheck takes of a contribution, in cents: all of it where it is for the pay period, else its share. */
export function shareOf(
  contribution: string,
  period: Deduction['period'],
  frequency: PayFrequency,
  { check, checks }: Place,
): bigint {
  const cents = centsOf(contribution);
  if (period === frequency) return cents;
  const year = cents * MONTHS;
  return upTo(year, check, checks) - upTo(year, check - 1, checks);
}

/** What the first `count` checks of a year take together, rounded half up to a cent. */
function upTo(year: bigint, count: number, checks: number): bigint {
  return (2n * year * BigInt(count) + BigInt(checks)) / (2n * BigInt(checks));
}

/** Of an amount with two decimals. */
export function centsOf(amount: string): bigint {
  return BigInt(amount.replace('.', ''));
}

export function amountOf(cents: bigint): string {
  const digits = String(cents < 0n ? -cents : cents).padStart(3, '0');
  return `${cents < 0n ? '-' : ''}${digits.slice(0, -2)}.${digits.slice(-2)}`;
}
