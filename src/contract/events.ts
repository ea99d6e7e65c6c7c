import Type, { type Static } from 'typebox';
import { compile } from './check.ts';
import { ID_MAX_CHARACTERS, identifier, nullable } from './fields.ts';
import { TIME_MAX_CHARACTERS } from './instant.ts';

/**
 * The frame of every event, whatever its type; the handler of the type checks `data`. Read tolerantly: unknown
 * fields pass, null means absent. `id` is the sender's name for the event; duplicates are told by the headers' id.
 */
export const Envelope = Type.Object({
  id: Type.Optional(nullable(Type.String({ maxLength: ID_MAX_CHARACTERS }))),
  event_type: Type.String({ minLength: 1 }),
  data: Type.Unsafe<Record<string, unknown>>({ type: 'object' }),
  created_at: Type.Optional(
    nullable(
      Type.String({
        format: 'instant',
        maxLength: TIME_MAX_CHARACTERS,
        rule: 'must be an ISO 8601 date and time',
      }),
    ),
  ),
});
export type Envelope = Static<typeof Envelope>;

export const envelope = compile(Envelope);

/** An employer's census is needed. */
export const CENSUS_SYNC_REQUEST = 'employee-census.sync-request';
/** An uploaded census was processed. */
export const CENSUS_SYNC_COMPLETE = 'employee-census.sync-complete';
/** A deduction is new or changed. */
export const DEDUCTION_UPDATED = 'employee.deduction-updated';
/** Deprecated by the interface and still sent: treated as an update when its data is a deduction. */
export const DEDUCTION_CREATED = 'employee.deduction-created';

/** The event types that are handled; others are kept and ignored. */
export const EVENT_TYPES = [
  CENSUS_SYNC_REQUEST,
  CENSUS_SYNC_COMPLETE,
  DEDUCTION_UPDATED,
  DEDUCTION_CREATED,
] as const;
export type EventType = (typeof EVENT_TYPES)[number];

/** The data of both census events. Read tolerantly: unknown fields pass. */
export const SyncData = Type.Object({ employer_id: identifier });
export type SyncData = Static<typeof SyncData>;

export const syncData = compile(SyncData);
