/** Adds up the lines of a run. Pure. */
import { amountOf, type Cents } from '../../money.ts';
import type { Line } from '../calculation/line.ts';
import type { Sum, Totals } from '../records/totals.ts';

/** Adds up lines, employee by employee. */
export class LineTotals {
  readonly overall = new Adder();
  readonly coverages = new Map<string, Adder>();
  readonly #taxabilities = new Map<string, Adder>();
  #employee = 0;

  add(linesOfEmployee: readonly Line[]): void {
    this.#employee += 1;
    for (const line of linesOfEmployee) {
      this.overall.add(line, this.#employee);
      adderIn(this.coverages, line.account.line_of_coverage).add(line, this.#employee);
      adderIn(this.#taxabilities, line.account.taxability).add(line, this.#employee);
    }
  }

  totals(): Totals {
    return {
      ...this.overall.sum(),
      by_line_of_coverage: sorted(this.coverages).map(([line_of_coverage, adder]) => ({
        line_of_coverage,
        ...adder.sum(),
      })),
      by_taxability: sorted(this.#taxabilities).map(([taxability, adder]) => ({
        taxability,
        ...adder.sum(),
      })),
    };
  }
}

/** A sum of lines. It counts the employees with a line. */
export class Adder {
  member: Cents = 0n;
  employer: Cents = 0n;
  #lines = 0;
  #employees = 0;
  #lastEmployee = 0;

  add({ amounts: { member, employer } }: Line, employee: number): void {
    this.member += member;
    this.employer += employer;
    this.#lines += 1;
    if (employee !== this.#lastEmployee) this.#employees += 1;
    this.#lastEmployee = employee;
  }

  sum(): Sum {
    return {
      employees: this.#employees,
      lines: this.#lines,
      member_amount: amountOf(this.member),
      employer_amount: amountOf(this.employer),
    };
  }
}

/** Returns the employee's amount of lines. */
export function memberTotal(lines: readonly Line[]): Cents {
  let sum = 0n;
  for (const line of lines) sum += line.amounts.member;
  return sum;
}

export function countOfEmployees(count: number): string {
  return count === 1 ? '1 employee' : `${count} employees`;
}

function adderIn(adders: Map<string, Adder>, key: string): Adder {
  const adder = adders.get(key) ?? new Adder();
  adders.set(key, adder);
  return adder;
}

export function sorted<T>(byName: ReadonlyMap<string, T>): [string, T][] {
  return [...byName].sort(([name], [other]) => (name < other ? -1 : 1));
}
