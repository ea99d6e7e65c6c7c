/** Names: employees marry, and their employers report the new names in a census. People look up names and search by name. */
import { pick } from '../../../src/simulator/random.ts';
import { type ShownName, textOf, wrongAtRest, wrongName } from '../given-names.ts';
import type { Response } from '../machine.ts';
import type { Simulation } from '../simulation.ts';
import { areClocksOff, DAY_MS } from '../time.ts';
import { push } from './censuses.ts';
import type { Feature } from './features.ts';
import { hasPeople, peopleOf } from './people.ts';

/** New last names, which the simulated employees do not have. */
const MARRIED = ['Abendroth', 'Çelik', "D'Arcy", 'Łukasz', 'van der Berg', 'Zuñiga'];
const SHOWN = "audit_records where action = 'name.show'";

export const NAMES: Feature = {
  plan(simulation) {
    const { world, days } = simulation;
    const draw = simulation.random('names');
    for (let index = 0; index < days * 2; index += 1)
      simulation.schedule(0.1 + draw() * 0.9, 'names', () => show(simulation, index));
    for (let count = Math.ceil((days / 3) * world.employers.length); count > 0; count -= 1)
      simulation.schedule(0.1 + draw() * 0.8, 'marry', () => marry(simulation, draw));
  },
  invariants: {
    'names that were shown have one record for each person, employer and day': `
      select actor_name, resource_id, substr(recorded_at, 1, 10) as day, count(*) as records from ${SHOWN}
      group by actor_kind, actor_id, actor_name, resource_id, day having count(*) > 1`,
  },
  rests: {
    async 'the last name that payroll gave is shown'(simulation) {
      const { world, machine, time } = simulation;
      const wrong: string[] = [];
      for (const { id } of world.employers) {
        const waits = machine.query(
          `select 1 from staged_censuses where employer_id = ? and state = 'current'
            and (elsewhere is not null or roster_updated_at is null)`,
          id,
        );
        if (waits.length > 0 || areClocksOff(simulation)) continue;
        const ids = world.census(id, time.now()).employees.map(({ employee_id }) => employee_id);
        for (const limit of hasPeople(simulation, id) ? [id, null] : [null]) {
          const call = limit === null ? machine.call : peopleOf(simulation, id).manager;
          const shown = namesIn(await call('POST', '/v1/names', { employee_ids: ids })) ?? [];
          for (const employee_id of ids)
            if (!shown.some((name) => name.employee_id === employee_id))
              wrong.push(`${employee_id} has no name`);
          for (const name of shown) {
            const why = wrongAtRest(simulation, name, limit);
            if (why !== null) wrong.push(`${textOf(name)} of ${name.employee_id} ${why}`);
          }
        }
      }
      return wrong;
    },
  },
  situations: {
    'names shown to a limited token': `${SHOWN} and actor_id in (select token_id from tokens where employers is not null)`,
    'an employee with names of two employers':
      'employee_names group by employee_id having count(distinct employer_id) > 1',
    'employee found by name': null,
  },
};

function namesIn(response: Response | null): ShownName[] | null {
  return response?.status === 200 ? (response.body as { employees: ShownName[] }).employees : null;
}

/** Gives an employee another last name. Each employer reports it with its next census, half of the employers at once. */
function marry(simulation: Simulation, draw: () => number): void {
  const { world, time } = simulation;
  const { person } = pick(draw, world.everyone());
  const { employee_id } = person.employee;
  const last_name = pick(draw, MARRIED);
  for (const { employer, person } of world.everyone()) {
    if (person.employee.employee_id !== employee_id) continue;
    time.after(draw() * DAY_MS, 'marry', () => {
      person.employee = { ...person.employee, last_name };
      if (draw() < 0.5) push(simulation, employer.id);
    });
  }
}

/** Looks up all names, as the payroll system or a person of an employer, and then finds an employee by name. */
async function show(simulation: Simulation, index: number): Promise<void> {
  const { world, machine, saw } = simulation;
  const draw = simulation.random('names', index);
  const employer = pick(draw, world.employers);
  const isLimited = hasPeople(simulation, employer.id) && draw() < 0.7;
  const call = isLimited ? peopleOf(simulation, employer.id).manager : machine.call;
  const employee_ids = world.everyone().map(({ person }) => person.employee.employee_id);
  const lookUp = async () => {
    const names = namesIn(await call('POST', '/v1/names', { employee_ids }));
    check(simulation, names ?? [], isLimited ? employer.id : null);
    return names;
  };
  const before = await lookUp();
  if (before === null || before.length === 0) return;
  const sought = pick(draw, before);
  const text = beginningsOf(sought, draw);
  const response = await call('POST', '/v1/search', { text });
  const after = await lookUp();
  if (response?.status !== 200 || after === null) return;
  const { data, has_more } = (response.body as { employees: { data: Found[]; has_more: boolean } }).employees;
  const named = data.filter((row): row is ShownName => row.last_name !== null && row.employer_id !== null);
  check(simulation, named, isLimited ? employer.id : null);
  if (data.some(({ employee_id }) => employee_id === sought.employee_id))
    return saw('employee found by name');
  const isStill = after.some((name) => JSON.stringify(name) === JSON.stringify(sought));
  if (!has_more && isStill) simulation.breach(`"${text}" does not find ${sought.employee_id}`);
}

type Found = { [Key in keyof ShownName]: ShownName[Key] | null };

/** Returns the beginnings of both names or of the last name, in either case. */
function beginningsOf({ first_name, last_name }: ShownName, draw: () => number): string {
  const cut = (name: string) => name.slice(0, 2 + Math.floor(draw() * name.length));
  const text = draw() < 0.5 ? cut(last_name) : `${cut(last_name)} ${cut(first_name)}`;
  return draw() < 0.5 ? text : text.toUpperCase();
}

/** Checks names in a response, and that audit records show who saw them. */
function check(simulation: Simulation, names: readonly ShownName[], limit: string | null): void {
  const { machine, breach } = simulation;
  for (const name of names) {
    const why =
      limit !== null && name.employer_id !== limit
        ? `is of ${name.employer_id}, which ${limit} must not see`
        : wrongName(simulation, name);
    if (why !== null) breach(`the name ${textOf(name)} of ${name.employee_id} ${why}`);
  }
  if (!machine.isUp()) return;
  const recorded = new Set(
    machine.query(`select distinct resource_id as id from ${SHOWN}`).map(({ id }) => String(id)),
  );
  for (const { employer_id } of names)
    if (!recorded.has(employer_id)) breach(`names of ${employer_id} were shown without an audit record`);
}
