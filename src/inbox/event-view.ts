/** Events as the API and the command line show them. */
import Type from 'typebox';
import { syncsOfEvents } from '../census/sync-list.ts';
import type { Db } from '../database/tables.ts';
import { cursorOf } from '../formats/cursor.ts';
import { versionOfEvent } from '../ledger/record.ts';
import type { Conflict, StoredEvent } from './events.ts';
import { shownBody } from './stored-body.ts';

/** The position of a page in the list of events. */
export const eventCursor = cursorOf('events', Type.Integer({ minimum: 1 }));

export type EventView = ReturnType<typeof viewEvent>;

/** Returns an event without its body. */
export function viewEvent(event: StoredEvent) {
  return {
    id: event.event_id,
    envelope_id: event.envelope_id,
    event_type: event.event_type,
    state: event.state,
    reason: event.reason,
    source: event.source,
    received_at: event.received_at,
    finished_at: event.finished_at,
    dismissed_at: event.dismissed_at,
    dismissed_reason: event.dismissed_reason,
  };
}

/** Returns an event with its body and the other bodies received under its id. */
export function viewWholeEvent({ event, conflicts }: { event: StoredEvent; conflicts: readonly Conflict[] }) {
  return { ...viewEvent(event), ...shownBody(event), conflicts: conflicts.map(viewConflict) };
}

function viewConflict(conflict: Conflict) {
  const { conflict_id, received_at, dismissed_at, dismissed_reason } = conflict;
  return { id: String(conflict_id), received_at, ...shownBody(conflict), dismissed_at, dismissed_reason };
}

/** Returns what an event did. Both fields are null while it is pending, or if it did neither. */
export async function readEffects(db: Db, eventId: string) {
  const version = await versionOfEvent(db, eventId);
  const [sync] = await syncsOfEvents(db, [eventId]);
  return {
    deduction_version:
      version === undefined
        ? null
        : {
            id: String(version.position),
            ...version,
            late: version.late === 1,
            tie_changed: version.tie_changed === 1,
            future_dated: version.future_dated === 1,
          },
    census_sync: sync === undefined ? null : { id: sync.sync_id, employer_id: sync.employer_id },
  };
}
