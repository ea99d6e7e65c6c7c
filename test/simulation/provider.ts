/** The delivery provider: signs events, retries for 27.5 hours, and drops, repeats, delays and reorders what it sends. */
import { type Random, seededRandom } from '../../src/simulator/random.ts';
import { signEvent } from '../../src/simulator/sign.ts';
import { WEBHOOK_SECRET } from './machine.ts';
import type { Simulation } from './simulation.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from './time.ts';

type Event = { id: string; body: string };

/** The wait before each attempt (field notes). */
const ATTEMPTS_MS = [
  ...[0, 5_000, 5 * MINUTE_MS, 30 * MINUTE_MS],
  ...[2 * HOUR_MS, 5 * HOUR_MS, 10 * HOUR_MS, 10 * HOUR_MS],
];
/** More deliveries than one transaction stores. */
const BURST = 300;
/** The provider does not wait longer for a response. */
const RESPONSE_MS = 15_000;

export const DELIVERY_FAULTS = ['drop', 'lose', 'duplicate', 'delay', 'reorder'] as const;
export type DeliveryFault = (typeof DELIVERY_FAULTS)[number];

export type Provider = ReturnType<typeof createProvider>;

export function createProvider(simulation: Simulation) {
  const { time, seed, machine, trace, saw, breach } = simulation;
  /** The first body that was sent or imported under each id. Acknowledged bodies are kept by id, too. */
  const sent = new Map<string, Event>();
  const acknowledged = new Map<string, Event>();
  const unacknowledged = new Set<string>();

  const suffers = (draw: Random, share: number, fault: DeliveryFault): boolean =>
    draw() < share && simulation.faults.isOn(fault);

  const attempt = (event: Event, number: number, draw: Random): void => {
    const isDropped = suffers(draw, 0.3, 'drop');
    const isLost = suffers(draw, 0.2, 'lose');
    if (suffers(draw, 0.3, 'duplicate')) post(event, false, isLost);
    if (isDropped) {
      trace.add(`provider drops ${event.id}`);
      retry(event, number, draw);
      return;
    }
    void post(event, isLost, isLost).then((isAcknowledged) => {
      if (!isAcknowledged) retry(event, number, draw);
    });
  };

  /** Sends a delivery and returns whether it is acknowledged. The provider does not see a lost response. */
  const post = async (event: Event, isLost: boolean, isQuiet: boolean): Promise<boolean> => {
    const status = await statusOf(event, isLost);
    if (!isQuiet) trace.add(`provider ${event.id} ${status}`);
    return status === 204 && !isLost;
  };

  /** Sends a delivery and returns the status of its response. */
  const statusOf = async ({ id, body }: Event, isLost: boolean): Promise<number | 'none' | 'late'> => {
    const late = new Promise<'late'>((resolve) =>
      time.after(RESPONSE_MS, 'provider waits', () => resolve('late')),
    );
    const headers = signEvent(WEBHOOK_SECRET, id, new Date(time.now()), body);
    const status = (await Promise.race([machine.deliver({ ...headers }, body), late])) ?? 'none';
    if (status === 204 && !isLost) {
      const first = sent.get(id);
      if (first !== undefined) acknowledged.set(id, first);
      if (first?.body === body) unacknowledged.delete(id);
    }
    return status;
  };

  const keep = (event: Event): void => {
    sent.set(event.id, event);
    unacknowledged.add(event.id);
  };

  const retry = (event: Event, number: number, draw: Random): void => {
    const wait = ATTEMPTS_MS[number + 1];
    // The provider gives the event up. Its portal can still replay it.
    if (wait === undefined || !unacknowledged.has(event.id)) return;
    time.after(wait * (0.9 + draw() / 5), 'provider', () => attempt(event, number + 1, draw));
  };

  return {
    sent,
    acknowledged,
    unacknowledged,
    send(event: Event): void {
      const draw = seededRandom(seed, 'delivery', event.id, sent.has(event.id) ? 1 : 0);
      if (!sent.has(event.id)) keep(event);
      const delay = suffers(draw, 0.1, 'delay') ? draw() * 3 * DAY_MS : 0;
      const swap = suffers(draw, 0.3, 'reorder') ? draw() * 2 * MINUTE_MS : 0;
      time.after(delay + swap + draw() * 2_000, 'provider', () => attempt(event, 0, draw));
    },
    /** Notes an event that payroll imports and nobody delivers. */
    imported: (id: string, body: string): void => void sent.set(id, { id, body }),
    /** Sends many events at once. Each is acknowledged or refused with 503, whatever happens to the others. */
    async burst(name: string): Promise<void> {
      const events = Array.from({ length: BURST }, (_, index): Event => {
        const id = `msg-${name}-${index}`;
        return { id, body: JSON.stringify({ id, event_type: 'employee.unheard-of', data: {} }) };
      });
      for (const event of events) keep(event);
      const statuses = await Promise.all(events.map((event) => statusOf(event, false)));
      trace.add(`provider burst ${name} ${[...new Set(statuses)]}`);
      if (statuses.includes(204) && statuses.includes(503)) saw('burst of which a part was stored');
      for (const [index, event] of events.entries()) {
        const status = statuses[index];
        if (status === 204) continue;
        if (status === 'late') breach(`${event.id} of a burst got no response`);
        retry(event, 0, seededRandom(seed, 'delivery', event.id));
      }
    },
    /** Sends again what is not acknowledged, as an operator does in the provider's portal. */
    replay(): void {
      for (const id of unacknowledged) {
        const event = sent.get(id);
        if (event !== undefined) attempt(event, 0, seededRandom(seed, 'replay', id, time.now()));
      }
    },
  };
}
