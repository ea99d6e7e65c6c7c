/** The unfinished requests of the outbox. Conditions are literals, so that a partial index can be used. */
import { sql } from 'kysely';
import { countOf } from '../database/bulk.ts';
import type { Db } from '../database/tables.ts';

/** Requests that are under way or wait for an operator. Delivered and canceled ones accumulate and are not counted. */
export type OutboxActivity = {
  pending: number;
  sending: number;
  rejected: number;
  oldest_unfinished_at: string | null;
};

export async function readOutboxActivity(db: Db): Promise<OutboxActivity> {
  const outbox = db.selectFrom('outbox').select('seq');
  const unfinished = outbox.where(sql<boolean>`finished_at is null`);
  const sending = await countOf(db, outbox.where(sql<boolean>`state = 'sending'`));
  const all = await countOf(db, unfinished);
  const oldest = await unfinished.select('created_at').orderBy('seq').limit(1).executeTakeFirst();
  return {
    // One index has both states. A request may finish between the two queries.
    pending: Math.max(0, all - sending),
    sending,
    rejected: await countOf(db, outbox.where(sql<boolean>`state = 'rejected'`)),
    oldest_unfinished_at: oldest?.created_at ?? null,
  };
}
