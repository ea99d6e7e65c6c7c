/** What the lines of a run come to. */
import { amountOf, centsOf } from '../../money.ts';
import { isIncluded, type Line } from '../calculation/line.ts';

export type Sum = { employees: number; lines: number; member_amount: string; employer_amount: string };

export type Totals = Sum & {
  by_line_of_coverage: (Sum & { line_of_coverage: string })[];
  by_taxability: (Sum & { taxability: string })[];
  /** Lines that are only shown: no part of what to deduct. */
  reported: Sum;
};

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
