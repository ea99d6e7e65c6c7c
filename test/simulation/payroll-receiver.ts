/** The payroll system that receives notifications: a dispatcher of the real sender. It checks each against the database. */
import type { Dispatcher } from 'undici';
import type { NotificationType } from '../../src/notifications/types.ts';
import { signedHeaders } from '../../src/notifications/webhook.ts';
import { between } from '../../src/simulator/random.ts';
import { createExchange, socketError } from './exchange.ts';
import type { Simulation } from './simulation.ts';

export const NOTIFY_PATH = '/notified';
export const NOTIFY_SECRET = `whsec_${Buffer.alloc(32, 'notify').toString('base64')}`;

/** How the receiver responds. `lost` accepts a notification and loses the response. */
export const RECEIVER_TROUBLES = ['down', 'hang', '500', '401', 'redirect', 'lost', 'html'] as const;
export type ReceiverTrouble = (typeof RECEIVER_TROUBLES)[number];

const RESPONSES: Partial<Record<ReceiverTrouble, [number, Record<string, string>, string]>> = {
  '500': [500, {}, 'broken'],
  '401': [401, {}, ''],
  redirect: [302, { location: '/login' }, ''],
  html: [200, { 'content-type': 'text/html' }, '<html>maintenance</html>'],
};

type Body = { type: NotificationType; data: Record<string, string | number> };

export type PayrollReceiver = ReturnType<typeof createPayrollReceiver>;

export function createPayrollReceiver(simulation: Simulation) {
  const { time, trace, saw, breach } = simulation;
  const draw = simulation.random('payroll receiver');
  /** The troubles of the faults that are on. The last one counts. */
  const troubles = new Map<string, ReceiverTrouble>();
  const accepted = new Set<string>();
  /** The ids that it read. One of `ledger.changed` may have been replaced meanwhile. */
  const read = new Set<string>();
  let generation = 0;

  /** Checks a notification as it arrives: signed, committed, and after the earlier ones of its subject. */
  const receive = (id: string, body: string, headers: Record<string, string>): void => {
    const { query } = simulation.machine;
    const at = new Date(Number(headers['webhook-timestamp']) * 1_000);
    const expected = signedHeaders([NOTIFY_SECRET], id, at, body)['webhook-signature'];
    if (headers['webhook-signature'] !== expected) breach(`the notification ${id} has a wrong signature`);
    if (accepted.has(id)) saw('notification that arrived twice');
    const { type, data } = JSON.parse(body) as Body;
    if (type === 'ledger.changed') {
      const [ledger] = query<{ position: number }>('select position from ledger_head');
      if (Number(data.position) > (ledger?.position ?? 0))
        breach(`the position ${data.position} is told and not stored`);
      return;
    }
    read.add(id);
    const [row] = query('select data from notifications where notification_id = ?', id);
    if (row?.data !== JSON.stringify(data)) breach(`the notification ${id} is told and not stored`);
    const earlier = query(
      `select earlier.notification_id as id from notifications join notifications as earlier
         on earlier.subject = notifications.subject and earlier.seq < notifications.seq
       where notifications.notification_id = ? and earlier.state <> 'failed'`,
      id,
    );
    for (const { id: before } of earlier)
      if (!accepted.has(String(before))) breach(`the notification ${id} is told before ${before}`);
  };

  return {
    troubles,
    accepted: accepted as ReadonlySet<string>,
    read: read as ReadonlySet<string>,
    /** Drops the connections of processes that ended. */
    dropConnections(): void {
      generation += 1;
    },
    dispatch({ body, headers }: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean {
      const exchange = createExchange(handler);
      handler.onRequestStart?.(exchange.controller, {});
      // A process that ended sends nothing.
      if (simulation.machine.hasCrashed()) return true;
      const mine = generation;
      const sent = headers as Record<string, string>;
      const id = String(sent['webhook-id']);
      const trouble = [...troubles.values()].at(-1) ?? null;
      trace.add(`payroll receives ${id} ${trouble ?? 'ok'}`);
      if (trouble !== 'down') receive(id, String(body), sent);
      time.after(between(draw, 20, 900), 'payroll receiver', () => {
        if (mine !== generation || exchange.controller.aborted || trouble === 'hang') return;
        if (trouble === null || trouble === 'lost' || trouble === 'html') accepted.add(id);
        if (trouble === 'down' || trouble === 'lost') exchange.fail(socketError());
        else exchange.respond(...((trouble && RESPONSES[trouble]) ?? [204, {}, '']));
      });
      return true;
    },
  };
}
