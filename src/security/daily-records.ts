/** Records of what happens all the time, such as names on pages: one for each actor, employer and day. */
import { isOneOf } from '../database/bulk.ts';
import type { Db, Trx } from '../database/tables.ts';
import { dayAt } from '../database/time-zone.ts';
import { transact } from '../database/transaction.ts';
import {
  ACTOR_COLUMNS,
  type Acting,
  type Action,
  type Actor,
  actorOf,
  recordAll,
  resourceTypeOf,
} from './audit.ts';
import { lockHead } from './audit-chain.ts';

/** No day of a time zone is longer. */
const DAY_MAX_MS = 26 * 3_600_000;

/** Records the action at each of these employers, unless the actor has a record of the same day. */
export async function recordDaily(
  db: Db,
  acting: Acting,
  action: Action,
  employers: readonly string[],
): Promise<void> {
  if ((await unrecorded(db, acting, action, employers)).length === 0) return;
  await transact(db, async (trx) => {
    // Two requests at once would both find no record.
    await lockHead(trx);
    const due = await unrecorded(trx, acting, action, employers);
    await recordAll(
      trx,
      due.map((employer) => ({ ...acting, action, resource: employer, employer })),
    );
  });
}

async function unrecorded(
  db: Db | Trx,
  { actor, now }: Acting,
  action: Action,
  employers: readonly string[],
): Promise<string[]> {
  if (employers.length === 0) return [];
  const rows = await db
    .selectFrom('audit_records')
    .select(['resource_id', 'recorded_at', ...ACTOR_COLUMNS])
    .where('resource_type', '=', resourceTypeOf(action))
    .where('action', '=', action)
    .where(isOneOf(db, 'resource_id', employers))
    .where('recorded_at', '>', new Date(Date.parse(now) - DAY_MAX_MS).toISOString())
    .execute();
  const today = dayAt(db, now);
  const recorded = rows
    .filter((row) => dayAt(db, row.recorded_at) === today && keyOf(actorOf(row)) === keyOf(actor))
    .map(({ resource_id }) => resource_id);
  return employers.filter((employer) => !recorded.includes(employer));
}

function keyOf({ kind, issuer, id, name, acting_user }: Actor): string {
  return JSON.stringify([kind, issuer, id ?? name, acting_user]);
}
