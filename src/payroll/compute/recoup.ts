/** The most that a run takes of an employee's items for a line of coverage: the policy `recoup`. Pure. */
import { type Cents, decimal, parseAmount, printReadable, rounded } from '../../money.ts';
import { isAdjustment } from '../calculation/items.ts';
import type { Line } from '../calculation/line.ts';
import type { Computation, RunEmployee } from './computation.ts';
import type { Unit } from './takeable.ts';

/** Returns the limit for a line of coverage, in cents and in words; null: no limit. */
type Limit = (lineOfCoverage: string) => { cents: Cents; words: string } | null;

/**
 * Returns the limits of an employee. `regularTotal`: the employee's regular amount of a line of coverage in the last run
 * where it is above zero, or null.
 */
export function limitsOf(
  computation: Computation,
  employee: RunEmployee,
  regularTotal: (lineOfCoverage: string) => Cents | null,
): Limit {
  if (isLastCheck(computation, employee)) return () => null;
  const { recoup } = computation.run;
  switch (recoup.method) {
    case 'all':
      return () => null;
    case 'amount': {
      const cents = parseAmount(recoup.value) as Cents;
      return () => ({ cents, words: `${printReadable(cents)} a paycheck` });
    }
    case 'multiple':
      return (lineOfCoverage) => {
        const total = regularTotal(lineOfCoverage);
        if (total === null) return null;
        const { units, decimals } = decimal(recoup.value);
        const cents = rounded(total, Number(units), 10 ** decimals);
        return { cents, words: `${recoup.value} × ${printReadable(total)} a paycheck` };
      };
  }
}

/** Reports whether an employee gets the last check in a run, from which everything is taken. */
function isLastCheck(computation: Computation, { employeeId, termination }: RunEmployee): boolean {
  if (computation.finalChecks.has(employeeId)) return true;
  const { period_start, period_end } = computation.run;
  return termination !== null && period_start <= termination && termination <= period_end;
}

/** Adds up an employee's regular amounts by line of coverage, as far as they show what one paycheck usually takes. */
export function usualTotals(lines: readonly Line[]): Map<string, Cents> {
  const totals = new Map<string, Cents>();
  for (const { kind, shares, flags, account, amounts } of lines) {
    const isUnusual =
      (shares?.length ?? 0) > 1 || flags.some((flag) => flag === 'overridden' || flag === 'share_taken');
    if (kind !== 'regular' || isUnusual) continue;
    const { line_of_coverage } = account;
    totals.set(line_of_coverage, (totals.get(line_of_coverage) ?? 0n) + amounts.member);
  }
  return totals;
}

/** The units of a line of coverage that a limit concerns, with what it leaves of each. */
type Capped = { unit: Unit; wanted: Cents; taken: Cents };

/** Returns `arrears 390.00 from 3 paychecks; at most 1 × 130.00 a paycheck: 130.00; 260.00 left`, or null if nothing is left. */
export function cappedInWords(capped: readonly Capped[], words: string): string | null {
  const sum = (cents: readonly Cents[]) => cents.reduce((total, amount) => total + amount, 0n);
  const wanted = sum(capped.map((cap) => cap.wanted));
  const taken = sum(capped.map((cap) => cap.taken));
  if (wanted === taken) return null;
  const items = capped.flatMap(({ unit }) => unit.items);
  const kinds = new Set(items.map(({ identity }) => (isAdjustment(identity) ? 'adjustments' : 'arrears')));
  const count = new Set(items.map(({ identity }) => identity.source)).size;
  const from = count === 1 ? '1 paycheck' : `${count} paychecks`;
  return `${[...kinds].join(' and ')} ${printReadable(wanted)} from ${from}; at most ${words}: ${printReadable(taken)}; ${printReadable(wanted - taken)} left`;
}
