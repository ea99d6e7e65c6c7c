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

type Employees = Map<string, KnownEmployee>;

export type Workforce = ReturnType<typeof createWorkforce>;

/**
 * Creates the reported employees. Until its first census arrives, an employer has its employees of the seeded world. Then it has
 * the employees of all its censuses.
 */
export function createWorkforce(world: World) {
  const earlier = new Map([...world].map(([employerId, census]) => [employerId, byId(census.employees)]));
  const received = new Map<string, Employees>([...world.keys()].map((employerId) => [employerId, new Map()]));
  const withCensus = new Set<string>();

  const find = (employerId: string, employeeId: string) =>
    received.get(employerId)!.get(employeeId) ?? earlier.get(employerId)!.get(employeeId);

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
    replaceAll: (employerId: string, census: Census): Unknown => {
      if (!world.has(employerId)) return 'employer';
      const before = withCensus.has(employerId) ? earlier.get(employerId)! : [];
      earlier.set(employerId, new Map([...before, ...received.get(employerId)!]));
      received.set(employerId, byId(census.employees));
      withCensus.add(employerId);
      return null;
    },
    hire: ({ employer_id, employer: _, ...employee }: NewHire): Unknown => {
      if (!world.has(employer_id)) return 'employer';
      received.get(employer_id)!.set(employee.employee_id, employee);
      return null;
    },
    terminate: ({ employee_id, termination_date }: Termination) => change(employee_id, { termination_date }),
    move: ({ employee_id, address }: Demographic) => change(employee_id, { address }),
    changeCompensation: ({ employee_id, pay_rate, ...rest }: CompensationChange) =>
      change(employee_id, { ...rest, ...(pay_rate && { pay_rate: [pay_rate] }) }),
    employersOf,
    employeesOf: (employerId: string): ReadonlyMap<string, KnownEmployee> =>
      received.get(employerId) ?? new Map(),
    payFrequencyOf: (employeeId: string): PayFrequency => {
      const employees = [...world.keys()].map((employerId) => find(employerId, employeeId));
      // The most common one where none is known.
      return employees.find((employee) => employee?.pay_frequency)?.pay_frequency ?? 'biweekly';
    },
  };
}

function byId(employees: readonly Employee[]): Employees {
  return new Map(employees.map((employee) => [employee.employee_id, employee]));
}
