/** Notifications: most payroll systems have an address. An operator tests it, also while it is down. */
import { NOTIFY_PATH, NOTIFY_SECRET } from '../payroll-receiver.ts';
import type { Simulation } from '../simulation.ts';
import { HOUR_MS } from '../time.ts';
import type { Feature } from './features.ts';

const ADDRESS_SHARE = 0.7;

/** The rows of a table whose notification is missing. The first start configures the address, so each has one. */
const untold = (from: string, id: string, type: string, name: string): string => `
  select ${id} from ${from} and exists (select 1 from notification_head where types is not null)
    and not exists (select 1 from notifications where type = '${type}' and data ->> '${name}' = ${id})`;

/** The newest position of the ledger, until a notification has it. The sender looks once a second. */
export const UNTOLD_POSITION = `
  select position from ledger_head where position > 0 and exists (select 1 from notification_head where types is not null)
    and not exists (select 1 from notifications where type = 'ledger.changed' and data ->> 'position' = position)`;

export const NOTIFICATIONS: Feature = {
  plan(simulation) {
    if (!hasAddress(simulation)) return;
    const draw = simulation.random('notification tests');
    for (let count = 3; count > 0; count -= 1)
      simulation.schedule(draw(), 'notification test', async () => {
        const response = await simulation.machine.call('POST', '/v1/notifications/test');
        const { id } = (response?.status === 202 ? response.body : {}) as { id?: string };
        if (id !== undefined) simulation.confirm('select notification_id as id from notifications', id);
      });
  },
  invariants: {
    'a final run is told': untold("payroll_runs where state <> 'open'", 'run_id', 'run.finalized', 'run_id'),
    'a voided run is told': untold("payroll_runs where state = 'voided'", 'run_id', 'run.voided', 'run_id'),
    'a rejected change is told': untold(
      "outbox where state = 'rejected' and kind <> 'census'",
      'request_id',
      'change.rejected',
      'change_id',
    ),
    'a quarantined event is told': untold(
      "inbox where state = 'quarantined'",
      'event_id',
      'event.quarantined',
      'event_id',
    ),
    'without an address nothing is stored':
      'select notification_id from notifications where (select types from notification_head) is null',
    'what was told is stored': ({ machine, receiver }) => {
      const stored = new Set(machine.query('select notification_id as id from notifications').map(idOf));
      return [...receiver.read].filter((id) => !stored.has(id));
    },
    'what is delivered was accepted': ({ machine, receiver }) =>
      machine
        .query("select notification_id as id from notifications where state = 'delivered'")
        .map(idOf)
        .filter((id) => !receiver.accepted.has(id)),
  },
  rests: {
    'nothing waits to be told': ({ machine, time }) =>
      machine
        .query(
          "select notification_id as id from notifications where state = 'pending' and created_at < ?",
          new Date(time.now() - HOUR_MS).toISOString(),
        )
        .map(idOf),
    'the newest position is told': UNTOLD_POSITION,
  },
  situations: {
    'notification that failed': "notifications where state = 'failed'",
    'notification that was sent again': "notifications where state = 'delivered' and attempts > 1",
    'two notifications of a run': "notifications where type = 'run.voided' and state = 'delivered'",
    'notification that arrived twice': null,
  },
};

const idOf = ({ id }: { id?: unknown }): string => String(id);

export function hasAddress(simulation: Simulation): boolean {
  return simulation.random('notifications')() < ADDRESS_SHARE;
}

/** Returns the variables of the address. */
export function notifyOf(simulation: Simulation): Record<string, string> {
  if (!hasAddress(simulation)) return {};
  return { NOTIFY_URL: `http://127.0.0.1:9${NOTIFY_PATH}`, NOTIFY_SECRETS: NOTIFY_SECRET };
}
