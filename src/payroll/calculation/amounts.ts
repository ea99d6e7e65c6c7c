/** The amount of a deduction for one paycheck, to the cent, with its working: docs/amounts.md. */
import type { PayFrequency } from '../../contract/employee.ts';
import { type Cents, type Decimal, decimal, printReadable, rounded, times } from '../../money.ts';
import { MONTH_NAMES, PERIODS_PER_YEAR } from './pay-dates.ts';
import type { Plan } from './plan.ts';

/** Raise it with every change that can move a cent or change a flag. Finalized runs record it. */
export const RULES_VERSION = '4';

/** The fields of a deduction that determine its amounts. Contributions are as received: 150, 150.0, +150.00. */
export type Contribution = {
  member_contribution: string;
  employer_contribution: string;
  period: PayFrequency;
};

/** The flags that follow from a contribution and the plan. */
export const AMOUNT_FLAGS = ['frequency_mismatch', 'negative'] as const;

/** The amounts of one paycheck. */
export type Amounts = {
  member_amount: Cents;
  employer_amount: Cents;
  flags: (typeof AMOUNT_FLAGS)[number][];
  explanation: string;
};

type Side = { amount: Cents; explanation: string; isZero: boolean; isNegative: boolean };

/** `working` is the part of the explanation after the contribution. */
type Share = { amount: Cents; working: string };

const MONTHS_PER_YEAR = 12;

/** Maximum number of contributions remembered; a large employer has fewer. A full memory is cleared. */
const SIDES_REMEMBERED = 10_000;

/** `isAnnual`: the contributions are an election for the year, so they stop when it is complete. */
type Calculator = (contribution: Contribution, isAnnual?: boolean) => Amounts;

/** Returns a function that computes a deduction's amounts. Many have equal contributions, so sides are remembered. */
export function calculator(plan: Plan): Calculator {
  const remembered = new Map<string, Side>();
  const sideOf = (text: string, period: PayFrequency, isAnnual: boolean): Side => {
    const key = isAnnual ? `annual ${period} ${text}` : `${period} ${text}`;
    const known = remembered.get(key);
    if (known !== undefined) return known;
    if (remembered.size >= SIDES_REMEMBERED) remembered.clear();
    const side = compute(decimal(text), period, plan, isAnnual);
    remembered.set(key, side);
    return side;
  };
  return ({ member_contribution, employer_contribution, period }, isAnnual = false) => {
    const member = sideOf(member_contribution, period, isAnnual);
    const employer = sideOf(employer_contribution, period, isAnnual);
    const flags: Amounts['flags'] = isNormal(period, plan) ? [] : ['frequency_mismatch'];
    if (member.isNegative || employer.isNegative) flags.push('negative');
    return {
      member_amount: member.amount,
      employer_amount: employer.amount,
      flags,
      explanation: explain(member, employer),
    };
  };
}

/** "24 of 26": first-checks of a biweekly payroll takes a semimonthly contribution on two checks of each month. */
function isNormal(period: PayFrequency, { run }: Plan): boolean {
  if (period === 'monthly' || period === run.pay_frequency) return true;
  return period === 'semimonthly' && run.pay_frequency === 'biweekly' && run.scheme === 'first-checks';
}

/** Returns the sum of the cycle's checks (T). The cycle of a contribution for the run's own frequency is the check. */
export function cycleTotal(contribution: string, period: PayFrequency, plan: Plan): Cents {
  const amount = decimal(contribution);
  if (period === plan.run.pay_frequency) return rounded(amount, 1, 1);
  return totalOf(times(amount, PERIODS_PER_YEAR[period]), plan);
}

function compute(contribution: Decimal, period: PayFrequency, plan: Plan, isAnnual: boolean): Side {
  const { amount, working } =
    period === plan.run.pay_frequency
      ? ownShare(contribution, plan, isAnnual)
      : yearShare(contribution, period, plan);
  return {
    amount,
    explanation: `${printReadable(contribution)} ${period}${working}`,
    isZero: contribution.units === 0n,
    isNegative: amount < 0n,
  };
}

/** Reports whether a contribution for this period takes nothing from the plan's check, but from other checks of the year. */
export function skipsCheck(plan: Plan, period: PayFrequency, isAnnual: boolean): boolean {
  const { run } = plan;
  if (period !== run.pay_frequency) return isAfterFirstChecks(plan);
  return (isAnnual || run.extra_paycheck === 'skip') && isBeyondYear(plan);
}

/** Reports whether the plan's check follows as many pay dates as the year has periods: the 27th biweekly one. */
export function isBeyondYear({ run, placeInYear }: Plan): boolean {
  return placeInYear !== null && placeInYear > PERIODS_PER_YEAR[run.pay_frequency];
}

function isAfterFirstChecks({ k, N }: Plan): boolean {
  return k !== null && k > N;
}

/** Joins the explanations of both sides, without a side that contributes nothing. */
function explain(member: Side, employer: Side): string {
  if (employer.isZero) return member.explanation;
  if (member.isZero) return `employer ${employer.explanation}`;
  return `${member.explanation}; plus employer ${employer.explanation}`;
}

/** Returns the contribution itself, rounded. The scheme and the remainder do not apply. */
function ownShare(contribution: Decimal, plan: Plan, isAnnual: boolean): Share {
  const { run, placeInYear } = plan;
  if (skipsCheck(plan, run.pay_frequency, isAnnual)) {
    const most = PERIODS_PER_YEAR[run.pay_frequency];
    return { amount: 0n, working: `; check ${placeInYear}, after the first ${most}, is skipped; 0.00` };
  }
  const amount = rounded(contribution, 1, 1);
  const [exact, taken] = [printReadable(contribution), printReadable(amount)];
  const working = ` on each ${run.pay_frequency} check${exact === taken ? '' : `, rounded ${taken}`}`;
  return { amount, working };
}

function yearShare(contribution: Decimal, period: PayFrequency, plan: Plan): Share {
  const periods = PERIODS_PER_YEAR[period];
  const year = times(contribution, periods);
  const { amount, working } = shareOfYear(year, plan);
  const start = ` × ${periods} = ${printReadable(year)} a year`;
  return { amount, working: `${start}${working} ${printReadable(amount)}` };
}

/** Returns the share of the plan's check in a year's exact amount (A). Its working lacks the amount at the end. */
function shareOfYear(year: Decimal, plan: Plan): Share {
  const { N, k, month } = plan;
  if (isAfterFirstChecks(plan)) {
    return { amount: 0n, working: `; check ${k}, after the first ${N} of ${MONTH_NAMES[month - 1]};` };
  }
  if (k === null || plan.remainder === 'none') return evenShare(year, plan);
  const total = totalOf(year, plan);
  const place = `${workingOfTotal(year, total, plan)}; ${placeOf(plan)}`;
  if (plan.remainder === 'spread') {
    const [through, before] = [rounded(total, k, N), rounded(total, k - 1, N)];
    const working = `${place}, spread: ${printReadable(through)} − ${printReadable(before)} =`;
    return { amount: through - before, working };
  }
  // Division of bigints cuts toward zero, as the rule requires.
  const base = total / BigInt(N);
  if (k < N) return { amount: base, working: `${place};` };
  if (N === 1) return { amount: total, working: `${place};` };
  const working = `${place} takes the rest: ${printReadable(total)} − ${N - 1} × ${printReadable(base)} =`;
  return { amount: total - base * BigInt(N - 1), working };
}

/** Returns T, the sum of the cycle's checks. A month's is the year's share through the month less that before it. */
function totalOf(year: Decimal, { run, month }: Plan): Cents {
  if (run.scheme === 'annualized') return rounded(year, 1, 1);
  return rounded(year, month, MONTHS_PER_YEAR) - rounded(year, month - 1, MONTHS_PER_YEAR);
}

function workingOfTotal(year: Decimal, total: Cents, { run, month }: Plan): string {
  if (run.scheme === 'annualized') {
    return printReadable(total) === printReadable(year) ? '' : `, rounded ${printReadable(total)}`;
  }
  const [through, before] = [month, month - 1].map((months) =>
    printReadable(rounded(year, months, MONTHS_PER_YEAR)),
  );
  return `; ${MONTH_NAMES[month - 1]} ${through} − ${before} = ${printReadable(total)}`;
}

function evenShare(year: Decimal, plan: Plan): Share {
  const { run, N } = plan;
  const isYear = run.scheme === 'annualized';
  const divisors = isYear ? `${N}` : `${MONTHS_PER_YEAR} / ${N}`;
  return {
    amount: rounded(year, 1, isYear ? N : MONTHS_PER_YEAR * N),
    working: `; ${placeOf(plan)}: ${printReadable(year)} / ${divisors} =`,
  };
}

function placeOf({ run, k, N, month }: Plan): string {
  const within = run.scheme === 'annualized' ? '' : ` in ${MONTH_NAMES[month - 1]}`;
  const shared = run.scheme === 'first-checks' ? `the first ${N}` : `${N}`;
  if (k !== null) return `check ${k} of ${shared}${within}`;
  return `${run.kind === 'off_cycle' ? 'off-cycle, as ' : ''}one of ${shared} checks${within}`;
}
