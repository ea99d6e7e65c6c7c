/** Reviews: a specialist reads the readiness of each employer's next run for days, and is notified when facts change it. */
import type { PayDate } from '../../../src/payroll/settings/schedules.ts';
import type { Simulation } from '../simulation.ts';
import { DAY_MS, HOUR_MS } from '../time.ts';
import { dayOf } from '../world.ts';
import { nameAnother } from './events.ts';
import type { Feature } from './features.ts';
import { hasAddress } from './notifications.ts';
import { peopleOf } from './people.ts';
import { datesOf, mayGo } from './schedules.ts';

/** Faults delay the notification about a fact for less: the disk is full twice for up to 2 hours, and crashes last up to one. */
const UNTIL_TOLD_MS = 8 * HOUR_MS;
const UNTIL_TOLD_AT_REST_MS = HOUR_MS;
const REVIEWED = '-reviewed';
const OUTDATED = "notifications where type = 'run.outdated'";

/** A readiness report that was read: the start of the run's period, the ledger's position, and the number of notifications. */
type Read = { runId: string; employerId: string; from: string; position: number; told: number };

/** `attempts`: how often each run may have been read. `positions`: the ledger's positions at earlier checks. */
type Reviews = {
  reads: Read[];
  attempts: Map<string, number>;
  positions: { at: number; position: number }[];
};

const reviewsIn = new WeakMap<Simulation, Reviews>();
const reviewsOf = (simulation: Simulation): Reviews => {
  const known = reviewsIn.get(simulation) ?? { reads: [], attempts: new Map(), positions: [] };
  reviewsIn.set(simulation, known);
  return known;
};

/**
 * Selects facts about an employee of a run: always of its employer, paid biweekly, hired before its period, and never terminated
 * or absent. A version of a deduction concerns everyone whom the deduction named until then.
 */
const FACTS_OF_RUN = `
  with members as (
    select employee_id from roster_facts group by employee_id
    having min(employer_id) = ? and max(employer_id) = min(employer_id) and count(termination_date) = 0
      and max(absent) = 0 and max(hire_date) <= ? and count(pay_group) = 0
      and count(pay_frequency) = count(*) and min(pay_frequency) = 'biweekly' and max(pay_frequency) = 'biweekly')
  select 'fact ' || position as id from (
    select position, employee_id from roster_facts
    union all select fact.position, named.employee_id from deduction_versions as fact
      join deduction_versions as named on named.deduction_id = fact.deduction_id and named.position <= fact.position)
  where employee_id in (select employee_id from members) and position > ? and position <= ? order by position limit 1`;

export const REVIEWS: Feature = {
  plan(simulation) {
    if (!hasAddress(simulation)) return;
    const { world, days, schedule } = simulation;
    for (const { id } of world.employers) {
      const draw = simulation.random('reviews', id);
      schedule(0.2 + draw() * 0.2, 'review', () => begin(simulation, id, draw));
      for (let count = days; count > 0; count -= 1)
        schedule(0.3 + draw() * 0.7, 'review', () => read(simulation, id));
    }
  },
  atRest(simulation) {
    simulation.time.after(UNTIL_TOLD_AT_REST_MS, 'position', () => notePosition(simulation));
  },
  invariants: {
    'a reviewed run is told as outdated by a fact about one of its employees': untold,
    'a run is told as outdated once for each read at most': (simulation) =>
      simulation.machine
        .query<{ run: string; told: number }>(
          `select data ->> 'run_id' as run, count(*) as told from ${OUTDATED}
            and data ->> 'run_id' like '%${REVIEWED}' group by run`,
        )
        .filter(({ run, told }) => told > (reviewsOf(simulation).attempts.get(run) ?? 0))
        .map(({ run, told }) => `${run}, ${told} times`),
  },
  situations: {
    'outdated run': OUTDATED,
    'run outdated again': `${OUTDATED} group by subject having count(*) > 1`,
  },
};

/** Returns the biweekly pay dates whose runs are not finalized, the earliest first. */
export function datesAfterRest({ restFrom }: Simulation): PayDate[] {
  const after = dayOf(restFrom + 3 * DAY_MS);
  return datesOf('biweekly').filter(({ pay_date }) => pay_date > after && !mayGo('biweekly', pay_date));
}

/** Creates the run of a date that is finalized after the last day. */
function begin(simulation: Simulation, employer_id: string, draw: () => number): void {
  const [date] = datesAfterRest(simulation);
  if (date === undefined) return;
  const { takes: _, ...period } = date;
  const body = { employer_id, pay_frequency: 'biweekly', ...period };
  const url = `/v1/payroll-runs/${employer_id}${REVIEWED}`;
  const { specialist } = peopleOf(simulation, employer_id);
  simulation.persist(
    'reviewed run',
    () => specialist('PUT', url, body),
    [200, 201],
    () => {
      if (draw() < 0.5) void read(simulation, employer_id);
    },
  );
}

async function read(simulation: Simulation, employerId: string): Promise<void> {
  const { machine, faults } = simulation;
  const { reads, attempts } = reviewsOf(simulation);
  const runId = `${employerId}${REVIEWED}`;
  attempts.set(runId, (attempts.get(runId) ?? 0) + 1);
  const { specialist } = peopleOf(simulation, employerId);
  const isStored = () => !faults.isOn('full-disk') && !faults.isOn('busy');
  const wasStored = isStored();
  const response = await specialist('GET', `/v1/payroll-runs/${runId}/readiness`);
  // With a full or locked database, the response has the readiness, but the read is not stored.
  if (response?.status !== 200 || !wasStored || !isStored() || !machine.isUp()) return;
  const from = periodStartOf(simulation, runId);
  const [position, told] = [positionOf(simulation), timesTold(simulation, runId)];
  reads.push({ runId, employerId, from, position, told });
  // Until a check, another fact may outdate the run, too.
  simulation.time.after(HOUR_MS, 'position', () => notePosition(simulation));
  const draw = simulation.random('read', runId, simulation.time.now());
  if (draw() < 0.2) nameAnother(simulation, employerId, draw);
}

function periodStartOf({ machine }: Simulation, runId: string): string {
  const query = 'select period_start from payroll_runs where run_id = ?';
  return machine.query<{ period_start: string }>(query, runId)[0]!.period_start;
}

function positionOf({ machine }: Simulation): number {
  return machine.query<{ position: number }>('select position from ledger_head')[0]?.position ?? 0;
}

function timesTold({ machine }: Simulation, runId: string): number {
  return machine.query(`select 1 from ${OUTDATED} and data ->> 'run_id' = ?`, runId).length;
}

function notePosition(simulation: Simulation): void {
  if (!simulation.machine.isUp()) return;
  reviewsOf(simulation).positions.push({ at: simulation.time.now(), position: positionOf(simulation) });
}

/** Returns the reads that a later fact outdates without a notification since. Any later notification counts. */
function untold(simulation: Simulation): string[] {
  const { machine, time, restFrom } = simulation;
  const { reads, positions } = reviewsOf(simulation);
  const untilTold = (at: number) => (at < restFrom ? UNTIL_TOLD_MS : UNTIL_TOLD_AT_REST_MS);
  const known = positions.findLast(({ at }) => at + untilTold(at) <= time.now())?.position ?? 0;
  notePosition(simulation);
  return reads.flatMap(({ runId, employerId, from, position, told }) => {
    if (timesTold(simulation, runId) > told) return [];
    const facts = machine.query(FACTS_OF_RUN, employerId, from, position, known);
    return facts.map(({ id }) => `${runId} was read at position ${position}, and ${id} outdates it`);
  });
}
