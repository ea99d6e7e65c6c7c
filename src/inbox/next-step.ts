/** The action that helps with an event. */
import type { Db } from '../database/tables.ts';
import type { EventEffect } from './event-effects.ts';
import type { StoredEvent, WholeEvent } from './events.ts';
import { namedIn } from './named-in-event.ts';
import { parseEvent } from './parse-event.ts';
import { type Described, describeEvents } from './unapplied.ts';

export const NEXT_STEPS = ['none', 'wait', 'reprocess', 'dismiss', 'compare', 'correct'] as const;
type NextStep = (typeof NEXT_STEPS)[number];

/** Returns what is known of a quarantined event that is not dismissed; null for other events. */
export async function describeEvent(db: Db, event: StoredEvent): Promise<Described | null> {
  const { event_id: eventId, received_at: receivedAt, body } = event;
  if (event.state !== 'quarantined' || event.dismissed_at !== null) return null;
  const quarantined = { eventId, receivedAt, named: namedIn(body) };
  return (await describeEvents(db, [quarantined])).get(eventId) ?? null;
}

/**
 * Returns the action that helps. A quarantined event is reprocessed if its body meets the contract now, dismissed if a newer
 * event of its deduction was applied, and otherwise the service must send a corrected one. Another event is dismissed if it was
 * the first with a change of the contract.
 */
export function nextStepOf(
  { event, conflicts }: WholeEvent,
  { version, flags }: Pick<EventEffect, 'version' | 'flags'>,
  described: Described | null,
): NextStep {
  const { state, body, dismissed_at } = event;
  if (conflicts !== null && conflicts.dismissed_at === null) return 'compare';
  if (state === 'pending') return 'wait';
  if (dismissed_at !== null) return 'none';
  if (version?.tie_changed === 1) return 'compare';
  if (version?.future_dated === 1) return 'correct';
  const otherwise = flags.includes('contract-changed') ? 'dismiss' : 'none';
  if (state === 'applied' || body === null) return otherwise;
  const { kind } = parseEvent(body).meaning;
  if (state === 'ignored') return kind === 'ignored' ? otherwise : 'reprocess';
  if (kind !== 'quarantined') return 'reprocess';
  return described?.isOutdated === true ? 'dismiss' : 'correct';
}
