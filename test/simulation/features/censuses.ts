/** Censuses: requested by the service, uploaded by payroll or fetched from its function, and completed by the service. */
import type { Simulation } from '../simulation.ts';
import { MINUTE_MS } from '../time.ts';
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
    }
  },
  onApplied(simulation, { path, subject }) {
    if (!path.endsWith('/census')) return;
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
    for (const { id } of simulation.world.employers) push(simulation, id);
  },
  rests: {
    'every census sync is completed or failed with a reason': `
      select sync_id, state, reason from census_syncs where dismissed_at is null and state <> 'completed'
      and (state <> 'failed' or reason is null)`,
  },
  situations: {
    'coalesced sync': 'census_syncs where request_id is not null group by request_id having count(*) > 1',
    'completed sync': "census_syncs where state = 'completed'",
  },
};

function push(simulation: Simulation, employerId: string): void {
  const { world, machine, time, persist } = simulation;
  const url = `/v1/employers/${employerId}/census`;
  persist('census push', () => machine.call('PUT', url, world.census(employerId, time.now())), [200]);
}
