/** Erasures: an employer leaves the payroll system, and a person erases its census while the service may still request one. */
import type { Simulation } from '../simulation.ts';
import { MINUTE_MS } from '../time.ts';
import { dayOf, daysAfter } from '../world.ts';
import { push } from './censuses.ts';
import { send } from './changes.ts';
import { sendSync } from './events.ts';
import type { Feature } from './features.ts';

/** Selects the last record of an action about a census or an employer. */
const lastOf = (action: string, about: string): string =>
  `(select max(record_id) from audit_records as made where made.action = '${action}' and ${about})`;
const ERASED = `staged_censuses where ${lastOf('census.stage', 'made.resource_id = staged_censuses.census_id')}
  < ${lastOf('census.erase', 'made.employer_id = staged_censuses.employer_id')}`;

export const ERASURES: Feature = {
  plan(simulation) {
    const { world } = simulation;
    if (world.leaving === null) return;
    const { id } = world.leaving;
    const draw = simulation.random('leaving');
    const share = 0.2 + draw() * 0.6;
    for (const part of [0, 0.5, 1]) {
      simulation.schedule(share * part, 'census', () => push(simulation, id));
      simulation.schedule(share * part + draw() * 0.01, 'sync', () => sendSync(simulation, 'request', id));
    }
    simulation.schedule(share + draw() * 0.01, 'leave', () => leave(simulation, id));
  },
  atRest(simulation) {
    const { world, time } = simulation;
    // What the service requested after the erasure waits for a census.
    if (world.leaving !== null)
      time.after(75 * MINUTE_MS, 'leave', () => leave(simulation, world.leaving!.id));
  },
  invariants: {
    'an erased census is not used': `select census_id, state from ${ERASED} and (state <> 'abandoned' or uploaded_at is not null)`,
    'names are erased with the census': `
      select employee_id from employee_names
      where ${lastOf('census.stage', 'made.employer_id = employee_names.employer_id')}
        < ${lastOf('census.erase', 'made.employer_id = employee_names.employer_id')}`,
  },
  rests: {
    'an erased census has no contents': `
      select census_id from ${ERASED} and (census_id in (select census_id from census_chunks)
        or census_id in (select census_id from census_fingerprints))`,
  },
  situations: {
    'erased census': ERASED,
    'erasure that dismisses a sync': `audit_records where action = 'census.erase' and details not like '%"syncs":0%'`,
    'erasure while somebody is active': null,
  },
};

/** Reports that everybody has left, and then erases the census. A census that was under way may bring people back. */
function leave(simulation: Simulation, employerId: string): void {
  const { world, time, machine, persist, saw } = simulation;
  const draw = simulation.random('leave', time.now());
  const termination_date = daysAfter(dayOf(time.now()), -4);
  for (const person of world.of(employerId).people) {
    person.terminated = termination_date;
    const { employee_id } = person.employee;
    const body = { employee_id, termination_date };
    time.after(draw() * 2 * MINUTE_MS, 'leave', () =>
      send(simulation, 'termination', body, `${employee_id}-left-${time.now()}`),
    );
  }
  const url = `/v1/employers/${employerId}/census`;
  const erase = () => machine.call('DELETE', url, { reason: 'the employer left' });
  time.after(draw() * 3 * MINUTE_MS, 'erase', () =>
    persist('erase', erase, [200, 409], ({ status }) => {
      if (status === 200) return;
      saw('erasure while somebody is active');
      time.after(10 * MINUTE_MS, 'leave', () => leave(simulation, employerId));
    }),
  );
}
