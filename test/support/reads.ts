import type { Kysely, KyselyPlugin } from 'kysely';
import type { Tables } from '../../src/database/tables.ts';

export type Reads = { statements: number; rows: number };

/** Wraps a database or transaction; `reads` counts its statements and the rows that they return. */
export function countingReads<D extends Kysely<Tables>>(db: D): { db: D; reads: Reads } {
  const reads = { statements: 0, rows: 0 };
  const plugin: KyselyPlugin = {
    transformQuery: ({ node }) => node,
    transformResult: async ({ result }) => {
      reads.statements += 1;
      reads.rows += result.rows.length;
      return result;
    },
  };
  return { db: db.withPlugin(plugin) as D, reads };
}
