/** How far a database has come: what is compared when one is put in the place of another. */
import { sql } from 'kysely';
import type { Db, Trx } from './tables.ts';

export type Tail = {
  /** The ledger's newest position. */
  position: number;
  /** The newest event: its place in order of receipt, and when it came. 0 and null without any. */
  seq: number;
  event_id: string | null;
  received_at: string | null;
};

/**
 * Returns a query for the one row of `ledger_head`. Each batch updates it, and PostgreSQL keeps every version of it while
 * an older snapshot is open. Read from the end of its index, the current version is among the first.
 */
export function ledgerHead(db: Db | Trx) {
  return db.selectFrom('ledger_head').select('position').orderBy('one', 'desc').limit(sql.lit(1));
}

/** The newest event, without its id. */
export type Newest = Pick<Tail, 'seq' | 'received_at'>;

/** The newest position of the ledger, read without its lock. */
export async function readPosition(db: Db | Trx): Promise<number> {
  return (await ledgerHead(db).executeTakeFirstOrThrow()).position;
}

export async function readTail(db: Db): Promise<Tail> {
  const position = await readPosition(db);
  const newest = await db
    .selectFrom('inbox')
    .select(['seq', 'event_id', 'received_at'])
    .orderBy('seq', 'desc')
    .limit(1)
    .executeTakeFirst();
  return {
    position,
    seq: newest?.seq ?? 0,
    event_id: newest?.event_id ?? null,
    received_at: newest?.received_at ?? null,
  };
}

/**
 * A message's time in the provider's portal is that of its creation, and it may have been delivered up to some 27.5
 * hours after it: the provider tries again for so long (field notes). What is replayed twice is stored once.
 */
const RETRIED_HOURS = 28;
const HOUR_MS = 3_600_000;

/** The instant from which to replay in the provider's portal, so that nothing is missing; null: everything. */
export function replayFrom(receivedAt: string | null): string | null {
  if (receivedAt === null) return null;
  return new Date(Date.parse(receivedAt) - RETRIED_HOURS * HOUR_MS).toISOString();
}
