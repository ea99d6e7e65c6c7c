/** What a deduction takes from one paycheck, to the cent: "Amounts" of payroll.md. */
import type { PayFrequency } from '../../contract/pay-rate.ts';
import { type Decimal, decimal, print, rounded, times, ZERO } from './money.ts';
import { PERIODS_PER_YEAR } from './pay-dates.ts';
import type { Plan } from './plan.ts';
import { type Share, shareOfYear } from './shares.ts';

/** Rises with every change that can move a cent or change a flag; a finalized run says by which it was computed. */
export const RULES_VERSION = '1';

/** A deduction's state as far as its amounts are concerned. */
export type Contribution = {
  /** Exact decimals as received: 150, 150.0, +150.00. */
  member_contribution: string;
  employer_contribution: string;
  period: PayFrequency;
  /** Days on which the state begins and ends, both inclusive; null: open. */
  starts_on: string | null;
  ends_on: string | null;
};

/** What the arithmetic alone can tell that a person should look at. */
export const AMOUNT_FLAGS = ['frequency_mismatch', 'negative', 'partial_cycle'] as const;
export type AmountFlag = (typeof AMOUNT_FLAGS)[number];

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
 * Different sides remembered for one run: the plans, tiers and ages of a large employer have fewer amounts. Beyond
 * that the memory begins anew, so that a run of any size needs little.
 */
const SIDES_REMEMBERED = 10_000;

/**
 * The amounts of a run's lines, one deduction at a time; the answer depends on nothing but the deduction and the plan.
 * Many deductions have the same contribution: each is computed once.
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
      flags: flagsOf(contribution, [member, employer], plan),
      explanation: explain(member, employer),
    };
  };
}

function compute(contribution: Decimal, period: PayFrequency, plan: Plan): Side {
  const { amount, working } =
    period === plan.run.pay_frequency ? ownShare(contribution, plan) : yearShare(contribution, period, plan);
  return {
    amount: print(amount),
    explanation: `${print(contribution)} ${period}${working} = ${print(amount)}`,
    isZero: contribution.units === 0n,
    isNegative: contribution.units < 0n,
  };
}

/** The contribution's period is the run's frequency: it is taken as it is, scheme and remainder don't matter. */
function ownShare(contribution: Decimal, { run, placeInYear }: Plan): Share {
  const most = PERIODS_PER_YEAR[run.pay_frequency];
  if (run.extra_paycheck === 'skip' && placeInYear !== null && placeInYear > most) {
    return { amount: ZERO, working: `, check ${placeInYear} after the first ${most}, skip` };
  }
  const label = run.rounding === 'half-up' ? '' : `, ${run.rounding}`;
  return {
    amount: rounded(contribution, 1, 1, run.rounding),
    working: ` on each ${run.pay_frequency} check${label}`,
  };
}

function yearShare(contribution: Decimal, period: PayFrequency, plan: Plan): Share {
  const periods = PERIODS_PER_YEAR[period];
  const year = times(contribution, periods);
  const { amount, working } = shareOfYear(year, plan);
  return { amount, working: ` x ${periods} = ${print(year)} a year, ${working}` };
}

/** The member's side, and the employer's behind it where it pays something. */
function explain(member: Side, employer: Side): string {
  if (employer.isZero) return member.explanation;
  if (member.isZero) return `employer ${employer.explanation}`;
  return `${member.explanation}; employer ${employer.explanation}`;
}

function flagsOf(
  { period, starts_on, ends_on }: Contribution,
  sides: readonly Side[],
  plan: Plan,
): AmountFlag[] {
  const flags: AmountFlag[] = [];
  const isOwn = period === plan.run.pay_frequency;
  if (!isOwn && period !== 'monthly') flags.push('frequency_mismatch');
  if (sides.some(({ isNegative }) => isNegative)) flags.push('negative');
  // A contribution for the run's own period belongs to no cycle.
  const { first, last } = plan.cycle;
  const isCovered = (starts_on === null || starts_on <= first) && (ends_on === null || ends_on >= last);
  if (!isOwn && !isCovered) flags.push('partial_cycle');
  return flags;
}
