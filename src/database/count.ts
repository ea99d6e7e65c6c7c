import { type Expression, sql } from 'kysely';
import type { Db } from './tables.ts';

/** The most rows counted of anything. Reading so many index entries takes a few milliseconds; more is "at least". */
export const COUNTED_AT_MOST = 25_000;

/** Counts the rows of a query, at most `COUNTED_AT_MOST`. */
export async function countOf(db: Db, rows: { limit(limit: number): Expression<unknown> }): Promise<number> {
  const { rows: counted } = await sql<{ count: number }>`
    select count(*) as count from ${rows.limit(COUNTED_AT_MOST)} as counted`.execute(db);
  return counted[0]?.count ?? 0;
}
