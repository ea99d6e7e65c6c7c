/** The lease of the sidecar that sends and compares. A database on SQLite has one sidecar. */
import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { engineOf } from '../database/engine.ts';
import type { Db } from '../database/tables.ts';
import { transact } from '../database/transaction.ts';

/** How long a sidecar that ended without a word keeps others from sending. Longer than an attempt. */
const LEASE_MS = 30_000;
const RENEW_MS = 20_000;
/** How much later another process may have read the clock. */
export const CLOCK_SPREAD_MS = 15_000;

export type NotificationLease = ReturnType<typeof createLease>;

export function createLease(db: Db) {
  const me = randomUUID();
  const isAlone = engineOf(db) === 'sqlite';
  return {
    /** Reports whether this sidecar sends, and takes or renews the lease. */
    async holds(now: Date): Promise<boolean> {
      if (isAlone) return true;
      const head = await db
        .selectFrom('notification_head')
        .select(['sender', 'sender_until'])
        .executeTakeFirstOrThrow();
      const leftMs = head.sender_until === null ? 0 : Date.parse(head.sender_until) - now.getTime();
      // A longer lease comes from a clock that jumped.
      const isTaken = leftMs > 0 && leftMs <= LEASE_MS + CLOCK_SPREAD_MS;
      if (head.sender === me && isTaken && leftMs > RENEW_MS) return true;
      if (head.sender !== me && isTaken) return false;
      return transact(db, async (trx) => {
        const lease = { sender: me, sender_until: new Date(now.getTime() + LEASE_MS).toISOString() };
        const taken = await trx
          .updateTable('notification_head')
          .set(lease)
          .where(sql<boolean>`sender is not distinct from ${head.sender}`)
          .where(sql<boolean>`sender_until is not distinct from ${head.sender_until}`)
          .executeTakeFirst();
        return taken.numUpdatedRows > 0n;
      });
    },
    async resign(): Promise<void> {
      if (isAlone) return;
      const head = db.updateTable('notification_head').set({ sender: null, sender_until: null });
      await head.where('sender', '=', me).execute();
    },
  };
}
