/** Pilots: some databases start with `SENDING=off`. Sidecars restart without it, and then an operator turns sending on. */
import { requestSyncManually } from '../../../src/census/syncs.ts';
import { openDatabase } from '../../../src/database/open.ts';
import { transact } from '../../../src/database/transaction.ts';
import { planEndOfPilot, turnSendingOn } from '../../../src/operations/pilot.ts';
import { SENDING_OFF } from '../../../src/outbox/pilot.ts';
import { SYSTEM } from '../../../src/security/audit.ts';
import type { Simulation } from '../simulation.ts';
import { MINUTE_MS } from '../time.ts';
import type { Feature } from './features.ts';

const PILOT_SHARE = 0.25;

/** The simulations whose sidecars start with an API key, as before the end of their pilots. */
const keyed = new WeakSet<Simulation>();

/** The first audit record of the end. Nothing was recorded in the pilot after it. */
const END = "(select min(record_id) from audit_records where action = 'sending.on')";
const CHANGES = `pilot join audit_records on action = 'change.report' join outbox on request_id = resource_id
  where (ended_at is null or record_id < ${END})`;
/** The order of the rows is the order in which they were added. */
const SYNCS = `census_syncs where rowid < (
  select min(later.rowid) from census_syncs as later join audit_records on resource_id = sync_id
  where action = 'census-sync.request' and record_id > ${END})`;
const DISMISSED = `dismissed_reason = '${SENDING_OFF}'`;

export const PILOT: Feature = {
  plan(simulation) {
    if (!hasPilot(simulation)) return;
    const draw = simulation.random('pilot', 'end');
    simulation.schedule(0.2 + draw() * 0.4, 'key', () => restartWithKey(simulation));
  },
  onReceived({ machine, breach }, requestId) {
    for (const { why } of machine.query(UNWANTED, requestId, requestId))
      breach(`the service received ${requestId} ${why}`);
  },
  invariants: {
    'a change of a pilot ends unsent': `
      select request_id, state, attempts from ${CHANGES}
      and (state <> 'canceled' or outbox.reason <> '${SENDING_OFF}' or attempts > 0)`,
    'a census sync of a pilot ends unsent': `
      select sync_id, state from ${SYNCS} and (state <> 'dismissed' or upload_started_at is not null)`,
    'the end of a pilot requests the census of each employer that it names': `
      select employer_id from audit_records as ended where action = 'sending.on' and not exists (
        select 1 from audit_records as requested where requested.action = 'census-sync.request'
          and requested.employer_id = ended.employer_id and requested.record_id > ended.record_id)`,
    // A change of an employee that no census names yet has no employer.
    'the end of a pilot names each employer of the pilot': `
      select employer_id from audit_records as earlier where action in ('change.report', 'census-sync.dismiss')
      and employer_id is not null and record_id < ${END} and not exists (select 1 from audit_records as ended
        where ended.action = 'sending.on' and ended.employer_id = earlier.employer_id)`,
  },
  rests: { 'a pilot has ended': 'select started_at from pilot where ended_at is null' },
  situations: {
    'change of a pilot': `${CHANGES} and ended_at is not null`,
    'census sync of a pilot': SYNCS,
    'start in a pilot without SENDING': null,
    'census sync just before the end of a pilot': null,
  },
};

const UNWANTED = `
  select 'while a pilot is stored' as why from pilot where ended_at is null
  union all select 'that was reported in a pilot' from ${CHANGES} and request_id = ?
  union all select 'that was requested in a pilot' from census_syncs where request_id = ?
    group by request_id having count(*) = count(*) filter (where ${DISMISSED})`;

function hasPilot(simulation: Simulation): boolean {
  return simulation.random('pilot')() < PILOT_SHARE;
}

/** Returns whether a sidecar that starts now has an API key, and its SENDING. `isFirst`: none has started yet. */
export function sendingOf(simulation: Simulation, isFirst: boolean): { hasKey: boolean; isOff: boolean } {
  const hasKey = !hasPilot(simulation) || keyed.has(simulation);
  if (!isFirst && !hasKey) simulation.saw('start in a pilot without SENDING');
  return { hasKey, isOff: isFirst && !hasKey };
}

/** Restarts the sidecar with an API key, still in the pilot, and ends it later. */
function restartWithKey(simulation: Simulation): void {
  const { time, machine } = simulation;
  if (!machine.isUp()) {
    time.after(MINUTE_MS, 'key', () => restartWithKey(simulation));
    return;
  }
  keyed.add(simulation);
  void machine.stop('second');
  void machine.stop('first');
  endLater(simulation);
}

/** Tries to end the pilot until it has ended. The machine may crash in the middle. */
function endLater(simulation: Simulation): void {
  const { time, machine, trace } = simulation;
  const draw = simulation.random('pilot', 'end', time.now());
  time.after((5 + draw() * 60) * MINUTE_MS, 'sending on', async () => {
    if (machine.isUp() && machine.query('select 1 from pilot where ended_at is not null').length > 0) return;
    endLater(simulation);
    if (!machine.isUp()) return;
    if (draw() < 0.5) simulation.rush();
    const readsForMs = draw() < 0.6 ? null : draw() * 2 * MINUTE_MS;
    await turnOn(simulation, readsForMs).catch((error) => trace.add(`sending on: ${error}`));
  });
}

/** Does what `sending on` does. The operator reads the list for some time, and answers; null: at once, just after `census sync`. */
async function turnOn(simulation: Simulation, readsForMs: number | null): Promise<void> {
  const { machine, time, trace, world, saw } = simulation;
  const db = openDatabase(machine.databaseUrl);
  const sharedNow = async () => new Date(time.now() + machine.skewMs);
  try {
    if (readsForMs === null) {
      // A command wakes no sidecar, so the pilot ends before a send loop has seen the request.
      const request = { employerId: world.employers[0]!.id, actor: SYSTEM };
      await transact(db, async (trx) =>
        requestSyncManually(trx, { ...request, now: (await sharedNow()).toISOString() }),
      );
    }
    const planned = await planEndOfPilot(db);
    if (readsForMs !== null) await time.pass(readsForMs);
    await turnSendingOn(db, planned, { actor: SYSTEM, sharedNow });
    trace.add('sending is on');
    if (readsForMs === null) saw('census sync just before the end of a pilot');
  } finally {
    await db.destroy();
  }
}
