/** Tells that no events arrive any more. */
import type { Question } from '../checks.ts';
import type { Computed } from '../notifications/computed.ts';
import { EVENTS_STALE } from './checks.ts';

export function silentEvents(question: () => Promise<Question>): Computed<'events.silent'> {
  return {
    type: 'events.silent',
    async *states(db) {
      const [silent] = await EVENTS_STALE.find(db, await question());
      if (silent === undefined) yield { subject: 'events', ended: null };
      else yield { told: { last_event_at: silent.age.hasEvents ? silent.age.since : null } };
    },
  };
}
