/** The entry of a thread that has SQLite check each table with its indexes. A large one can take a minute. */
import { parentPort, workerData } from 'node:worker_threads';
import { codeOf } from '../errors.ts';
import { openReader } from './handle.ts';

/** A reference to a row that does not exist. `row` is null in a table without row ids. */
type Dangling = { row: number | null; columns: string; parent: string };

export type TableChecked = { table: string; findings: string[]; dangling: Dangling[] };

/** Per table. */
const DANGLING_MOST = 1_000;

const { path } = workerData as { path: string };
const handle = openReader(path);
const tables = handle
  .prepare("select name from sqlite_schema where type = 'table' order by name")
  .pluck()
  .all();
// Checking the schema table also checks the list of free pages.
for (const table of ['sqlite_schema', ...(tables as string[])]) {
  parentPort?.postMessage({
    table,
    findings: check(table),
    dangling: danglingIn(table),
  } satisfies TableChecked);
}
handle.close();

function check(table: string): string[] {
  try {
    const findings = handle
      .prepare('select integrity_check from pragma_integrity_check(?)')
      .pluck()
      .all(table);
    return (findings as string[]).filter((text) => text !== 'ok');
  } catch (error) {
    return [codeOf(error)];
  }
}

function danglingIn(table: string): Dangling[] {
  try {
    return handle
      .prepare<[string, string, number], Dangling>(
        `select broken.rowid as row, broken.parent, group_concat(key."from", ', ') as columns
         from pragma_foreign_key_check(?) as broken join pragma_foreign_key_list(?) as key on key.id = broken.fkid
         group by broken.rowid, broken.fkid order by broken.rowid limit ?`,
      )
      .all(table, table, DANGLING_MOST);
  } catch {
    // The table cannot be read, which the check above reports.
    return [];
  }
}
