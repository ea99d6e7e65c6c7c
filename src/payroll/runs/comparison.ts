/** Compares a run with the previous run of its employer, frequency and pay group. Pure. */
import Type, { type Static } from 'typebox';
import { closed, component, integer, text } from '../../contract/fields.ts';
import { amountOf, centsOf } from '../../money.ts';
import { amountField, isIncluded, type Line } from '../calculation/line.ts';
import type { Previous } from './lines.ts';

const COMPARED = {
  previous_member_amount: amountField('The employees’ amount in the previous run.'),
  member_amount: amountField('Their amount in this run.'),
  member_difference: amountField('This run less the previous one.'),
  previous_employer_amount: amountField('The employer amount in the previous run.'),
  employer_amount: amountField('The employer amount in this run.'),
  employer_difference: amountField('This run less the previous one.'),
};

const Compared = closed(COMPARED);
type Compared = Static<typeof Compared>;

export const Comparison = component(
  'RunComparison',
  {
    previous_run_id: text('The last finalized regular run before this one.'),
    employees: closed(
      {
        previous: integer('Employees in the previous run.'),
        current: integer('Employees in this run.'),
        joined: integer('In this run, and not in the previous one.'),
        left: integer('In the previous run, and not in this one.'),
      },
      'Numbers of employees.',
    ),
    totals: closed(COMPARED, 'All lines that are deducted.'),
    by_line_of_coverage: Type.Array(
      closed({ line_of_coverage: text('The line of coverage.'), ...COMPARED }),
      { description: 'The totals by line of coverage.' },
    ),
    largest_movers: Type.Array(
      closed({
        employee_id: text('The employee.'),
        previous_member_amount: COMPARED.previous_member_amount,
        member_amount: COMPARED.member_amount,
        member_difference: COMPARED.member_difference,
      }),
      { description: 'The ten employees whose amounts changed most, the largest change first.' },
    ),
  },
  'A comparison with the previous run of the same employer, pay frequency and pay group. Null if there is none.',
);
export type Comparison = Static<typeof Comparison>;

/** Few enough to read before finalizing. */
const MOVERS = 10;

type Sums = { before: bigint; now: bigint; employerBefore: bigint; employerNow: bigint };
type Mover = { employeeId: string; before: bigint; now: bigint };

/** Adds up both runs, employee by employee. Lines that are only reported do not count. */
export function createComparison(previousRunId: string): {
  add(employeeId: string, isIn: boolean, lines: readonly Line[], previous: Previous): void;
  comparison(): Comparison;
} {
  const counts = { previous: 0, current: 0, joined: 0, left: 0 };
  const coverages = new Map<string, Sums>();
  let movers: Mover[] = [];
  const sumsOf = (coverage: string): Sums => {
    const known = coverages.get(coverage) ?? { before: 0n, now: 0n, employerBefore: 0n, employerNow: 0n };
    coverages.set(coverage, known);
    return known;
  };
  return {
    add(employeeId, isIn, lines, previous) {
      if (previous.isIn) counts.previous += 1;
      if (isIn) counts.current += 1;
      if (isIn && !previous.isIn) counts.joined += 1;
      if (!isIn && previous.isIn) counts.left += 1;
      const own: Mover = { employeeId, before: 0n, now: 0n };
      for (const line of lines.filter(isIncluded)) {
        const sums = sumsOf(line.line_of_coverage);
        sums.now += centsOf(line.member_amount);
        sums.employerNow += centsOf(line.employer_amount);
        own.now += centsOf(line.member_amount);
      }
      for (const line of previous.lines.filter(isIncluded)) {
        const sums = sumsOf(line.line_of_coverage);
        sums.before += centsOf(line.member_amount);
        sums.employerBefore += centsOf(line.employer_amount);
        own.before += centsOf(line.member_amount);
      }
      if (own.now === own.before) return;
      movers.push(own);
      if (movers.length > 2 * MOVERS) movers = largest(movers);
    },
    comparison: () => {
      const all = { before: 0n, now: 0n, employerBefore: 0n, employerNow: 0n };
      for (const sums of coverages.values())
        for (const side of ['before', 'now', 'employerBefore', 'employerNow'] as const)
          all[side] += sums[side];
      return {
        previous_run_id: previousRunId,
        employees: counts,
        totals: comparedOf(all),
        by_line_of_coverage: [...coverages]
          .sort(([one], [other]) => (one < other ? -1 : 1))
          .map(([line_of_coverage, sums]) => ({ line_of_coverage, ...comparedOf(sums) })),
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

/**
 * Returns the largest differences; equal ones stay in the order of employee ids, because sorting is stable.
 */
function largest(movers: readonly Mover[]): Mover[] {
  const size = ({ before, now }: Mover) => (now > before ? now - before : before - now);
  return movers
    .toSorted((one, other) => (size(one) === size(other) ? 0 : size(one) > size(other) ? -1 : 1))
    .slice(0, MOVERS);
}

function comparedOf({ before, now, employerBefore, employerNow }: Sums): Compared {
  return {
    previous_member_amount: amountOf(before),
    member_amount: amountOf(now),
    member_difference: amountOf(now - before),
    previous_employer_amount: amountOf(employerBefore),
    employer_amount: amountOf(employerNow),
    employer_difference: amountOf(employerNow - employerBefore),
  };
}
