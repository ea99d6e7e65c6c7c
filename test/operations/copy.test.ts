/** What `copy` reads, whose tests need a server: see test/faults/postgres-copy.test.ts. */
import { sql } from 'kysely';
import { KEYS } from '../../src/database/keys.ts';
import { scratch } from '../database/scratch.ts';
import { contentOfTables, fill } from '../postgres/filled.ts';
import { onSqlite } from '../support/engine.ts';

onSqlite(
  'each table that is copied follows those it references, and has rows where copies are tested',
  async (t) => {
    const { db } = await scratch(t);
    await fill(db);
    const tables = Object.keys(KEYS);
    for (const [name, rows] of await contentOfTables(db, tables)) {
      t.ok(rows.length > 0, `${name}: add a row to test/postgres/filled.ts`);
      const { rows: keys } = await sql<{
        table: string;
      }>`select "table" from pragma_foreign_key_list(${name})`.execute(db);
      const later = keys.filter(({ table }) => tables.indexOf(table) > tables.indexOf(name));
      t.strictSame(later, [], `${name}: move its key in src/operations/copy.ts`);
    }
  },
);
