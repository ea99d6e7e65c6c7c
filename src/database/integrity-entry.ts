/** The entry of a thread that has SQLite check each table with its indexes. A large one can take a minute. */
import { parentPort, workerData } from 'node:worker_threads';
import { codeOf } from '../errors.ts';
import { openReader } from './handle.ts';

/** The findings of a table; empty if it is intact. `done` marks the last table. */
export type TableChecked = { table: string; said: string[] } | { done: true };

const { path } = workerData as { path: string };
const handle = openReader(path);
const tables = handle
  .prepare("select name from sqlite_schema where type = 'table' order by name")
  .pluck()
  .all();
// Checking the schema table also checks the list of free pages.
for (const table of ['sqlite_schema', ...(tables as string[])]) {
  parentPort?.postMessage({ table, said: check(table) } satisfies TableChecked);
}
handle.close();
parentPort?.postMessage({ done: true } satisfies TableChecked);

function check(table: string): string[] {
  try {
    const said = handle.prepare('select integrity_check from pragma_integrity_check(?)').pluck().all(table);
    return (said as string[]).filter((text) => text !== 'ok');
  } catch (error) {
    return [codeOf(error)];
  }
}
