/** What must hold: after each step on its rows, at quiet points on everything, and at rest. */
import { breaches } from '../support/oracle.ts';
import { FEATURES } from './features/features.ts';
import type { Simulation } from './simulation.ts';

type Progress = { position: number; acknowledged: number };

const progress = new WeakMap<Simulation, Progress>();

/** Checks the rows of a step: contiguous positions, one request of a subject at a time, nothing acknowledged missing. */
export function checkStep(simulation: Simulation): void {
  const { machine, provider } = simulation;
  const { query } = machine;
  const before = progress.get(simulation) ?? { position: 0, acknowledged: 0 };
  const added = query<{ position: number }>(
    `select position from deduction_versions where position > ?
     union all select position from roster_facts where position > ?
     union all select position from start_decisions where position > ? order by position`,
    ...[before.position, before.position, before.position],
  );
  for (const [index, { position }] of added.entries()) {
    if (position !== before.position + index + 1) {
      simulation.breach(`position ${before.position + index + 1} is missing or taken twice`);
      return;
    }
  }
  const overtaken = query(
    `select later.request_id from outbox as later join outbox as earlier
       on earlier.subject_type = later.subject_type and earlier.subject_id = later.subject_id
         and earlier.seq < later.seq
     where later.state = 'sending' and earlier.finished_at is null limit 1`,
  );
  for (const { request_id } of overtaken)
    simulation.breach(`${request_id} is sent before an earlier request`);
  for (const id of [...provider.acknowledged.keys()].slice(before.acknowledged)) {
    if (query('select 1 from inbox where event_id = ?', id).length === 0) {
      simulation.breach(`${id} was acknowledged and is not stored`);
    }
  }
  const position = before.position + added.length;
  progress.set(simulation, { position, acknowledged: provider.acknowledged.size });
}

/** Checks everything, when nothing is under way. */
export async function checkWhole(simulation: Simulation): Promise<void> {
  const { provider, machine } = simulation;
  const { databaseUrl } = machine;
  const found = await breaches({
    databaseUrl,
    acknowledged: provider.acknowledged.values(),
    sent: provider.sent,
  });
  for (const what of found) simulation.breach(what);
  for (const { invariants = [] } of FEATURES) {
    for (const { name, broken } of invariants) {
      for (const what of await broken(simulation)) simulation.breach(`${name}: ${what}`);
    }
  }
}

/** Checks what must hold two hours after the last fault. */
export async function checkRest(simulation: Simulation): Promise<void> {
  for (const { rests = [] } of FEATURES) {
    for (const { name, broken } of rests) {
      for (const what of await broken(simulation)) simulation.breach(`${name}: ${what}`);
    }
  }
}
