/**
 * Computes amounts in whole numbers only: fractions of BigInt, days from `Date`. It shares nothing with
 * the tested code except the names of options.
 */
import type { PayFrequency } from '../../../src/contract/employee.ts';
import type { PlannedRun } from '../../../src/payroll/calculation/plan.ts';

/** numerator / denominator, the denominator positive. */
type Fraction = readonly [numerator: bigint, denominator: bigint];

const PERIODS: Record<PayFrequency, bigint> = { monthly: 12n, semimonthly: 24n, biweekly: 26n, weekly: 52n };
const FIRST: Record<PayFrequency, number> = { monthly: 1, semimonthly: 2, biweekly: 2, weekly: 4 };

export function fraction(text: string): Fraction {
  const [, sign, whole = '', decimals = ''] = /^([+-]?)(\d+)(?:\.(\d+))?$/.exec(text) as RegExpExecArray;
  const magnitude = BigInt(whole + decimals);
  return [sign === '-' ? -magnitude : magnitude, 10n ** BigInt(decimals.length)];
}

/** Rounds a fraction of dollars to cents, half away from zero. */
export function roundToCents([numerator, denominator]: Fraction): bigint {
  const hundredfold = numerator * 100n;
  const magnitude = hundredfold < 0n ? -hundredfold : hundredfold;
  const cents = (magnitude * 2n + denominator) / (denominator * 2n);
  return hundredfold < 0n ? -cents : cents;
}

export function dollars(cents: bigint): string {
  const digits = String(cents < 0n ? -cents : cents).padStart(3, '0');
  return `${cents < 0n ? '-' : ''}${digits.slice(0, -2)}.${digits.slice(-2)}`;
}

/** T of a contribution in the cycle of the run's check, in cents. */
export function expectedTotal(text: string, period: PayFrequency, run: PlannedRun): bigint {
  const [numerator, denominator] = fraction(text);
  const year = numerator * PERIODS[period];
  if (run.scheme === 'annualized') return roundToCents([year, denominator]);
  const month = BigInt(run.pay_date.slice(5, 7));
  const through = (months: bigint) => roundToCents([year * months, denominator * 12n]);
  return through(month) - through(month - 1n);
}

/** Returns the dates that share the cycle of the run's check. */
export function cycleDates(run: PlannedRun, dates: readonly string[]): string[] {
  if (run.scheme === 'annualized') return [...dates];
  const inMonth = dates.filter((date) => date.slice(0, 7) === run.pay_date.slice(0, 7));
  return run.scheme === 'month-even' ? inMonth : inMonth.slice(0, FIRST[run.pay_frequency]);
}

/** Returns the employee or employer amount of the run's check, in cents. `dates`: all regular pay dates of the year. */
export function expectedCents(text: string, period: PayFrequency, run: PlannedRun, dates: readonly string[]) {
  const [numerator, denominator] = fraction(text);
  if (period === run.pay_frequency) {
    const isExtra = dates.indexOf(run.pay_date) >= Number(PERIODS[period]);
    return isExtra && run.extra_paycheck === 'skip' ? 0n : roundToCents([numerator, denominator]);
  }
  const cycle = cycleDates(run, dates);
  const k = BigInt(cycle.indexOf(run.pay_date) + 1);
  const N = BigInt(cycle.length);
  if (k === 0n) return 0n;
  const total = expectedTotal(text, period, run);
  const base = total / N;
  switch (run.remainder) {
    case 'none': {
      const parts = run.scheme === 'annualized' ? N : N * 12n;
      return roundToCents([numerator * PERIODS[period], denominator * parts]);
    }
    case 'spread': {
      const through = (checks: bigint) => roundToCents([total * checks, 100n * N]);
      return through(k) - through(k - 1n);
    }
    case 'last':
      return k === N ? total - (N - 1n) * base : base;
  }
}
