import type { OutgoingEvent } from './events.ts';

/**
 * Where events go. An endpoint that answered nothing but failures over all attempts of an event is disabled, as the
 * provider does after days of them: it gets nothing more until a person enables it again and has what it missed sent.
 */
export type Destination = {
  readonly url: string;
  /** Null while events are sent to it. */
  disabledAt: Date | null;
  /** How often it acknowledged anything. */
  acknowledged: number;
  /** What it has not got, by id, oldest first. */
  readonly missed: Map<string, OutgoingEvent>;
};

/** A destination as it is shown. */
export type DestinationState = { url: string; disabledAt: Date | null; missed: number };

export function destination(url: string): Destination {
  return { url, disabledAt: null, acknowledged: 0, missed: new Map() };
}

/** It was acknowledged there. */
export function reached(to: Destination, eventId: string): void {
  to.acknowledged += 1;
  to.missed.delete(eventId);
}

/**
 * All attempts failed. `before` is how often the destination had acknowledged anything at the first of them. True
 * when this disabled it.
 */
export function gaveUp(to: Destination, event: OutgoingEvent, before: number, now: Date): boolean {
  to.missed.set(event.id, event);
  if (to.disabledAt !== null || to.acknowledged > before) return false;
  to.disabledAt = now;
  return true;
}

/** Sends to it again from now on. What it missed. */
export function enable(to: Destination): OutgoingEvent[] {
  to.disabledAt = null;
  const missed = [...to.missed.values()];
  to.missed.clear();
  return missed;
}

export function stateOf({ url, disabledAt, missed }: Destination): DestinationState {
  return { url, disabledAt, missed: missed.size };
}
