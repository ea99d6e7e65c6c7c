import type { OutgoingEvent } from './events.ts';

/**
 * Where events are sent. An endpoint that failed all attempts of an event is disabled, as the provider does
 * after days: it receives nothing until it is enabled again, and then what it missed.
 */
export type Destination = {
  readonly url: string;
  /** Null while events are sent to it. */
  disabledAt: Date | null;
  /** How many deliveries it acknowledged. */
  acknowledged: number;
  /** Events that it did not receive, by id, oldest first. */
  readonly missed: Map<string, OutgoingEvent>;
};

export type DestinationState = { url: string; disabledAt: Date | null; missed: number };

export function destination(url: string): Destination {
  return { url, disabledAt: null, acknowledged: 0, missed: new Map() };
}

/** Records an acknowledged delivery. */
export function reached(to: Destination, eventId: string): void {
  to.acknowledged += 1;
  to.missed.delete(eventId);
}

/**
 * Records that all attempts failed. `before` is how many deliveries were acknowledged before the first of
 * them. Returns whether this disabled the destination.
 */
export function gaveUp(to: Destination, event: OutgoingEvent, before: number, now: Date): boolean {
  to.missed.set(event.id, event);
  if (to.disabledAt !== null || to.acknowledged > before) return false;
  to.disabledAt = now;
  return true;
}

/** Enables the destination and returns the events that it missed. */
export function enable(to: Destination): OutgoingEvent[] {
  to.disabledAt = null;
  const missed = [...to.missed.values()];
  to.missed.clear();
  return missed;
}

export function stateOf({ url, disabledAt, missed }: Destination): DestinationState {
  return { url, disabledAt, missed: missed.size };
}
