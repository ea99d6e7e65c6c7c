import type { Census } from '../contract/census.ts';
import type { Employee, PayFrequency } from '../contract/employee.ts';
import type { CompensationChange, Demographic, NewHire, Termination } from '../contract/employment.ts';
import type { World } from './world.ts';

/** An employee as reported. A compensation change allows a status that a census does not. */
export type KnownEmployee = Omit<Employee, 'employment_status'> & {
  employment_status: Employee['employment_status'] | 'variable_hours';
};

/** The ID in a request that the service does not know. Null if the request was applied. */
export type Unknown = 'employer' | 'employee' | null;

/**
 * The employees reported to the service, per employer. Employees of the seeded world are known from the
 * start, and listed after the first request about them.
 */
export type Workforce = {
  replaceAll(employerId: string, census: Census): Unknown;
  hire(newHire: NewHire): Unknown;
  terminate(termination: Termination): Unknown;
  move(demographic: Demographic): Unknown;
  changeCompensation(change: CompensationChange): Unknown;
  employeesOf(employerId: string): ReadonlyMap<string, KnownEmployee>;
  payFrequencyOf(employeeId: string): PayFrequency;
  /** Returns the employers where an employee is known. */
  employersOf(employeeId: string): string[];
};

/** The most common frequency, for unknown employees. */
const USUAL_FREQUENCY: PayFrequency = 'biweekly';

type Employees = Map<string, KnownEmployee>;

export function createWorkforce(world: World): Workforce {
  const seeded = new Map([...world].map(([employerId, census]) => [employerId, byId(census.employees)]));
  const received = new Map(
    [...world.keys()].map((employerId): [string, Employees] => [employerId, new Map()]),
  );

  const find = (employerId: string, employeeId: string) =>
    received.get(employerId)!.get(employeeId) ?? seeded.get(employerId)!.get(employeeId);

  const employersOf = (employeeId: string): string[] =>
    [...world.keys()].filter((employerId) => find(employerId, employeeId));

  /** Changes name no employer, so they apply wherever the employee works. */
  const change = (employeeId: string, changes: Partial<KnownEmployee>): Unknown => {
    const employers = employersOf(employeeId);
    for (const employerId of employers) {
      received.get(employerId)!.set(employeeId, { ...find(employerId, employeeId)!, ...changes });
    }
    return employers.length === 0 ? 'employee' : null;
  };

  return {
    replaceAll: (employerId, census) => {
      if (!world.has(employerId)) return 'employer';
      received.set(employerId, byId(census.employees));
      return null;
    },
    hire: ({ employer_id, employer: _, ...employee }) => {
      if (!world.has(employer_id)) return 'employer';
      received.get(employer_id)!.set(employee.employee_id, employee);
      return null;
    },
    terminate: ({ employee_id, termination_date }) => change(employee_id, { termination_date }),
    move: ({ employee_id, address }) => change(employee_id, { address }),
    changeCompensation: ({ employee_id, pay_rate, ...rest }) =>
      change(employee_id, { ...rest, ...(pay_rate && { pay_rate: [pay_rate] }) }),
    employersOf,
    employeesOf: (employerId) => received.get(employerId) ?? new Map(),
    payFrequencyOf: (employeeId) => {
      const employees = [...world.keys()].map((employerId) => find(employerId, employeeId));
      return employees.find((employee) => employee?.pay_frequency)?.pay_frequency ?? USUAL_FREQUENCY;
    },
  };
}

function byId(employees: readonly Employee[]): Employees {
  return new Map(employees.map((employee) => [employee.employee_id, employee]));
}
