import { insertMany, isOneOf } from '../database/bulk.ts';
import type { Trx } from '../database/tables.ts';
import {
  CONTENT_COLUMNS,
  type Content,
  eventTime,
  foldVersions,
  type Head,
  type IncomingDeduction,
  tieKey,
} from './fold.ts';
import { historyOf } from './history.ts';
import { lockLedger, moveLedger } from './position.ts';

/** All columns of a version. */
export const VERSION_COLUMNS = [
  ...CONTENT_COLUMNS,
  'position',
  'version',
  'previous',
  'event_id',
  'created_at',
  'event_time',
  'decided_by',
  'late',
  'tie_changed',
  'ahead',
  'recorded_at',
] as const;

/** An older event never overwrites a newer one: the upsert itself refuses it, whatever was folded before. */
const GUARDED_UPSERT = `on conflict (deduction_id) do update set position = excluded.position,
  event_time = excluded.event_time, employee_id = excluded.employee_id, versions = excluded.versions, newest = excluded.newest
  where excluded.event_time >= deductions.event_time`;

/**
 * Appends deduction events to the ledger in the order given and moves each deduction's latest state. The caller
 * has made sure that none of the events is in the ledger yet.
 */
export async function recordDeductions(
  trx: Trx,
  incoming: readonly IncomingDeduction[],
  recordedAt: string,
): Promise<void> {
  if (incoming.length === 0) return;
  const position = await lockLedger(trx);
  const heads = await headsOf(trx, incoming);
  const tied = await contentsTied(trx, incoming, heads);
  const folded = foldVersions(incoming, heads, tied, position, recordedAt);
  await insertMany(
    trx,
    'versions',
    VERSION_COLUMNS,
    folded.versions.map((version) => VERSION_COLUMNS.map((column) => version[column])),
  );
  await moveHeads(trx, heads, [...folded.heads.values()]);
  await insertMany(
    trx,
    'deduction_employees',
    ['employee_id', 'deduction_id'],
    folded.versions
      .filter((version) => heads.get(version.deduction_id)?.employee_id !== version.employee_id)
      .map((version) => [version.employee_id, version.deduction_id]),
    'on conflict do nothing',
  );
  await moveLedger(trx, position + incoming.length);
}

/** The events among these that the ledger already has: a reprocessed one has no second effect. */
export async function eventsInLedger(trx: Trx, eventIds: readonly string[]): Promise<Set<string>> {
  if (eventIds.length === 0) return new Set();
  const rows = await trx
    .selectFrom('versions')
    .select('event_id')
    .where(isOneOf(trx, 'event_id', eventIds))
    .execute();
  return new Set(rows.map((row) => row.event_id));
}

async function headsOf(trx: Trx, incoming: readonly IncomingDeduction[]): Promise<Map<string, Head>> {
  const ids = [...new Set(incoming.map((event) => event.deduction.id))];
  const rows = await trx
    .selectFrom('deductions')
    .selectAll()
    .where(isOneOf(trx, 'deduction_id', ids))
    .execute();
  return new Map(rows.map((head) => [head.deduction_id, head]));
}

/**
 * What stands at the event times of events that are not newer than all before them; few, in a healthy feed. Each
 * history is read once, however many of the events are of its deduction.
 */
async function contentsTied(
  trx: Trx,
  incoming: readonly IncomingDeduction[],
  heads: ReadonlyMap<string, Head>,
): Promise<Map<string, Content>> {
  const ids = new Set<string>();
  const keys = new Set<string>();
  for (const event of incoming) {
    const { id } = event.deduction;
    const head = heads.get(id);
    if (head === undefined) continue;
    const time = eventTime(event);
    if (time > head.event_time) continue;
    ids.add(id);
    keys.add(tieKey(id, time));
  }
  const tied = new Map<string, Content>();
  // In order of position, so that of one key the last stays.
  for (const version of await historyOf(trx, [...ids])) {
    const key = tieKey(version.deduction_id, version.event_time);
    if (keys.has(key)) tied.set(key, version);
  }
  return tied;
}

async function moveHeads(trx: Trx, before: ReadonlyMap<string, Head>, heads: readonly Head[]): Promise<void> {
  const isOnlyLate = (head: Head) => before.get(head.deduction_id)?.position === head.position;
  await insertMany(
    trx,
    'deductions',
    ['deduction_id', 'position', 'event_time', 'employee_id', 'versions', 'newest'],
    heads
      .filter((head) => !isOnlyLate(head))
      .map((head) => [
        head.deduction_id,
        head.position,
        head.event_time,
        head.employee_id,
        head.versions,
        head.newest,
      ]),
    GUARDED_UPSERT,
  );
  for (const head of heads.filter(isOnlyLate)) {
    await trx
      .updateTable('deductions')
      .set({ versions: head.versions, newest: head.newest })
      .where('deduction_id', '=', head.deduction_id)
      .execute();
  }
}
