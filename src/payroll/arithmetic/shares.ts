/** What one check takes of a year's amount: schemes and remainders of payroll.md, with the working in its terms. */
import { type Decimal, minus, print, rounded, times, ZERO } from './money.ts';
import type { Remainder, Rounding } from './options.ts';
import type { Plan } from './plan.ts';

/** `working` is what stands before the `=` when a person writes the amount down. */
export type Share = { amount: Decimal; working: string };

const MONTHS_PER_YEAR = 12;

const MONTH_NAMES = [
  'January',
  'February',
  'March',
  'April',
  'May',
  'June',
  'July',
  'August',
  'September',
  'October',
  'November',
  'December',
];

/** The share of the plan's check in a year's exact amount (A). */
export function shareOfYear(year: Decimal, plan: Plan): Share {
  const { amount, working } = shareOfCycle(year, plan);
  if (plan.run.scheme === 'annualized') return { amount, working };
  return { amount, working: `in ${MONTH_NAMES[plan.month - 1]} ${working}` };
}

function shareOfCycle(year: Decimal, plan: Plan): Share {
  const { N, k, run } = plan;
  if (k !== null && k > N) return { amount: ZERO, working: `check ${k} after the first ${N}` };
  if (k === null || run.remainder === 'none') {
    return worked(plan, 'none', evenShare(year, plan));
  }
  const total = totalOf(year, plan);
  const share = SHARES[run.remainder](total.amount, k, N, run.rounding);
  const { amount, working } = worked(plan, run.remainder, share);
  return { amount, working: total.working + working };
}

/** The rounding is named where it is not the usual one. */
function worked(plan: Plan, remainder: Remainder, { amount, working }: Share): Share {
  const { rounding } = plan.run;
  const label = rounding === 'half-up' ? remainder : `${remainder}, ${rounding}`;
  return { amount, working: `${placeOf(plan)}, ${label}: ${working}` };
}

/** E/N, rounded by itself. */
function evenShare(year: Decimal, { run, N }: Plan): Share {
  if (run.scheme === 'annualized') {
    return { amount: rounded(year, 1, N, run.rounding), working: `${print(year)} / ${N}` };
  }
  const amount = rounded(year, 1, MONTHS_PER_YEAR * N, run.rounding);
  return { amount, working: `${print(year)} / ${MONTHS_PER_YEAR} / ${N}` };
}

/** T: what the checks of the cycle sum to, to the cent. Months take what the year to their end has over its start. */
function totalOf(year: Decimal, { run, month }: Plan): Share {
  if (run.scheme === 'annualized') {
    const amount = rounded(year, 1, 1, run.rounding);
    const isExact = print(amount) === print(year);
    return { amount, working: isExact ? '' : `rounded ${print(amount)}, ` };
  }
  const through = rounded(year, month, MONTHS_PER_YEAR, run.rounding);
  const before = rounded(year, month - 1, MONTHS_PER_YEAR, run.rounding);
  const amount = minus(through, before);
  return { amount, working: `${print(through)} - ${print(before)} = ${print(amount)}, ` };
}

type ShareOf = (total: Decimal, k: number, N: number, rounding: Rounding) => Share;

const SHARES: Readonly<Record<Exclude<Remainder, 'none'>, ShareOf>> = {
  spread: (total, k, N, rounding) => {
    const through = rounded(total, k, N, rounding);
    const before = rounded(total, k - 1, N, rounding);
    return { amount: minus(through, before), working: `${print(through)} - ${print(before)}` };
  },
  first: (total, k, N) => withTheRest(total, N, k === 1),
  last: (total, k, N) => withTheRest(total, N, k === N),
};

/** All checks are cut to the cent toward zero, and one takes what the others leave. */
function withTheRest(total: Decimal, N: number, takesTheRest: boolean): Share {
  const base = rounded(total, 1, N, 'down');
  if (!takesTheRest) return { amount: base, working: `${print(total)} / ${N} cut` };
  const others = times(base, N - 1);
  return { amount: minus(total, others), working: `${print(total)} - ${N - 1} x ${print(base)}` };
}

function placeOf({ run, k, N }: Plan): string {
  if (run.kind === 'off_cycle') return `off-cycle beside ${N}`;
  if (k === null) return `one of ${N} checks`;
  return run.scheme === 'first-checks' ? `check ${k} of the first ${N}` : `check ${k} of ${N}`;
}
