import { sql } from 'kysely';
import { type AnyRow, pagesByKey } from '../database/bulk.ts';
import { isTime, type Verifying } from '../database/difference.ts';
import { KEYS, type KeyedTable } from '../database/keys.ts';
import type { Db } from '../database/tables.ts';

/** These have a row for every event or fact, and their own verification, which reads each row, checks their times. */
const CHECKED_WITH_ROWS: ReadonlySet<string> = new Set(['inbox', 'deduction_versions', 'roster_facts']);
const ROWS_AT_ONCE = 2_000;

/** Checks that every time of our own is one. */
export async function verifyTimes(db: Db, on: Verifying): Promise<void> {
  for (const { name, columns } of await db.introspection.getTables()) {
    if (!(name in KEYS) || CHECKED_WITH_ROWS.has(name)) continue;
    const table = name as KeyedTable;
    const times = columns.map((column) => column.name).filter((column) => column.endsWith('_at'));
    if (times.length === 0) continue;
    const key = KEYS[table];
    const selected = sql.join([...key, ...times].map((column) => sql.ref(column)));
    for await (const rows of pagesByKey<AnyRow>(db, table, selected, ROWS_AT_ONCE)) {
      on.signal.throwIfAborted();
      for (const row of rows) {
        for (const column of times) {
          if (row[column] === null || isTime(row[column])) continue;
          on.report(table, idOf(key.map((part) => row[part])), column, 'is not a time');
        }
      }
    }
  }
}

function idOf(key: readonly unknown[]): string {
  return key.map((part) => (part instanceof Uint8Array ? Buffer.from(part).toString('hex') : part)).join('/');
}
