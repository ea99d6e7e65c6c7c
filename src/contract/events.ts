import Type, { type Static } from 'typebox';
import { compile } from './check.ts';
import { identifier } from './fields.ts';

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
