import { type Expression, sql } from 'kysely';
import { insertRows, isOneOf } from '../database/bulk.ts';
import type { Db, Trx } from '../database/tables.ts';
import {
  eventTime,
  foldVersions,
  type IncomingDeduction,
  type LatestState,
  tieKey,
  type VersionContent,
} from './fold.ts';
import { type AtTime, versionsAt } from './history.ts';
import { lockLedger, moveLedger } from './position.ts';

/** An older event never overwrites a newer one: the upsert itself refuses it. */
const GUARDED_UPSERT = `on conflict (deduction_id) do update set position = excluded.position,
  event_time = excluded.event_time, employee_id = excluded.employee_id, version_count = excluded.version_count, last_received_position = excluded.last_received_position
  where excluded.event_time >= deductions.event_time`;

export async function recordDeductions(trx: Trx, incoming: readonly IncomingDeduction[], recordedAt: string) {
  if (incoming.length === 0) return;
  const position = await lockLedger(trx);
  const ids = [...new Set(incoming.map((event) => event.deduction.id))];
  const latest = await trx
    .selectFrom('deductions')
    .selectAll()
    .where(isOneOf(trx, 'deduction_id', ids))
    .execute();
  const states = new Map(latest.map((state) => [state.deduction_id, state]));
  const tied = await contentsTied(trx, incoming, states);
  const folded = foldVersions(incoming, states, tied, position, recordedAt);
  await insertRows(trx, 'deduction_versions', folded.versions);
  await insertRows(trx, 'deductions', [...folded.states.values()], GUARDED_UPSERT);
  await moveLedger(trx, position + incoming.length);
}

/** Returns which events are in the ledger. Reprocessing one of them has no second effect. */
export async function eventsInLedger(trx: Trx, eventIds: readonly string[]): Promise<Set<string>> {
  if (eventIds.length === 0) return new Set();
  const rows = await trx
    .selectFrom('deduction_versions')
    .select('event_id')
    .where(isOneOf(trx, 'event_id', eventIds))
    .execute();
  return new Set(rows.map((row) => row.event_id));
}

export function versionOfEvent(db: Db | Trx, eventId: string) {
  return db
    .selectFrom('deduction_versions')
    .select(['tie_changed', 'future_dated'])
    .where('event_id', '=', eventId)
    .executeTakeFirst();
}

/** Returns the versions that events added, and whether each is the latest of its deduction, which has no index by position. */
export function versionsOfEvents(db: Db | Trx, eventIds: readonly string[]) {
  return db
    .selectFrom('deduction_versions')
    .leftJoin('deductions', (join) =>
      join
        .onRef('deductions.deduction_id', '=', 'deduction_versions.deduction_id')
        .onRef('deductions.position', '=', 'deduction_versions.position'),
    )
    .selectAll('deduction_versions')
    .select((eb) => eb('deductions.position', 'is not', null).as('is_latest'))
    .where(isOneOf(db, 'event_id', eventIds))
    .execute();
}

export function isInLedger(eventId: Expression<string>) {
  return sql<boolean>`exists (
    select 1 from deduction_versions where deduction_versions.event_id = ${eventId})`;
}

export function latestVersions(db: Db | Trx, deductionIds: readonly string[]) {
  return db
    .selectFrom('deductions')
    .innerJoin('deduction_versions', 'deduction_versions.position', 'deductions.position')
    .where(isOneOf(db, 'deductions.deduction_id', deductionIds));
}

export function versionsWithPrevious(db: Db) {
  return db
    .selectFrom('deduction_versions')
    .leftJoin('deduction_versions as before', 'before.position', 'deduction_versions.previous_position')
    .selectAll('deduction_versions')
    .select([
      'before.deduction_id as before_deduction',
      'before.version as before_version',
      'before.event_time as before_time',
      'before.employee_id as before_employee',
      'before.late as before_late',
    ]);
}

/** Returns the content that events tie with: the newest version's at the same event time, by tie key. */
async function contentsTied(
  trx: Trx,
  incoming: readonly IncomingDeduction[],
  states: ReadonlyMap<string, LatestState>,
): Promise<Map<string, VersionContent>> {
  const times = new Map<string, AtTime>();
  for (const event of incoming) {
    const { id } = event.deduction;
    const latest = states.get(id);
    const { time } = eventTime(event);
    if (latest === undefined || time > latest.event_time) continue;
    times.set(tieKey(id, time), { deductionId: id, eventTime: time, until: latest.last_received_position });
  }
  const tied = await versionsAt(trx, [...times.values()]);
  return new Map(tied.map((version) => [tieKey(version.deduction_id, version.event_time), version]));
}
