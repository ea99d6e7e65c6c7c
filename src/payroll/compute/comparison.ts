/** Compares a run with the previous run of its employer, frequency and pay group. Pure. */
import { amountOf, type Cents } from '../../money.ts';
import type { Comparison } from '../records/totals.ts';
import type { EmployeeLines } from './taking.ts';
import { Adder, LineTotals, memberTotal, sorted } from './totals.ts';

/** Largest movers that a comparison names: few enough to read before finalizing. */
const MOVERS = 10;

type Mover = { employeeId: string; before: Cents; now: Cents };

/** Compares with the previous run, employee by employee. */
export function createComparison(previousRunId: string) {
  const employees = { previous: 0, current: 0, joined: 0, left: 0 };
  const previous = new LineTotals();
  let movers: Mover[] = [];
  return {
    add({ employee, lines }: EmployeeLines): void {
      const { employeeId, membership, inPrevious } = employee;
      if (inPrevious.isIn) employees.previous += 1;
      if (membership.isIn) employees.current += 1;
      if (membership.isIn && !inPrevious.isIn) employees.joined += 1;
      if (!membership.isIn && inPrevious.isIn) employees.left += 1;
      previous.add(inPrevious.lines);
      const mover = { employeeId, before: memberTotal(inPrevious.lines), now: memberTotal(lines) };
      if (mover.before === mover.now) return;
      movers.push(mover);
      if (movers.length > 2 * MOVERS) movers = largest(movers);
    },
    /** `current`: the totals of the run. */
    comparison(current: LineTotals): Comparison {
      const coverages = new Map([...previous.coverages, ...current.coverages]);
      return {
        previous_run_id: previousRunId,
        employees,
        totals: comparedOf(previous.overall, current.overall),
        by_line_of_coverage: sorted(coverages).map(([line_of_coverage]) => ({
          line_of_coverage,
          ...comparedOf(previous.coverages.get(line_of_coverage), current.coverages.get(line_of_coverage)),
        })),
        largest_movers: largest(movers).map(({ employeeId, before, now }) => ({
          employee_id: employeeId,
          previous_member_amount: amountOf(before),
          member_amount: amountOf(now),
          member_difference: amountOf(now - before),
        })),
      };
    },
  };
}

/** Returns the largest differences; equal ones stay in the order of employee ids, because sorting is stable. */
function largest(movers: readonly Mover[]): Mover[] {
  const size = ({ before, now }: Mover) => (now < before ? before - now : now - before);
  return movers.toSorted((mover, other) => Number(size(other) - size(mover))).slice(0, MOVERS);
}

function comparedOf(previous = new Adder(), current = new Adder()) {
  return {
    previous_member_amount: amountOf(previous.member),
    member_amount: amountOf(current.member),
    member_difference: amountOf(current.member - previous.member),
    previous_employer_amount: amountOf(previous.employer),
    employer_amount: amountOf(current.employer),
    employer_difference: amountOf(current.employer - previous.employer),
  };
}
