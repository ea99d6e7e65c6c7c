/** Censuses: requested by the service, uploaded by payroll or fetched from its function, and completed by the service. */
import { fetchCensus, giveCensus, wrongUpload } from '../given-censuses.ts';
import type { Simulation } from '../simulation.ts';
import { areClocksOff, HOUR_MS, MINUTE_MS } from '../time.ts';
import { sendSync } from './events.ts';
import type { Feature } from './features.ts';

export const CENSUSES: Feature = {
  plan(simulation) {
    const { time, world, days } = simulation;
    for (const { id } of world.employers) {
      const draw = simulation.random('census', id);
      time.after(draw() * 60 * MINUTE_MS, 'census', () => push(simulation, id));
      time.after(draw() * 120 * MINUTE_MS, 'sync', () => sendSync(simulation, 'request', id));
      for (let count = Math.ceil(draw() * days * 0.3); count > 0; count -= 1) {
        simulation.schedule(draw(), 'sync', () => sendSync(simulation, 'request', id));
        // Two requests in a row share an upload.
        if (draw() < 0.3)
          simulation.schedule(draw(), 'syncs', () => {
            sendSync(simulation, 'request', id);
            time.after(1 + draw() * 1_000, 'sync', () => sendSync(simulation, 'request', id));
          });
        if (!world.hasFunction || draw() < 0.2)
          simulation.schedule(draw(), 'census', () => push(simulation, id));
      }
      if (draw() < SHRINKING_SHARE)
        simulation.schedule(0.3 + draw() * 0.6, 'shrink', () => shrink(simulation, id));
    }
  },
  onApplied(simulation, applied) {
    const { path, subject } = applied;
    if (!path.endsWith('/census')) return;
    const wrong = wrongUpload(simulation, applied);
    if (wrong !== null) simulation.breach(`the upload ${applied.key} ${wrong}`);
    const draw = simulation.random('completes', simulation.time.now());
    simulation.time.after((1 + draw() * 20) * MINUTE_MS, 'sync', () => {
      sendSync(simulation, 'complete', subject);
    });
  },
  rush(simulation) {
    for (const { id } of simulation.world.employers) {
      const draw = simulation.random('rush', id, simulation.time.now());
      push(simulation, id);
      for (const ms of [0, 90_000, 300_000])
        simulation.time.after(ms + draw() * 60_000, 'sync', () => sendSync(simulation, 'request', id));
    }
  },
  atRest(simulation) {
    const { world, time } = simulation;
    world.shrunk.clear();
    for (const { id } of world.employers) {
      push(simulation, id);
      for (const minutes of [20, 50])
        time.after(minutes * MINUTE_MS, 'release', () => release(simulation, id));
    }
  },
  invariants: {
    'a census that is being staged is not taken for abandoned': (simulation) =>
      areClocksOff(simulation)
        ? []
        : simulation.machine
            .query<{ resource_id: string }>(
              `select resource_id from ${STAGED} and details like '%ABANDONED%'`,
            )
            .map(({ resource_id }) => `the census ${resource_id} was removed while it was being staged`),
  },
  rests: {
    'a completed census sync was uploaded':
      "select sync_id from census_syncs where state = 'completed' and upload_started_at is null",
    'every census sync is completed or failed with a reason': `
      select sync_id, state, reason from census_syncs where dismissed_at is null and state <> 'completed'
      and (state <> 'failed' or reason is null)`,
  },
  situations: {
    'coalesced sync': 'census_syncs where request_id is not null group by request_id having count(*) > 1',
    'completed sync': "census_syncs where state = 'completed'",
    'census older than CENSUS_MAX_AGE': "outbox where state = 'canceled' and reason like '%CENSUS_MAX_AGE%'",
    'held census': "outbox where state = 'canceled' and reason like '%release the census%'",
    'released census': "audit_records where action = 'census-sync.release'",
    // Each staging ends with a clean-up.
    'clean-up during a staging': `audit_records as begun
      join audit_records as ended on ended.resource_id = begun.resource_id and ended.record_id > begun.record_id
      join audit_records as other on other.record_id > begun.record_id and other.record_id < ended.record_id
      where begun.action = 'census.stage' and other.action = 'census.stage'
        and other.resource_id <> begun.resource_id and other.details like '%"phase":"end"%'`,
  },
};

const STAGED = "audit_records where action = 'census.stage'";
/** The share of employers whose census once lacks almost everyone. */
const SHRINKING_SHARE = 0.6;

/** The census lacks almost everyone for hours. Then it is corrected, or a person releases it first. */
function shrink(simulation: Simulation, employerId: string): void {
  const { world, time } = simulation;
  const draw = simulation.random('shrink', employerId);
  const correct = (): void => {
    world.shrunk.delete(employerId);
    push(simulation, employerId);
  };
  world.shrunk.add(employerId);
  push(simulation, employerId);
  time.after(draw() * 10 * MINUTE_MS, 'sync', () => sendSync(simulation, 'request', employerId));
  const isRight = draw() < 0.5;
  time.after((1 + draw()) * HOUR_MS, 'shrink', () => (isRight ? release(simulation, employerId) : correct()));
  time.after(6 * HOUR_MS, 'shrink', correct);
}

/** Releases the census of a held sync, if there is one. */
async function release({ machine }: Simulation, employerId: string): Promise<void> {
  const held = await machine.call('GET', `/v1/census-syncs?employer_id=${employerId}&state=held&limit=1`);
  const [sync] = (held?.body as { data?: { id: string }[] } | undefined)?.data ?? [];
  if (sync === undefined) return;
  await machine.call('POST', `/v1/census-syncs/${sync.id}/release`, { reason: 'a branch was sold' });
}

/** Returns the census for the function source. Other censuses are staged, and cleaned up after, while it arrives. */
export function fetched(simulation: Simulation, employerId: string) {
  return fetchCensus(simulation, employerId, () => {
    for (const { id } of simulation.world.employers) push(simulation, id);
  });
}

export function push(simulation: Simulation, employerId: string): void {
  const { machine, persist } = simulation;
  const url = `/v1/employers/${employerId}/census`;
  persist('census push', () => machine.call('PUT', url, giveCensus(simulation, employerId)), [200]);
}
