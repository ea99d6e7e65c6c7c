/** The numbers of facts that a run keeps: each employer has its own, from 1. */
import { sql } from 'kysely';
import type { Db, Trx } from '../../database/tables.ts';

const NUMBERS = { item_decisions: 'decision_id', opening_items: 'ordinal' } as const;

/** Returns the number of the newest fact of an employer, 0 without one. */
export async function lastNumber(
  db: Db | Trx,
  table: keyof typeof NUMBERS,
  employerId: string,
): Promise<number> {
  const { rows } = await sql<{ last: number | null }>`
    select max(${sql.ref(NUMBERS[table])}) as last from ${sql.table(table)} where employer_id = ${employerId}`.execute(
    db,
  );
  return Number(rows[0]?.last ?? 0);
}
