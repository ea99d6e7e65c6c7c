/** Checks that contributions of the run's own frequency take beyond a year's periods, or lack for a year. Pure. */
import { type Cents, printReadable } from '../../money.ts';
import { isEven } from '../calculation/calendar.ts';
import { isNothing } from '../calculation/items.ts';
import type { Line } from '../calculation/line.ts';
import { PERIODS_PER_YEAR } from '../calculation/pay-dates.ts';
import type { RunTerms } from './terms.ts';
import { countOfEmployees, memberTotal } from './totals.ts';

/** Adds up, by line of coverage, what a check beyond the year's periods, or the last one of a short year, takes. */
export function createBeyondYear(terms: RunTerms) {
  const coverages = new Map<string, { employees: number; member: Cents }>();
  let place: string | null | undefined;
  return {
    /** Adds the regular lines of an employee. */
    add(regular: readonly Line[]): void {
      if (place === undefined) place = placeOf(terms);
      if (place === null) return;
      const takenEachCheck = regular.filter(
        ({ election, amounts }) => election.period === terms.run.pay_frequency && !isNothing(amounts),
      );
      for (const [coverage, lines] of Map.groupBy(takenEachCheck, (line) => line.account.line_of_coverage)) {
        const { employees, member } = coverages.get(coverage) ?? { employees: 0, member: 0n };
        const amount = memberTotal(lines);
        coverages.set(coverage, { employees: employees + 1, member: member + amount });
      }
    },
    /** Returns an example per line of coverage. */
    examples(): string[] {
      return [...coverages]
        .sort(([one], [other]) => (one < other ? -1 : 1))
        .map(([coverage, { employees, member }]) => {
          return `${coverage}: ${countOfEmployees(employees)}, ${printReadable(member)} on ${place}`;
        });
    },
  };
}

/** Returns null if the check is an ordinary one of the year, or takes its share of a year that is divided. */
function placeOf(terms: RunTerms): string | null {
  const { run } = terms;
  const { k, N, share } = terms.plan().cycleOf(run.pay_frequency);
  if (k === null || share === null || !isEven(share)) return null;
  const periods = PERIODS_PER_YEAR[run.pay_frequency];
  if (k > periods) return `check ${k}, after the first ${periods}`;
  if (k !== N || N >= periods) return null;
  return `check ${k}, the last of a year with fewer than ${periods}`;
}
