/** The amount of a deduction for one paycheck, to the cent, with its working: docs/payroll-settings.md. */
import type { PayFrequency } from '../../contract/employee.ts';
import { type Cents, type Decimal, decimal, printReadable, rounded, times } from '../../money.ts';
import { amountOn, type DateShare, isEven } from './calendar.ts';
import { PERIODS_PER_YEAR } from './pay-dates.ts';
import type { Cycle, Plan } from './plan.ts';

/** Raise it with every change that can move a cent or change a flag. Finalized runs record it. */
export const RULES_VERSION = '5';

/** The fields of a deduction that determine its amounts. Contributions are as received: 150, 150.0, +150.00. */
export type Contribution = {
  member_contribution: string;
  employer_contribution: string;
  period: PayFrequency;
};

/** The amounts of one paycheck. */
export type Amounts = {
  member_amount: Cents;
  employer_amount: Cents;
  flags: 'negative'[];
  explanation: string;
};

type Side = { amount: Cents; explanation: string; isZero: boolean; isNegative: boolean };

/** Maximum number of contributions remembered per period; a large employer has fewer. A full memory is cleared. */
const SIDES_REMEMBERED = 10_000;

type Calculator = (contribution: Contribution) => Amounts;

/** Returns a function that computes a deduction's amounts. Many have equal contributions, so sides are remembered. */
export function calculator(plan: Plan): Calculator {
  const remembered = new Map<PayFrequency, Map<string, Side>>();
  const sideOf = (text: string, period: PayFrequency): Side => {
    const sides = remembered.get(period) ?? new Map<string, Side>();
    const known = sides.get(text);
    if (known !== undefined) return known;
    if (sides.size >= SIDES_REMEMBERED) sides.clear();
    const side = compute(decimal(text), period, plan);
    sides.set(text, side);
    remembered.set(period, sides);
    return side;
  };
  return ({ member_contribution, employer_contribution, period }) => {
    const member = sideOf(member_contribution, period);
    const employer = sideOf(employer_contribution, period);
    return {
      member_amount: member.amount,
      employer_amount: employer.amount,
      flags: member.isNegative || employer.isNegative ? ['negative'] : [],
      explanation: explain(member, employer),
    };
  };
}

/** Joins the explanations of both sides, without a side that contributes nothing. */
function explain(member: Side, employer: Side): string {
  if (employer.isZero) return member.explanation;
  if (member.isZero) return `employer ${employer.explanation}`;
  return `${member.explanation}; plus employer ${employer.explanation}`;
}

function compute(contribution: Decimal, period: PayFrequency, plan: Plan): Side {
  const { share } = plan.cycleOf(period);
  const year = times(contribution, PERIODS_PER_YEAR[period]);
  const amount = share === null ? 0n : amountOn(share, year, plan.run.pay_frequency);
  return {
    amount,
    explanation: `${printReadable(contribution)} ${period}${workingOf(contribution, period, plan, amount)}`,
    isZero: contribution.units === 0n,
    isNegative: amount < 0n,
  };
}

/** Returns the part of the explanation after the contribution. */
function workingOf(contribution: Decimal, period: PayFrequency, plan: Plan, amount: Cents): string {
  const { run } = plan;
  const cycle = plan.cycleOf(period);
  const taken = printReadable(amount);
  if (cycle.share === null) return `; ${whyNothing(plan, period)}; 0.00`;
  if (period === run.pay_frequency && isEven(cycle.share)) {
    return ` on each ${period} check${printReadable(contribution) === taken ? '' : `, rounded ${taken}`}`;
  }
  const periods = PERIODS_PER_YEAR[period];
  const year = times(contribution, periods);
  const exact = printReadable(year);
  const start = ` × ${periods} = ${exact} a year`;
  const offCycle = run.kind === 'off_cycle' ? 'off-cycle, as ' : '';
  if (plan.calendar === null)
    return `${start}; ${offCycle}one of ${cycle.N} checks: ${exact} / ${cycle.N} = ${taken}`;
  const total = printReadable(rounded(year, 1, 1));
  const whole = total === exact ? start : `${start}, rounded ${total}`;
  if (cycle.k === null) return `${whole}; ${offCycle}one of ${cycle.N} checks; ${taken}`;
  const place = `check ${cycle.k} of ${cycle.N}`;
  if (cycle.share.terms === undefined) {
    const { share } = cycle.share;
    return `${whole}; ${place}${share === `1/${cycle.N}` ? '' : `, ${share} of the year`}; ${taken}`;
  }
  if (cycle.others.length === 0) return `${whole}; ${place}; ${taken}`;
  const rest = othersInWords(cycle, year, run.pay_frequency);
  return `${whole}; ${place} takes the rest: ${total}${rest} = ${taken}`;
}

function whyNothing({ run, calendar }: Plan, period: PayFrequency): string {
  const takes = calendar?.find(({ pay_date }) => pay_date === run.pay_date)?.takes;
  return takes === 'own_period' && period !== run.pay_frequency
    ? `this pay date takes only ${run.pay_frequency} deductions`
    : 'this pay date takes no deductions';
}

/** Returns ` − 23 × 69.23 − 3 × 51.92`, in the order of the dates. */
function othersInWords({ others }: Cycle, year: Decimal, frequency: PayFrequency): string {
  const counts = new Map<Cents, number>();
  for (const share of others) {
    const amount = amountOn(share, year, frequency);
    counts.set(amount, (counts.get(amount) ?? 0) + 1);
  }
  return [...counts]
    .map(([amount, count]) => ` − ${count === 1 ? '' : `${count} × `}${printReadable(amount)}`)
    .join('');
}

/** Returns an example for 150.00 a month, in words: the total of a year, and what dates with these shares take and leave. */
export function exampleOf(
  shares: readonly DateShare[],
  frequency: PayFrequency,
): { total: string; amount: string; rest: string } {
  const year = decimal(EXAMPLE);
  const total = rounded(year, 1, 1);
  const amount = shares.reduce((sum, share) => sum + amountOn(share, year, frequency), 0n);
  return { total: printReadable(total), amount: printReadable(amount), rest: printReadable(total - amount) };
}

const EXAMPLE = '1800.00';
