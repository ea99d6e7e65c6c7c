/** Verifies that no decision on open items and no opening item is missing. */
import { sql } from 'kysely';
import type { Verifying } from '../../database/difference.ts';
import type { Db } from '../../database/tables.ts';

/** Employers with a gap that are named. */
const NAMED = 1_000;

const NUMBERED = [
  { table: 'item_decisions', column: 'decision_id' },
  { table: 'opening_items', column: 'ordinal' },
] as const;

/** Checks that the numbers of each employer are 1 to their count. */
export async function verifyItems(db: Db, { report }: Pick<Verifying, 'report'>): Promise<void> {
  for (const { table, column } of NUMBERED) {
    const { rows } = await sql<{ employer_id: string }>`
      select employer_id from ${sql.table(table)} group by employer_id
      having min(${sql.ref(column)}) <> 1 or max(${sql.ref(column)}) <> count(*)
      order by employer_id limit ${sql.lit(NAMED)}`.execute(db);
    for (const { employer_id } of rows)
      report(table, employer_id, column, 'does not count up from 1 without a gap');
  }
}
