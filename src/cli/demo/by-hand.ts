/**
 * Amounts worked out by hand, in whole cents: what the demo checks the sidecar's against. It knows just the rules of
 * docs/payroll.md that the demo's runs use, and shares no code with them. Pure.
 */
import type { Deduction } from '../../contract/deduction.ts';
import type { PayFrequency } from '../../contract/employee.ts';

/** A place among the pay dates of a year: check `check` of `checks`, from 1. */
export type Place = { check: number; checks: number };

/** Premiums are for a month. */
const MONTHS = 12n;

/** Returns the share of one paycheck in cents: checks are equal, and the last one takes the year's remaining cents. */
export function shareOf(
  contribution: string,
  period: Deduction['period'],
  frequency: PayFrequency,
  { check, checks }: Place,
): bigint {
  const cents = centsOf(contribution);
  if (period === frequency) return cents;
  const year = cents * MONTHS;
  const each = year / BigInt(checks);
  return check === checks ? year - each * BigInt(checks - 1) : each;
}

/** Of an amount with two decimals. */
export function centsOf(amount: string): bigint {
  return BigInt(amount.replace('.', ''));
}

export function amountOf(cents: bigint): string {
  const digits = String(cents < 0n ? -cents : cents).padStart(3, '0');
  return `${cents < 0n ? '-' : ''}${digits.slice(0, -2)}.${digits.slice(-2)}`;
}
