/** The delivery provider: signs events, retries for 27.5 hours, and drops, repeats, delays and reorders what it sends. */
import { seededRandom } from '../../src/simulator/random.ts';
import { signEvent } from '../../src/simulator/sign.ts';
import type { Time } from './time.ts';
import type { Trace } from './trace.ts';

export type Event = { id: string; body: string };

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
/** The wait before each attempt (field notes). */
const ATTEMPTS_MS = [
  0,
  5_000,
  5 * MINUTE_MS,
  30 * MINUTE_MS,
  2 * HOUR_MS,
  5 * HOUR_MS,
  10 * HOUR_MS,
  10 * HOUR_MS,
];
/** The provider does not wait longer for a response. */
const RESPONSE_MS = 15_000;

export const DELIVERY_FAULTS = ['drop', 'lose', 'duplicate', 'delay', 'reorder'] as const;
export type DeliveryFault = (typeof DELIVERY_FAULTS)[number];

export type ProviderOptions = {
  time: Time;
  seed: number;
  secret: string;
  /** Delivers to the sidecar. Null: no response. */
  post: (headers: Record<string, string>, body: string) => Promise<number | null>;
  /** Whether the deliveries suffer a fault now. */
  suffers: (fault: DeliveryFault) => boolean;
  trace: Trace;
};

export type Provider = ReturnType<typeof createProvider>;

export function createProvider({ time, seed, secret, post, suffers, trace }: ProviderOptions) {
  /** The first body that was sent under each id. Acknowledged bodies are kept by id, too. */
  const sent = new Map<string, Event>();
  const acknowledged = new Map<string, Event>();
  const unacknowledged = new Set<string>();

  const attempt = (event: Event, number: number, draw: () => number): void => {
    const chance = (fault: DeliveryFault, share: number): boolean => draw() < share && suffers(fault);
    const isDropped = chance('drop', 0.3);
    const isLost = chance('lose', 0.2);
    if (chance('duplicate', 0.3)) once(event, false, isLost);
    if (isDropped) {
      trace.add(`provider drops ${event.id}`);
      again(event, number, draw);
      return;
    }
    void once(event, isLost, isLost).then((isAcknowledged) => {
      if (!isAcknowledged) again(event, number, draw);
    });
  };

  const once = async ({ id, body }: Event, isLost: boolean, isQuiet: boolean): Promise<boolean> => {
    let isLate = false;
    const late = new Promise<null>((resolve) =>
      time.after(RESPONSE_MS, 'provider waits', () => {
        isLate = true;
        resolve(null);
      }),
    );
    const posted = post({ ...signEvent(secret, id, new Date(time.now()), body) }, body);
    const status = await Promise.race([posted, late]);
    if (!isQuiet) trace.add(`provider ${id} ${status ?? (isLate ? 'late' : 'none')}`);
    if (status !== 204 || isLost) return false;
    const first = sent.get(id);
    if (first !== undefined) acknowledged.set(id, first);
    if (first?.body === body) unacknowledged.delete(id);
    return true;
  };

  const again = (event: Event, number: number, draw: () => number): void => {
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
      if (!sent.has(event.id)) {
        sent.set(event.id, event);
        unacknowledged.add(event.id);
      }
      const delay = draw() < 0.1 && suffers('delay') ? draw() * 3 * 24 * HOUR_MS : 0;
      const swap = draw() < 0.3 && suffers('reorder') ? draw() * 2 * MINUTE_MS : 0;
      time.after(delay + swap + draw() * 2_000, 'provider', () => attempt(event, 0, draw));
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
