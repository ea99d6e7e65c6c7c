import { sql } from 'kysely';
import { forUpdate } from '../database/engine.ts';
import type { Trx } from '../database/tables.ts';

/**
 * The order of a subject. Of its unfinished requests the one being sent, else the oldest, is its head; no other
 * may be claimed. While the subject is held by a rejected new hire, no request of it is. Whoever changes a subject's
 * requests has locked its name first (engine.ts): one at a time decides which is the head.
 *
 * Conditions that a partial index stands for are written as SQL text: with bound values SQLite would not use it.
 */

/** Makes the right request of the subject its head. Whoever adds, finishes or revives a request ends with this. */
export async function settleHead(trx: Trx, subject: string): Promise<void> {
  // Locked: a send loop may be claiming it just now, and takes no other lock for that.
  const head = await forUpdate(
    trx,
    trx
      .selectFrom('outbox')
      .select(['seq', 'state'])
      .where('subject', '=', subject)
      .where(sql<boolean>`head = 1`),
  ).executeTakeFirst();
  if (head?.state === 'sending') return;
  const next = (await isHeld(trx, subject)) ? undefined : await oldestUnfinished(trx, subject);
  if (head?.seq === next) return;
  if (head !== undefined)
    await trx.updateTable('outbox').set({ head: 0 }).where('seq', '=', head.seq).execute();
  if (next !== undefined) await trx.updateTable('outbox').set({ head: 1 }).where('seq', '=', next).execute();
}

/** Whether a rejected new hire holds the subject's later requests back. */
export async function isHeld(trx: Trx, subject: string): Promise<boolean> {
  const holding = await trx
    .selectFrom('outbox')
    .select('seq')
    .where('subject', '=', subject)
    .where(sql<boolean>`holding = 1`)
    .limit(1)
    .executeTakeFirst();
  return holding !== undefined;
}

async function oldestUnfinished(trx: Trx, subject: string): Promise<number | undefined> {
  const oldest = await trx
    .selectFrom('outbox')
    .select('seq')
    .where('subject', '=', subject)
    .where(sql<boolean>`finished_at is null`)
    .orderBy('seq')
    .limit(1)
    .executeTakeFirst();
  return oldest?.seq;
}
