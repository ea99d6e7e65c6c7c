/** Moves: an employee leaves for another employer, perhaps with two jobs for some days, and payroll assigns the deductions. */
import { pick } from '../../../src/simulator/random.ts';
import type { Simulation } from '../simulation.ts';
import { DAY_MS, HOUR_MS } from '../time.ts';
import { dayOf, daysAfter } from '../world.ts';
import { send } from './changes.ts';
import type { Feature } from './features.ts';

/** The days from the last day of the old job to the first day of the new one. */
const GAPS = [1, 1, 5, -10, -20] as const;

const ASSIGNED = 'select deduction_id as id from deduction_assignments';

export const MOVES: Feature = {
  plan(simulation) {
    const { world, days } = simulation;
    if (world.employers.length === 1) return;
    const draw = simulation.random('moves');
    for (let index = 0; index < days / 3; index += 1)
      simulation.schedule(0.1 + draw() * 0.8, 'move', () => move(simulation, index));
  },
  invariants: {
    'a final run has only employees who were reported to its employer': `
      select run_id, employee_id from payroll_runs join run_employees using (freeze_id)
      where state <> 'open' and json_array_length(lines) > 0 and not exists (
        select 1 from roster_facts where roster_facts.employee_id = run_employees.employee_id
          and roster_facts.employer_id = payroll_runs.employer_id and position <= basis ->> '$.position')`,
    'paychecks that know the same take a version of a deduction once': `
      with taken as (
        select run_id, employer_id, basis ->> '$.run.pay_date' as pay_date, basis ->> '$.position' as position, employee_id,
          line.value ->> 'deduction_id' as deduction_id, line.value ->> 'version' as version
        from payroll_runs join run_employees using (freeze_id), json_each(lines) as line
        where state = 'finalized' and payroll_runs.kind = 'regular' and line.value ->> 'kind' = 'regular'
          and line.value ->> 'member_amount' <> '0.00' and line.value -> 'shares' is null
          and line.value ->> 'flags' not like '%overridden%')
      select one.run_id, other.run_id as other, deduction_id from taken as one
        join taken as other using (deduction_id, version, pay_date)
      where (one.employer_id < other.employer_id or one.employee_id < other.employee_id) and not exists (${[
        'roster_facts as fact where fact.employee_id in (one.employee_id, other.employee_id)',
        'deduction_versions as fact where fact.deduction_id = one.deduction_id',
        'deduction_assignments as fact where fact.deduction_id = one.deduction_id',
      ]
        .map(
          (facts) => `select 1 from ${facts} and fact.position > min(one.position, other.position)
            and fact.position <= max(one.position, other.position)`,
        )
        .join(' union all ')})`,
  },
  situations: {
    move: 'roster_facts group by employee_id having count(distinct employer_id) > 1',
    'moved deduction': `run_employees where lines like '%"change":"moved"%'`,
    'assigned deduction': 'deduction_assignments',
    'deduction that another employer takes': `run_employees where lines like '%taken_elsewhere%'`,
  },
};

function move(simulation: Simulation, index: number): void {
  const { world, time } = simulation;
  const draw = simulation.random('move', index);
  const employer = pick(draw, world.employers);
  const others = world.employers.filter((other) => other !== employer);
  const next = pick(draw, others);
  const staying = employer.people.filter(({ terminated }) => terminated === null);
  // A census without employees is refused.
  if (staying.length < 3) return;
  const person = pick(draw, staying);
  if (person === employer.people[0]) return;
  const { employee_id } = person.employee;
  const termination_date = daysAfter(dayOf(time.now()), Math.floor(draw() * 20) - 8);
  const hire_date = daysAfter(termination_date, pick(draw, GAPS));
  const employee = { ...person.employee, hire_date, pay_frequency: pick(draw, next.frequencies) };
  person.terminated = termination_date;
  // An employee who moves back has an earlier employment there.
  next.people = next.people.filter((other) => other.employee.employee_id !== employee_id);
  next.people.push({ employee, terminated: null });
  send(simulation, 'termination', { employee_id, termination_date }, `left-${index}`);
  time.after(draw() * HOUR_MS, 'move', () =>
    send(simulation, 'new-hire', { ...employee, employer_id: next.id }, `moved-${index}`),
  );
  const employer_id = pick(draw, [employer.id, next.id]);
  time.after(draw() * 3 * DAY_MS, 'assign', () => assign(simulation, employee_id, employer_id, draw() < 0.5));
}

/** Assigns each deduction of an employee to one of the employers. Runs may have taken it, or the hire may not be known. */
function assign(simulation: Simulation, employeeId: string, employer_id: string, isDated: boolean): void {
  const { machine, time, persist, confirm } = simulation;
  if (!machine.isUp()) return;
  const body = {
    ...{ employer_id, reason: 'assigned in the simulation' },
    ...(isDated && { effective_on: daysAfter(dayOf(time.now()), -20) }),
  };
  const sql = 'select distinct deduction_id from deduction_versions where employee_id = ?';
  for (const { deduction_id } of machine.query<{ deduction_id: string }>(sql, employeeId)) {
    const put = () => machine.call('PUT', `/v1/deductions/${deduction_id}/employer`, body);
    persist('assign', put, [200, 201, 409, 422], ({ status }) => {
      if (status < 400) confirm(ASSIGNED, deduction_id);
    });
  }
}
