/** Events as the API and the command line show them. */
import type { Selectable } from 'kysely';
import Type from 'typebox';
import type { Db, VersionTable } from '../database/tables.ts';
import { cursorOf } from '../formats/cursor.ts';
import type { Conflict, StoredEvent } from './events.ts';
import { shownBody } from './stored-body.ts';

/** An event without its body. */
export type EventView = { id: string } & Pick<
  StoredEvent,
  | 'envelope_id'
  | 'event_type'
  | 'state'
  | 'reason'
  | 'source'
  | 'received_at'
  | 'finished_at'
  | 'dismissed_at'
  | 'dismissed_reason'
>;

/** The position of a page in the list of events. */
export const eventCursor = cursorOf('events', Type.Integer({ minimum: 1 }));

/** Returns an event without its body. */
export function viewEvent(event: StoredEvent): EventView {
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
  const version = await db
    .selectFrom('deduction_versions')
    .select(['deduction_id', 'version', 'position', 'late', 'tie_changed', 'future_dated'])
    .where('event_id', '=', eventId)
    .executeTakeFirst();
  const sync = await db
    .selectFrom('census_syncs')
    .select(['sync_id as id', 'employer_id'])
    .where('event_id', '=', eventId)
    .executeTakeFirst();
  return {
    deduction_version: version === undefined ? null : viewRecorded(version),
    census_sync: sync ?? null,
  };
}

type Recorded = Pick<
  Selectable<VersionTable>,
  'deduction_id' | 'version' | 'position' | 'late' | 'tie_changed' | 'future_dated'
>;

function viewRecorded({ late, tie_changed, future_dated, ...version }: Recorded) {
  return {
    id: String(version.position),
    ...version,
    late: late === 1,
    tie_changed: tie_changed === 1,
    future_dated: future_dated === 1,
  };
}
