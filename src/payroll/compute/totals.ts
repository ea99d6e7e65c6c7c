/** The totals of a run, and their comparison with the previous run of its employer, frequency and pay group. Pure. */
import Type, { type Static } from 'typebox';
import { closed, component, integer, text } from '../../contract/fields.ts';
import { amountOf, centsOf, difference, total } from '../../money.ts';
import { amountField, isIncluded, type Line, NOTHING } from '../calculation/line.ts';
import type { Previous } from './regular-lines.ts';

const SUM = {
  employees: integer('The number of employees with such a line.'),
  lines: integer('The number of lines.'),
  member_amount: amountField('What the employees pay.'),
  employer_amount: amountField('What the employer pays.'),
};

const Sum = closed(SUM);
export type Sum = Static<typeof Sum>;

export const Totals = component(
  'Totals',
  {
    ...SUM,
    by_line_of_coverage: Type.Array(closed({ line_of_coverage: text('The line of coverage.'), ...SUM }), {
      description: 'The totals by line of coverage.',
    }),
    by_taxability: Type.Array(closed({ taxability: text('The taxability.'), ...SUM }), {
      description: 'The totals by taxability.',
    }),
    reported: closed(SUM, 'Lines with the flag `reported`, which are not included in the sums above.'),
  },
  'The totals of a run.',
);
export type Totals = Static<typeof Totals>;

const COMPARED = {
  previous_member_amount: amountField('The employees’ amount in the previous run.'),
  member_amount: amountField('Their amount in this run.'),
  member_difference: amountField('This run less the previous one.'),
  previous_employer_amount: amountField('The employer amount in the previous run.'),
  employer_amount: amountField('The employer amount in this run.'),
  employer_difference: amountField('This run less the previous one.'),
};

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

/** Few enough to read before finalizing. */
const MOVERS = 10;

/** Adds up lines, employee by employee. `employees` counts employees with a line. */
export function createTotals() {
  const overall = new Adder();
  const reported = new Adder();
  const coverages = new Map<string, Adder>();
  const taxabilities = new Map<string, Adder>();
  let employee = 0;
  return {
    add(linesOfOneEmployee: readonly Line[]): void {
      employee += 1;
      for (const line of linesOfOneEmployee) {
        const adders = isIncluded(line)
          ? [overall, adderIn(coverages, line.line_of_coverage), adderIn(taxabilities, line.taxability)]
          : [reported];
        const [member, employer] = [centsOf(line.member_amount), centsOf(line.employer_amount)];
        for (const adder of adders) adder.add(member, employer, employee);
      }
    },
    totals: (): Totals => ({
      ...overall.sum(),
      by_line_of_coverage: sorted(coverages).map(([line_of_coverage, adder]) => ({
        line_of_coverage,
        ...adder.sum(),
      })),
      by_taxability: sorted(taxabilities).map(([taxability, adder]) => ({ taxability, ...adder.sum() })),
      reported: reported.sum(),
    }),
  };
}

class Adder {
  #member = 0n;
  #employer = 0n;
  #lines = 0;
  #employees = 0;
  #last = 0;

  add(member: bigint, employer: bigint, employee: number): void {
    this.#member += member;
    this.#employer += employer;
    this.#lines += 1;
    if (employee !== this.#last) this.#employees += 1;
    this.#last = employee;
  }

  sum(): Sum {
    return {
      employees: this.#employees,
      lines: this.#lines,
      member_amount: amountOf(this.#member),
      employer_amount: amountOf(this.#employer),
    };
  }
}

function adderIn(adders: Map<string, Adder>, key: string): Adder {
  const adder = adders.get(key) ?? new Adder();
  adders.set(key, adder);
  return adder;
}

function sorted<T>(byName: ReadonlyMap<string, T>): [string, T][] {
  return [...byName].sort(([one], [other]) => (one < other ? -1 : 1));
}

type Mover = { employeeId: string; before: string; now: string };

/** Compares with the previous run, employee by employee. Lines that are only reported do not count. */
export function createComparison(previousRunId: string) {
  const employees = { previous: 0, current: 0, joined: 0, left: 0 };
  const before = createTotals();
  let movers: Mover[] = [];
  return {
    add(employeeId: string, isIn: boolean, lines: readonly Line[], previous: Previous): void {
      if (previous.isIn) employees.previous += 1;
      if (isIn) employees.current += 1;
      if (isIn && !previous.isIn) employees.joined += 1;
      if (!isIn && previous.isIn) employees.left += 1;
      before.add(previous.lines);
      const mover = { employeeId, before: memberTotal(previous.lines), now: memberTotal(lines) };
      if (mover.before === mover.now) return;
      movers.push(mover);
      if (movers.length > 2 * MOVERS) movers = largest(movers);
    },
    /** `now`: the totals of the run. */
    comparison(now: Totals): Static<typeof Comparison> {
      const totals = before.totals();
      const sums = new Map(now.by_line_of_coverage.map((sum) => [sum.line_of_coverage, sum]));
      const sumsBefore = new Map(totals.by_line_of_coverage.map((sum) => [sum.line_of_coverage, sum]));
      return {
        previous_run_id: previousRunId,
        employees,
        totals: comparedOf(totals, now),
        by_line_of_coverage: sorted(new Map([...sumsBefore, ...sums])).map(([line_of_coverage]) => ({
          line_of_coverage,
          ...comparedOf(sumsBefore.get(line_of_coverage), sums.get(line_of_coverage)),
        })),
        largest_movers: largest(movers).map(({ employeeId, before, now }) => ({
          employee_id: employeeId,
          previous_member_amount: before,
          member_amount: now,
          member_difference: difference(now, before),
        })),
      };
    },
  };
}

function memberTotal(lines: readonly Line[]): string {
  return total(lines.filter(isIncluded).map((line) => line.member_amount));
}

/** Returns the largest differences; equal ones stay in the order of employee ids, because sorting is stable. */
function largest(movers: readonly Mover[]): Mover[] {
  const size = ({ before, now }: Mover) => {
    const cents = centsOf(now) - centsOf(before);
    return cents < 0n ? -cents : cents;
  };
  const bySize = movers.toSorted((one, other) => Number(size(other) - size(one)));
  return bySize.slice(0, MOVERS);
}

const NONE = { member_amount: NOTHING, employer_amount: NOTHING };

function comparedOf(before: typeof NONE = NONE, now: typeof NONE = NONE) {
  return {
    previous_member_amount: before.member_amount,
    member_amount: now.member_amount,
    member_difference: difference(now.member_amount, before.member_amount),
    previous_employer_amount: before.employer_amount,
    employer_amount: now.employer_amount,
    employer_difference: difference(now.employer_amount, before.employer_amount),
  };
}
