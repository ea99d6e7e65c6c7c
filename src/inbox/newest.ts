/** How far a database has come: its newest position and event. */
import type { Db } from '../database/tables.ts';
import { readPosition } from '../ledger/position.ts';

export type Newest = {
  /** The ledger's newest position. */
  position: number;
  /** The newest event in order of receipt. 0 and null if there is none. */
  seq: number;
  event_id: string | null;
  received_at: string | null;
};

export type NewestEvent = Pick<Newest, 'seq' | 'received_at'>;

export async function readNewest(db: Db): Promise<Newest> {
  const position = await readPosition(db);
  const newest = await db
    .selectFrom('inbox')
    .select(['seq', 'event_id', 'received_at'])
    .orderBy('seq', 'desc')
    .limit(1)
    .executeTakeFirst();
  return { position, ...(newest ?? { seq: 0, event_id: null, received_at: null }) };
}

/** The provider retries for up to 27.5 hours (field notes) after the time that its portal shows. */
const RETRIED_HOURS = 28;
const HOUR_MS = 3_600_000;

/** Returns the instant from which to replay in the provider's portal; null means everything. */
export function replayFrom(receivedAt: string | null): string | null {
  if (receivedAt === null) return null;
  return new Date(Date.parse(receivedAt) - RETRIED_HOURS * HOUR_MS).toISOString();
}
