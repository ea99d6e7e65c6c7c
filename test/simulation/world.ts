/** The employers and employees of a seed, as their payroll systems know them. */
import type { GivenCensus } from '../../src/census/source.ts';
import type { Employee } from '../../src/contract/employee.ts';
import { between, pick, seededRandom } from '../../src/simulator/random.ts';
import { makeCensus } from '../../src/simulator/world.ts';
import { DAY_MS } from './time.ts';

export type Frequency = 'biweekly' | 'weekly';
type Person = { employee: Employee & { pay_frequency: Frequency }; terminated: string | null };
export type Employer = {
  id: string;
  /** The frequencies with a pay schedule. The first is biweekly. */
  frequencies: readonly Frequency[];
  /** The first one never leaves. */
  people: Person[];
};

const LEAVING_SHARE = 0.5;

export type World = ReturnType<typeof createWorld>;

export function createWorld(seed: number) {
  const draw = seededRandom(seed, 'world');
  const employers = Array.from({ length: between(draw, 1, 3) }, (_, index): Employer => {
    const id = `employer-${index + 1}`;
    const frequencies: Frequency[] = draw() < 0.5 ? ['biweekly', 'weekly'] : ['biweekly'];
    const census = makeCensus(seed, id, between(draw, 3, 7));
    const people = census.employees.map((employee) => ({
      employee: { ...employee, pay_frequency: pick(draw, frequencies) },
      terminated: null,
    }));
    return { id, frequencies, people };
  });
  /** An employer of the service's only, without payroll runs, that leaves. */
  const leaving = draw() < LEAVING_SHARE ? leavingEmployer(seed) : null;
  const of = (employerId: string): Employer =>
    [...employers, ...(leaving === null ? [] : [leaving])].find(({ id }) => id === employerId)!;
  const shrunk = new Set<string>();
  const wereShrunk = new Set<string>();
  return {
    employers,
    leaving,
    of,
    /** The employers whose payroll system gives only one employee, by mistake or because they sold a branch. */
    shrunk,
    /** The employers that gave such a census. */
    wereShrunk,
    /** Whether censuses come from a function instead of uploads. */
    hasFunction: draw() < 0.5,
    everyone: (): { employer: Employer; person: Person }[] =>
      employers.flatMap((employer) => employer.people.map((person) => ({ employer, person }))),
    /** Returns an employer's census: everyone who is employed on the day. */
    census(employerId: string, at: number): GivenCensus {
      const { people } = of(employerId);
      const { organization } = makeCensus(seed, employerId, 1);
      const today = dayOf(at);
      const active = people.filter(({ terminated }) => terminated === null || terminated >= today);
      const employees = active.map(({ employee }) => employee);
      if (!shrunk.has(employerId)) return { organization, employees };
      wereShrunk.add(employerId);
      return { organization, employees: employees.slice(0, 1) };
    },
    /** Returns an employee who is not employed yet. */
    newPerson(employer: Employer, hired: string): Person {
      const number = employer.people.length + 1;
      const employee = makeCensus(seed, employer.id, number).employees.at(-1) as Employee;
      const pay_frequency = pick(draw, employer.frequencies);
      return { employee: { ...employee, pay_frequency, hire_date: hired }, terminated: null };
    },
  };
}

function leavingEmployer(seed: number): Employer {
  const id = 'leaving-1';
  const people = makeCensus(seed, id, 2).employees.map((employee) => ({
    employee: { ...employee, pay_frequency: 'biweekly' as const },
    terminated: null,
  }));
  return { id, frequencies: ['biweekly'], people };
}

export function dayOf(at: number): string {
  return new Date(at).toISOString().slice(0, 10);
}

export function daysAfter(day: string, days: number): string {
  return dayOf(Date.parse(day) + days * DAY_MS);
}
