/** Events as the API and the command line show them. */
import type { Selectable } from 'kysely';
import type { ConflictTable, Db, Trx } from '../database/tables.ts';
import { type AddedVersion, type EventEffect, effectsOfEvents } from './event-effects.ts';
import type { KeptBody, StoredEvent, WholeEvent } from './events.ts';
import { describeEvent, nextStepOf } from './next-step.ts';
import { withoutAmounts } from './unapplied.ts';

export type EventView = Awaited<ReturnType<typeof viewEvents>>[number];

/** Returns events in the given order. `seesSubject`: whether the caller sees whom and which amounts they name. */
export async function viewEvents(db: Db | Trx, events: readonly StoredEvent[], seesSubject: boolean) {
  const effects = await effectsOfEvents(db, events);
  return events.map((event) => viewEvent(event, effects.get(event.event_id) as EventEffect, seesSubject));
}

function viewEvent(event: StoredEvent, { effect, subject, days, flags }: EventEffect, seesSubject: boolean) {
  return {
    id: event.event_id,
    envelope_id: event.envelope_id,
    event_type: event.event_type,
    state: event.state,
    effect,
    in_effect: days,
    flags,
    subject: seesSubject ? subject : null,
    reason: event.reason,
    source: event.source,
    received_at: event.received_at,
    finished_at: event.finished_at,
    dismissed_at: event.dismissed_at,
    dismissed_reason: event.dismissed_reason,
  };
}

export async function viewWholeEvent(db: Db, { event, conflicts }: WholeEvent, seesSubject: boolean) {
  const { stored_count = 0, unstored_count = 0, last_unstored_at = null } = conflicts ?? {};
  const effect = (await effectsOfEvents(db, [event])).get(event.event_id) as EventEffect;
  const { version, sync } = effect;
  const described = await describeEvent(db, event);
  const change = described?.change ?? null;
  return {
    ...viewEvent(event, effect, seesSubject),
    next_step: nextStepOf({ event, conflicts }, effect, described),
    unapplied: change === null || seesSubject ? change : withoutAmounts(change),
    ...shownBody(event),
    conflicts: {
      open: conflicts !== null && conflicts.dismissed_at === null,
      stored: stored_count,
      not_stored: unstored_count,
      last_not_stored_at: last_unstored_at,
      dismissed_at: conflicts?.dismissed_at ?? null,
      dismissed_reason: conflicts?.dismissed_reason ?? null,
    },
    effects: {
      deduction_version: version === null ? null : viewAddedVersion(version),
      census_sync: sync === null ? null : { id: sync.sync_id, employer_id: sync.employer_id },
    },
  };
}

function viewAddedVersion({
  deduction_id,
  version,
  position,
  late,
  tie_changed,
  future_dated,
}: AddedVersion) {
  return {
    id: String(position),
    ...{ deduction_id, version, position },
    late: late === 1,
    tie_changed: tie_changed === 1,
    future_dated: future_dated === 1,
  };
}

export function viewConflict(conflict: Selectable<ConflictTable>) {
  const { conflict_id, received_at, dismissed_at, dismissed_reason } = conflict;
  return { id: String(conflict_id), received_at, ...shownBody(conflict), dismissed_at, dismissed_reason };
}

/** Returns a body for people: its text, or why it is absent. */
function shownBody({ body, body_hash }: KeptBody): { body: string | null; body_absent: string | null } {
  if (body !== null) return { body: body.toString('utf8'), body_absent: null };
  const body_absent = `Deleted after RETENTION_EVENTS. Its SHA-256 was ${body_hash?.toString('hex')}.`;
  return { body: null, body_absent };
}
