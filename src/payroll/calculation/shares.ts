/** The share of a year's amount that one check takes: the schemes and remainders of docs/amounts.md, with the working. */
import { type Cents, type Decimal, printReadable, rounded } from '../../money.ts';
import { MONTH_NAMES } from './pay-dates.ts';
import type { Plan } from './plan.ts';

/** `working` is the part of the explanation between the year's amount and the amount of the check. */
export type Share = { amount: Cents; working: string };

const MONTHS_PER_YEAR = 12;

/** Returns the share of the plan's check in a year's exact amount (A). */
export function shareOfYear(year: Decimal, plan: Plan): Share {
  const { N, k, month } = plan;
  if (k !== null && k > N) {
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
  // Division of bigints cuts toward zero, as the rule says.
  const base = total / BigInt(N);
  if (k < N) return { amount: base, working: `${place};` };
  if (N === 1) return { amount: total, working: `${place};` };
  const working = `${place} takes the rest: ${printReadable(total)} − ${N - 1} × ${printReadable(base)} =`;
  return { amount: total - base * BigInt(N - 1), working };
}

/** Returns T, the sum of the cycle's checks. A month's is the year's share through the month less that before it. */
export function totalOf(year: Decimal, { run, month }: Plan): Cents {
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

/** Returns E/N, rounded on its own. */
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
