/** The amount of a deduction for one paycheck, to the cent: docs/amounts.md. */
import type { PayFrequency } from '../../contract/employee.ts';
import { amountOf, type Cents, type Decimal, decimal, printReadable, rounded, times } from '../../money.ts';
import { PERIODS_PER_YEAR } from './pay-dates.ts';
import type { Plan } from './plan.ts';
import { type Share, shareOfYear, totalOf } from './shares.ts';

/**
 * The version of the rules: raise it with every change that can move a cent or change a flag. Finalized runs
 * record it.
 */
export const RULES_VERSION = '2';

/** The fields of a deduction that determine its amounts. */
export type Contribution = {
  /** Exact decimals as received: 150, 150.0, +150.00. */
  member_contribution: string;
  employer_contribution: string;
  period: PayFrequency;
};

/** The flags that follow from a contribution and the plan. */
export const AMOUNT_FLAGS = ['frequency_mismatch', 'negative'] as const;
type AmountFlag = (typeof AMOUNT_FLAGS)[number];

export type Amounts = {
  /** For this paycheck, with two decimals. */
  member_amount: string;
  employer_amount: string;
  flags: AmountFlag[];
  explanation: string;
};

/** One side of a contribution. */
type Side = { amount: string; explanation: string; isZero: boolean; isNegative: boolean };

/**
 * The most sides remembered for one run. The plans, tiers and ages of a large employer have fewer amounts. A
 * full memory is cleared, so that it stays small for a run of any size.
 */
const SIDES_REMEMBERED = 10_000;

/**
 * Returns a function that computes the amounts of one deduction from its contribution and the plan. Many
 * deductions have the same contribution, so its sides are remembered.
 */
export function calculator(plan: Plan): (contribution: Contribution) => Amounts {
  const remembered = new Map<string, Side>();
  const sideOf = (text: string, period: PayFrequency): Side => {
    const key = `${period} ${text}`;
    const known = remembered.get(key);
    if (known !== undefined) return known;
    if (remembered.size >= SIDES_REMEMBERED) remembered.clear();
    const side = compute(decimal(text), period, plan);
    remembered.set(key, side);
    return side;
  };
  return (contribution) => {
    const member = sideOf(contribution.member_contribution, contribution.period);
    const employer = sideOf(contribution.employer_contribution, contribution.period);
    return {
      member_amount: member.amount,
      employer_amount: employer.amount,
      flags: flagsOf(contribution.period, [member, employer], plan),
      explanation: explain(member, employer),
    };
  };
}

/**
 * Returns T, the sum of the cycle's checks in cents, for one side of a contribution. The cycle of a contribution for
 * the run's own frequency is the check.
 */
export function cycleTotal(contribution: string, period: PayFrequency, plan: Plan): Cents {
  const amount = decimal(contribution);
  if (period === plan.run.pay_frequency) return rounded(amount, 1, 1);
  return totalOf(times(amount, PERIODS_PER_YEAR[period]), plan);
}

function compute(contribution: Decimal, period: PayFrequency, plan: Plan): Side {
  const { amount, working } =
    period === plan.run.pay_frequency ? ownShare(contribution, plan) : yearShare(contribution, period, plan);
  return {
    amount: amountOf(amount),
    explanation: `${printReadable(contribution)} ${period}${working} ${printReadable(amount)}`,
    isZero: contribution.units === 0n,
    isNegative: amount < 0n,
  };
}

/** Returns the contribution itself, rounded. The scheme and the remainder do not apply. */
function ownShare(contribution: Decimal, { run, placeInYear }: Plan): Share {
  const most = PERIODS_PER_YEAR[run.pay_frequency];
  if (run.extra_paycheck === 'skip' && placeInYear !== null && placeInYear > most) {
    return { amount: 0n, working: `; check ${placeInYear}, after the first ${most}, is skipped;` };
  }
  return { amount: rounded(contribution, 1, 1), working: ` on each ${run.pay_frequency} check;` };
}

function yearShare(contribution: Decimal, period: PayFrequency, plan: Plan): Share {
  const periods = PERIODS_PER_YEAR[period];
  const year = times(contribution, periods);
  const { amount, working } = shareOfYear(year, plan);
  return { amount, working: ` × ${periods} = ${printReadable(year)} a year${working}` };
}

/** Joins the explanations of both sides, without a side that contributes nothing. */
function explain(member: Side, employer: Side): string {
  if (employer.isZero) return member.explanation;
  if (member.isZero) return `employer ${employer.explanation}`;
  return `${member.explanation}; plus employer ${employer.explanation}`;
}

function flagsOf(period: PayFrequency, sides: readonly Side[], { run }: Plan): AmountFlag[] {
  const flags: AmountFlag[] = [];
  // "24 of 26": first-checks of a biweekly payroll takes a semimonthly contribution on two checks of each month.
  const isNormal =
    period === 'monthly' ||
    period === run.pay_frequency ||
    (period === 'semimonthly' && run.pay_frequency === 'biweekly' && run.scheme === 'first-checks');
  if (!isNormal) flags.push('frequency_mismatch');
  if (sides.some(({ isNegative }) => isNegative)) flags.push('negative');
  return flags;
}
