/** Changes rows that triggers protect, as a damaged file or an administrator would. */
import { sql } from 'kysely';
import { engineOf } from '../../src/database/engine.ts';
import type { Db, Trx } from '../../src/database/tables.ts';
import { transact } from '../../src/database/transaction.ts';

/** Runs `work` in a transaction in which no trigger fires. */
export function pastTriggers<R>(db: Db, work: (trx: Trx) => Promise<R>): Promise<R> {
  return transact(db, async (trx) => {
    if (engineOf(trx) === 'postgres') {
      await sql`set local session_replication_role = replica`.execute(trx);
      return work(trx);
    }
    const triggers = await sql<{ name: string; sql: string }>`
      select name, sql from sqlite_schema where type = 'trigger'`.execute(trx);
    for (const { name } of triggers.rows) await sql`drop trigger ${sql.ref(name)}`.execute(trx);
    const result = await work(trx);
    // `verify` compares the schema.
    for (const trigger of triggers.rows) await sql.raw(trigger.sql).execute(trx);
    return result;
  });
}
