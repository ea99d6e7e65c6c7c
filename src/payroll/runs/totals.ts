/** The totals of a run. */
import Type, { type Static } from 'typebox';
import { closed, component, integer, text } from '../../contract/fields.ts';
import { amountOf, centsOf } from '../../money.ts';
import { amountField, isIncluded, type Line } from '../calculation/line.ts';

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

/** Adds up lines, employee by employee: `employees` are those who have a line. */
export function createTotals(): { add: (linesOfOneEmployee: readonly Line[]) => void; totals: () => Totals } {
  const overall = new Adder();
  const reported = new Adder();
  const coverages = new Map<string, Adder>();
  const taxabilities = new Map<string, Adder>();
  let employee = 0;
  return {
    add(lines) {
      employee += 1;
      for (const line of lines) {
        const adders = isIncluded(line)
          ? [overall, adderIn(coverages, line.line_of_coverage), adderIn(taxabilities, line.taxability)]
          : [reported];
        const [member, employer] = [centsOf(line.member_amount), centsOf(line.employer_amount)];
        for (const adder of adders) adder.add(member, employer, employee);
      }
    },
    totals: () => ({
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
  let adder = adders.get(key);
  if (adder === undefined) {
    adder = new Adder();
    adders.set(key, adder);
  }
  return adder;
}

function sorted(adders: Map<string, Adder>): [string, Adder][] {
  return [...adders].sort(([one], [other]) => (one < other ? -1 : 1));
}
