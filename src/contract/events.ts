import Type, { type Static } from 'typebox';
import { compile } from './check.ts';
import { ID_MAX_CHARACTERS, identifier, nullable } from './fields.ts';
import { TIME_MAX_CHARACTERS } from './instant.ts';

const time = { format: 'instant', maxLength: TIME_MAX_CHARACTERS };

/** The frame of every event. Null means absent. `id` is the sender's own, not the headers' id. */
export const Envelope = Type.Object({
  id: Type.Optional(nullable(Type.String({ maxLength: ID_MAX_CHARACTERS }))),
  event_type: Type.String({ minLength: 1 }),
  data: Type.Unsafe<Record<string, unknown>>({ type: 'object' }),
  created_at: Type.Optional(nullable(Type.String({ ...time, rule: 'must be an ISO 8601 date and time' }))),
});
export type Envelope = Static<typeof Envelope>;

export const envelope = compile(Envelope);

export const CENSUS_SYNC_REQUEST = 'employee-census.sync-request';
export const CENSUS_SYNC_COMPLETE = 'employee-census.sync-complete';
export const DEDUCTION_UPDATED = 'employee.deduction-updated';
/** Deprecated and still sent. Handled as an update if its data is a deduction. */
export const DEDUCTION_CREATED = 'employee.deduction-created';

/** The event types that are handled. Others are stored and ignored. */
export const EVENT_TYPES = [
  CENSUS_SYNC_REQUEST,
  CENSUS_SYNC_COMPLETE,
  DEDUCTION_UPDATED,
  DEDUCTION_CREATED,
] as const;
export type EventType = (typeof EVENT_TYPES)[number];

/** The data of both census events. Unknown fields are accepted. */
export const SyncData = Type.Object({ employer_id: identifier });

export const syncData = compile(SyncData);
