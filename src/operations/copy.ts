/** Copies a whole database into an empty database of the other engine, or nothing. */
import { AsyncLocalStorage } from 'node:async_hooks';
import { createHash } from 'node:crypto';
import { sql } from 'kysely';
import { type AnyRow, countRows, insertMany, pagesByKey } from '../database/bulk.ts';
import { lockAllTables, moveSequences, tableExists } from '../database/engine.ts';
import { isUnavailable } from '../database/errors.ts';
import { KEYS, type KeyedTable as Table } from '../database/keys.ts';
import type { Db, Trx } from '../database/tables.ts';
import { transact } from '../database/transaction.ts';
import { AppError, codeOf } from '../errors.ts';
import { type Acting, record } from '../security/audit.ts';
import { headText, readHead } from '../security/audit-chain.ts';

const TABLES = Object.keys(KEYS) as Table[];

/** Tables whose one row a migration inserts. The copy replaces it with the row of the source. */
const OF_ONE_ROW: ReadonlySet<string> = new Set([
  'instance',
  'audit_head',
  'ledger_head',
  'notification_head',
  'circuit_breaker',
  'payroll_head',
  'retention',
]);

/** Rows read at once. */
const ROWS_AT_ONCE = 100;
/** For rows of up to 8 MiB, which contain lists: a hundred could exceed the longest string. A census chunk has 256 KiB. */
const LARGE_ROWS_AT_ONCE = 4;
const OF_LARGE_ROWS: ReadonlySet<string> = new Set([
  'payroll_runs',
  'pay_schedules',
  'payroll_codes',
  'census_chunks',
]);

export type Copied = { tables: number; rows: number };

/**
 * Copies every row in one transaction of the target, then reads the target and compares row counts and SHA-256 hashes
 * before it commits. Both databases must have this release's schema and one environment, and no other process may write
 * to them. The copy ends with an audit record of it. Calls `copied` with the number of rows written. Throws COPY_REFUSED
 * if the target is not empty, or if it returns other rows than were written.
 */
export function copyDatabase(
  from: Db,
  to: Db,
  acting: Acting,
  copied: (rows: number) => void,
): Promise<Copied> {
  // The two transactions are nested, which is allowed because they are of different databases.
  const outside = AsyncLocalStorage.snapshot();
  const copyInto = (source: Trx) => () =>
    transact(
      to,
      async (target) => {
        await lockAllTables(target);
        await assertEmpty(target);
        let total = 0;
        for (const table of TABLES) {
          if (OF_ONE_ROW.has(table)) await target.deleteFrom(table).execute();
          const sent = createHash('sha256');
          let rows = 0;
          for await (const page of tablePages(source, table)) {
            await write(target, table, page);
            for (const row of page) sent.update(lineOf(row));
            rows += page.length;
            copied(total + rows);
          }
          await assertSame(target, table, rows, sent.digest('hex'));
          total += rows;
        }
        await moveSequences(target);
        const details = { from_head: headText(await readHead(target)), rows: total };
        await record(target, acting, { action: 'database.copy', resource: null, details });
        return { tables: TABLES.length, rows: total };
      },
      { isTimeLimited: false },
    );
  return transact(from, (source) => outside(copyInto(source)));
}

async function write(target: Trx, table: Table, page: readonly AnyRow[]): Promise<void> {
  const columns = Object.keys(page[0] as AnyRow) as never[];
  const rows = page.map((row) => columns.map((column) => row[column]));
  try {
    await insertMany(target, table, columns, rows);
  } catch (error) {
    if (isUnavailable(error) || codeOf(error) === '') throw error;
    const why = `the target refuses a row of table ${table} (${codeOf(error)}): nothing was copied`;
    throw new AppError('COPY_REFUSED', why, { cause: error });
  }
}

export function rowsToCopy(db: Db): Promise<number> {
  return countRows(db, TABLES);
}

/** Throws COPY_REFUSED if a table has rows. Tables that a due migration creates may be missing. */
export async function assertEmpty(target: Db | Trx): Promise<void> {
  for (const table of TABLES) {
    if (OF_ONE_ROW.has(table) || !(await tableExists(target, table))) continue;
    const first = await sql`select 1 from ${sql.table(table)} limit 1`.execute(target);
    if (first.rows.length > 0) {
      const why = `the target is not empty: its table ${table} has rows`;
      throw new AppError('COPY_REFUSED', `${why}. Copy into a database that has never been served`);
    }
  }
}

async function assertSame(target: Trx, table: Table, rows: number, sent: string): Promise<void> {
  const stored = createHash('sha256');
  let count = 0;
  for await (const page of tablePages(target, table)) {
    for (const row of page) stored.update(lineOf(row));
    count += page.length;
  }
  if (count === rows && stored.digest('hex') === sent) return;
  const why = `table ${table} does not contain what was written (${count} of ${rows} rows)`;
  throw new AppError('COPY_REFUSED', `${why}: nothing was copied`);
}

/** Yields a table's rows in the order of its key, which both engines compare by byte. */
function tablePages(trx: Trx, table: Table): AsyncGenerator<AnyRow[]> {
  return pagesByKey<AnyRow>(trx, table, sql`*`, rowsAtOnce(table));
}

/** Returns how many rows of a table memory holds at once. */
export function rowsAtOnce(table: Table): number {
  return OF_LARGE_ROWS.has(table) ? LARGE_ROWS_AT_ONCE : ROWS_AT_ONCE;
}

/** Returns a row as one line of text, which is equal on both engines. */
function lineOf(row: AnyRow): string {
  const values = Object.keys(row)
    .sort()
    .map((column) => [column, Buffer.isBuffer(row[column]) ? row[column].toString('base64') : row[column]]);
  return `${JSON.stringify(values)}\n`;
}
