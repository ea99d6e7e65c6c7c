/**
 * When events of the service came, found in the inbox without an index on time, which each of them would have to pay
 * for: events are numbered as they come, so their times rise with their numbers and halving finds any instant.
 */
import type { Db } from '../database/tables.ts';

export type Arrived = { seq: number; received_at: string; source: 'webhook' | 'import' };

/** The event of the service that came last, or null. Imports say nothing of whether its messages arrive. */
export async function lastArrival(db: Db): Promise<Arrived | null> {
  let last = await newestUpTo(db, null);
  // All rows of one import have one time of receipt: each look passes over one import, however large.
  while (last !== null && last.source === 'import') last = await lastBefore(db, last.received_at, last);
  return last;
}

/** The newest event that was received before an instant, looked for below one that was not. */
export async function lastBefore(db: Db, instant: string, below: Arrived): Promise<Arrived | null> {
  // Short ways first: steps that double, until one lands before the instant.
  let late = below.seq;
  let found: Arrived | null = null;
  for (let step = 1; found === null; step *= 2) {
    const row = await newestUpTo(db, late - step);
    if (row === null) break;
    if (row.received_at < instant) found = row;
    else late = row.seq;
  }
  // Then halves, between one that is before it and one that is not.
  let early = found?.seq ?? 0;
  while (late - early > 1) {
    const row = await newestUpTo(db, early + Math.floor((late - early) / 2));
    if (row === null) break;
    if (row.seq <= early) early += Math.floor((late - early) / 2);
    else if (row.received_at < instant) [found, early] = [row, row.seq];
    else late = row.seq;
  }
  return found;
}

/** The event with this number, or the next lower one that there is; without a number the newest. */
export async function newestUpTo(db: Db, seq: number | null): Promise<Arrived | null> {
  const row = await db
    .selectFrom('inbox')
    .select(['seq', 'received_at', 'source'])
    .$if(seq !== null, (query) => query.where('seq', '<=', seq as number))
    .orderBy('seq', 'desc')
    .limit(1)
    .executeTakeFirst();
  return row ?? null;
}
