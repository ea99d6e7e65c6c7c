/** Borders: people of an employer name an employee of another one, in a hire, a census and an assignment. Each is refused. */
import { pick } from '../../../src/simulator/random.ts';
import type { Simulation } from '../simulation.ts';
import { dayOf } from '../world.ts';
import type { Feature } from './features.ts';
import { hasPeople, peopleOf } from './people.ts';

const REFUSED = [404, 409];
/** A crash, a full disk, or a token that was replaced in the meantime. */
const UNDECIDED = [401, 429, 503];

/** Selects the deductions that have named only an employee. */
const ONLY_OF = `select deduction_id as id from deduction_versions group by deduction_id
  having min(employee_id) = ? and max(employee_id) = min(employee_id)`;

export const BORDERS: Feature = {
  plan(simulation) {
    const { world, days } = simulation;
    if (world.employers.length === 1) return;
    const draw = simulation.random('borders');
    for (let index = 0; index < days * 2; index += 1)
      simulation.schedule(0.1 + draw() * 0.9, 'trespass', () => trespass(simulation, index));
  },
  invariants: {
    'no employee becomes the employee of another employer by its people': ({ world, machine }) =>
      world.employers.flatMap(({ id, people }) => {
        const { employee_id } = people[0]!.employee;
        const rows = machine.query<{ what: string }>(
          `select 'fact ' || position as what from roster_facts where employee_id = ? and employer_id <> ?
           union all select 'record ' || record_id from audit_records where employee_id = ? and employer_id <> ?
           union all select 'assignment ' || position from deduction_assignments
             where employer_id <> ? and deduction_id in (${ONLY_OF})`,
          ...[employee_id, id, employee_id, id, id, employee_id],
        );
        return rows.map(({ what }) => `${what} names ${employee_id} of ${id} at another employer`);
      }),
  },
  situations: {
    'census that names an employee of another employer':
      "audit_records where action = 'census.stage' and details like '%EMPLOYEE_ELSEWHERE%'",
  },
};

async function trespass(simulation: Simulation, index: number): Promise<void> {
  const { world, machine, time, breach } = simulation;
  const draw = simulation.random('trespass', index);
  const employer = pick(draw, world.employers);
  const other = pick(
    draw,
    world.employers.filter((each) => each !== employer),
  );
  // The first employee never leaves.
  const { employee } = other.people[0]!;
  const { employee_id } = employee;
  const reported = 'select 1 from roster where employee_id = ? and employer_id = ?';
  if (!hasPeople(simulation, employer.id) || !machine.isUp()) return;
  if (machine.query(reported, employee_id, other.id).length === 0) return;
  const { organization, employees } = world.census(employer.id, time.now());
  const census = { organization, employees: [...employees, employee] };
  const hire = { ...employee, employer_id: employer.id, hire_date: dayOf(time.now()) };
  const [deduction] = machine.query<{ id: string }>(`${ONLY_OF} limit 1`, employee_id);
  const assignment = { employer_id: employer.id, reason: 'ours' };
  const requests = [
    ['POST', '/v1/employee-changes/new-hire', hire],
    ['PUT', `/v1/employers/${employer.id}/census`, census],
    ['PUT', `/v1/deductions/${deduction?.id ?? 'none'}/employer`, assignment],
  ] as const;
  const [method, url, body] = pick(draw, requests);
  const response = await peopleOf(simulation, employer.id).specialist(method, url, body);
  if (response === null || [...REFUSED, ...UNDECIDED].includes(response.status)) return;
  breach(`people of ${employer.id} named ${employee_id} of ${other.id}: ${method} ${url} ${response.status}`);
}
