import type { Envelope } from '../contract/envelope.ts';
import { DEDUCTION_UPDATED, type EventType } from '../contract/events.ts';
import { seededId } from './random.ts';

/** An event as it goes out: `id` is the id that its deliveries are signed with, `body` becomes their JSON. */
export type OutgoingEvent = { id: string; body: unknown };

/** An event made by the simulator, with an envelope of the interface's form. */
export type MadeEvent = { id: string; body: Envelope };

export type MakeEvent = (type: EventType, data: Record<string, unknown>) => MadeEvent;

/**
 * Makes events with ids of their own and `created_at` strictly increasing, so that order is never a question of
 * ties unless a caller writes one. The time of the start is part of every id: a simulator that is started again
 * with the same seed sends new events, not duplicates of its old ones.
 */
export function eventMaker(seed: number, now: () => Date): MakeEvent {
  const startedAt = now().getTime();
  let made = 0;
  let lastMs = 0;
  return (type, data) => {
    made += 1;
    const body: Envelope = { id: seededId('evt', seed, startedAt, made), event_type: type, data };
    // The interface shows created_at on the deduction event only.
    if (type === DEDUCTION_UPDATED) {
      lastMs = Math.max(now().getTime(), lastMs + 1);
      body.created_at = new Date(lastMs).toISOString();
    }
    return { id: seededId('msg', seed, startedAt, made), body };
  };
}
