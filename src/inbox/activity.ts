/** The pending and open events of the inbox. Conditions are literals, so that a partial index can be used. */
import { sql } from 'kysely';
import { countOf } from '../database/bulk.ts';
import type { Db } from '../database/tables.ts';
import { lastArrival } from './arrivals.ts';

export type InboxActivity = {
  pending: number;
  oldest_pending_at: string | null;
  /** Without dismissed ones, like the conflicts. */
  quarantined: number;
  conflicts: number;
  /** The last event of the service. Imports don't count. */
  last_received_at: string | null;
};

export async function readInboxActivity(db: Db): Promise<InboxActivity> {
  const inbox = db.selectFrom('inbox').select('seq');
  const pending = inbox.where(sql<boolean>`state = 'pending'`);
  const oldest = await pending.select('received_at').orderBy('seq').limit(1).executeTakeFirst();
  return {
    pending: oldest === undefined ? 0 : await countOf(db, pending),
    oldest_pending_at: oldest?.received_at ?? null,
    quarantined: await countOf(db, inbox.where(sql<boolean>`state = 'quarantined' and dismissed_at is null`)),
    conflicts: await countOf(
      db,
      db.selectFrom('event_conflicts').select('event_id').distinct().where('dismissed_at', 'is', null),
    ),
    last_received_at: (await lastArrival(db))?.received_at ?? null,
  };
}
