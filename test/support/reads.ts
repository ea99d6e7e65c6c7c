import type { Kysely, KyselyPlugin } from 'kysely';
import type { Tables } from '../../src/database/tables.ts';

type AnyRow = Record<string, unknown>;

/** Returns the database for a caller whose statements return only after `look` has received their rows. */
export function afterReads<D extends Kysely<Tables>>(db: D, look: (rows: readonly AnyRow[]) => unknown): D {
  const plugin: KyselyPlugin = {
    transformQuery: ({ node }) => node,
    transformResult: async ({ result }) => {
      await look(result.rows);
      return result;
    },
  };
  return db.withPlugin(plugin) as D;
}

type Reads = { statements: number; rows: number };

/** Wraps a database or transaction; `reads` counts its statements and the rows that they return. */
export function countingReads<D extends Kysely<Tables>>(db: D): { db: D; reads: Reads } {
  const reads = { statements: 0, rows: 0 };
  const counting = afterReads(db, (rows) => {
    reads.statements += 1;
    reads.rows += rows.length;
  });
  return { db: counting, reads };
}
