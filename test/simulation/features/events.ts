/** Elections: deduction events with later versions, other employees, ties, moved starts, ends, bad bodies and bodies that differ. */
import { pick, type Random } from '../../../src/simulator/random.ts';
import { deductionsOf, type ModelVersion, stateOn } from '../../payroll/compute/model.ts';
import { RECORDS } from '../../payroll/compute/model-records.ts';
import type { Simulation } from '../simulation.ts';
import { DAY_MS } from '../time.ts';
import { dayOf, daysAfter } from '../world.ts';
import type { Feature } from './features.ts';

const UPDATED = 'employee.deduction-updated';
const LINES = ['medical', 'dental', 'vision', 'hsa', 'life'] as const;

type Election = Record<string, string>;
/** The elections by deduction id, with the time of their latest event. */
type Elections = Map<string, { election: Election; createdAt: string }>;

const electionsIn = new WeakMap<Simulation, Elections>();

export const EVENTS: Feature = {
  plan(simulation) {
    const { time, world, days } = simulation;
    const elections: Elections = new Map();
    electionsIn.set(simulation, elections);
    for (const { person } of world.everyone()) enroll(simulation, elections, person.employee.employee_id);
    const draw = simulation.random('elections');
    const changes = Math.ceil(days * world.everyone().length * 0.2);
    for (let index = 0; index < changes; index += 1) {
      const changeDraw = simulation.random('election', index);
      const at = draw() * days * DAY_MS;
      time.after(at, 'election', () => change(simulation, elections, changeDraw, `${index}`));
      // The employee corrects it, so that the first event may be the late one.
      if (draw() > 0.4) continue;
      const again = `${index}-again`;
      time.after(at + draw() * 600_000, 'election', () => change(simulation, elections, changeDraw, again));
    }
  },
  invariants: {
    'a quarantined event has a reason':
      "select event_id from inbox where state = 'quarantined' and reason is null",
  },
  rests: {
    'every event has ended': "select event_id from inbox where state = 'pending'",
    'every event is acknowledged': ({ provider }) =>
      [...provider.unacknowledged].map((id) => `${id} was never acknowledged`),
    'deductions that name another employee are listed for the employee of each date': listedWrongly,
  },
  situations: {
    tie: "deduction_versions where ordered_by = 'tie'",
    'deduction of another employee': 'deduction_versions where moved = 1',
    'late event': 'deduction_versions where late = 1',
    'event without a time': "deduction_versions where ordered_by = 'receipt'",
    quarantine: "inbox where state = 'quarantined'",
    'ignored event': "inbox where state = 'ignored'",
    'conflicting body': 'event_conflicts',
    'dropped body': 'inbox where body is null',
    'refused signature': 'refused_signatures',
  },
};

type Message = { id: string; type?: string; data: object; createdAt?: string | null };

function send({ provider }: Simulation, { id, type = UPDATED, data, createdAt = null }: Message): void {
  const body = { id: `env-${id}`, event_type: type, data, ...(createdAt && { created_at: createdAt }) };
  provider.send({ id, body: JSON.stringify(body) });
}

function enroll(simulation: Simulation, elections: Elections, employeeId: string): void {
  const draw = simulation.random('enroll', employeeId);
  for (const line of LINES.slice(0, 1 + Math.floor(draw() * 3))) {
    simulation.time.after(draw() * 3 * DAY_MS, 'election', () => {
      const id = `ded-${employeeId}-${line}`;
      const election: Election = {
        ...{ id, employee_id: employeeId, line_of_coverage: line },
        member_contribution: pick(draw, ['150.00', '33.33', '100', '20.00', '0']),
        employer_contribution: pick(draw, ['0.00', '350', '12.345']),
        period: pick(draw, ['monthly', 'monthly', 'biweekly', 'weekly']),
        taxability: pick(draw, ['pre_tax', 'post_tax']),
        effective_start: `${daysAfter(dayOf(simulation.time.now()), Math.floor(draw() * 40) - 60)}T00:00:00Z`,
      };
      const createdAt = new Date(simulation.time.now()).toISOString();
      elections.set(id, { election, createdAt });
      send(simulation, { id: `msg-${id}`, data: election, createdAt });
    });
  }
}

function change(simulation: Simulation, elections: Elections, draw: Random, index: string): void {
  const { time, provider, world } = simulation;
  const known = [...elections.values()];
  const latest = known.at(-1);
  const before = index.endsWith('again') ? latest : known[Math.floor(draw() * known.length)];
  const id = `msg-change-${index}`;
  if (before === undefined) return;
  const { election } = before;
  const today = dayOf(time.now());
  const employees = world.everyone().map(({ person }) => person.employee.employee_id);
  const kind = draw();
  const now = new Date(time.now()).toISOString();
  if (kind < 0.05) send(simulation, { id, type: 'employee.unheard-of', data: { a: 1 } });
  else if (kind < 0.1) {
    const bad = [{ ...election, period: 'daily' }, { ...election, id: 7 }, { employee_id: 'x' }];
    send(simulation, { id, data: pick(draw, bad) });
  } else if (kind < 0.15) {
    // The provider resends an acknowledged event, and sometimes with another body.
    const ids = [...provider.acknowledged.keys()];
    const event = provider.acknowledged.get(ids[Math.floor(draw() * ids.length)] ?? '');
    if (event !== undefined)
      provider.send({ id: event.id, body: draw() < 0.5 ? event.body : `${event.body} ` });
  } else if (kind < 0.2) {
    const stranger = { ...election, id: `ded-stranger-${index}`, employee_id: `stranger-${index}` };
    send(simulation, { id, data: stranger, createdAt: now });
  } else {
    elections.delete(election.id as string);
    const changed: Election = { ...election, ...changesOf(draw, today, election, employees) };
    const createdAt = kind < 0.3 ? before.createdAt : kind < 0.35 ? null : now;
    elections.set(changed.id as string, { election: changed, createdAt: createdAt ?? before.createdAt });
    send(simulation, { id, data: changed, createdAt });
  }
}

/** Sends that a deduction of one of an employer's employees is another employee's, perhaps of another employer. */
export function nameAnother(simulation: Simulation, employerId: string, draw: Random): void {
  const { time, world } = simulation;
  const elections = electionsIn.get(simulation)!;
  const own = [...elections].filter(([, { election }]) => election.employee_id!.startsWith(employerId));
  const [id, before] = own[Math.floor(draw() * own.length)] ?? [];
  if (id === undefined) return;
  const { employee_id } = pick(draw, world.everyone()).person.employee;
  const election = { ...before!.election, employee_id };
  const createdAt = new Date(time.now()).toISOString();
  elections.set(id, { election, createdAt });
  send(simulation, { id: `msg-moved-${id}-${time.now()}`, data: election, createdAt });
}

function changesOf(
  draw: Random,
  today: string,
  { effective_start: start }: Election,
  employees: readonly string[],
): Election {
  const day = (days: number): string => `${daysAfter(today, Math.floor(days))}T05:31:56Z`;
  return pick(draw, [
    { member_contribution: pick(draw, ['60', '61.50', '0.01', '75.00']) },
    { member_contribution: pick(draw, ['10', '45.67']), effective_start: day(draw() * 60 - 30) },
    { taxability: pick(draw, ['pre_tax', 'post_tax']) },
    { effective_end: day(draw() * 40 - 20) },
    { effective_start: day(draw() * 40), member_contribution: '88.00' },
    // A start that is moved before it begins.
    { effective_start: `${daysAfter((start ?? today).slice(0, 10), 31)}T00:00:00Z` },
    { line_of_coverage: pick(draw, LINES) },
    { employer_contribution: pick(draw, ['1', '2.50']) },
    { employee_id: pick(draw, employees) },
    { employee_id: pick(draw, employees), effective_start: day(draw() * 60 - 30) },
  ]);
}

/** The employees whom a moved deduction ever named, on the first days of its moves and on the days before. */
const AROUND_MOVES = `
  select distinct named.employee_id as employee, date(moved.starts_on, days) as day
  from deduction_versions as moved join deduction_versions as named using (deduction_id),
    (select '-1 days' as days union all select '0 days')
  where moved.moved = 1`;

/** Returns the lists of an employee's deductions on a day that differ from the payroll model. */
async function listedWrongly({ machine }: Simulation): Promise<string[]> {
  const world = { versions: machine.query<ModelVersion>(RECORDS.versions) };
  const deductions = deductionsOf(world);
  const wrong: string[] = [];
  for (const { employee, day } of machine.query<{ employee: string; day: string }>(AROUND_MOVES)) {
    const url = `/v1/deductions?employee_id=${employee}&on=${day}&limit=100`;
    const response = await machine.call('GET', url);
    const { data } = response!.body as { data: { id: string }[] };
    const listed = data.map(({ id }) => id).sort();
    const should = deductions.filter((id) => stateOn(world, id, employee, day) !== null);
    if (`${listed}` !== `${should.sort()}`)
      wrong.push(`${employee} on ${day}: ${listed} instead of ${should}`);
  }
  return wrong;
}

export function sendSync(simulation: Simulation, kind: 'request' | 'complete', employerId: string): void {
  const id = `msg-sync-${kind}-${employerId}-${simulation.time.now()}`;
  send(simulation, { id, type: `employee-census.sync-${kind}`, data: { employer_id: employerId } });
}
