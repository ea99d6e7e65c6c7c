/** Databases as earlier states of the code left them: see earlier/README.md. */
import { readFileSync } from 'node:fs';
import { sql } from 'kysely';
import { insertMany } from '../../src/database/bulk.ts';
import { moveSequences } from '../../src/database/engine.ts';
import type { Db, Tables, Trx } from '../../src/database/tables.ts';
import { transact } from '../../src/database/transaction.ts';

export type Row = Record<string, unknown>;
export type Earlier = {
  /** A token that may do everything. */
  token: string;
  /** The last position of the ledger. */
  position: number;
  /** Name and SHA-256 of the migrations that it had. */
  migrations: Record<'sqlite' | 'postgres', [name: string, hash: string][]>;
  tables: Map<string, Row[]>;
};

/** A migration gives these their one row. */
const OF_ONE_ROW = new Set(['instance', 'ledger_head', 'gate', 'payroll_head']);

/** What is kept under this name in test/database/earlier. */
export function readEarlier(name: string): Earlier {
  const text = readFileSync(new URL(`earlier/${name}.ndjson`, import.meta.url), 'utf8');
  const [head = '', ...lines] = text.trimEnd().split('\n');
  const tables = new Map<string, Row[]>();
  for (const line of lines) {
    const [table, fields] = JSON.parse(line) as [string, Row];
    const row = Object.fromEntries(Object.entries(fields).map(([column, value]) => [column, bytesOf(value)]));
    tables.set(table, [...(tables.get(table) ?? []), row]);
  }
  return { ...(JSON.parse(head) as Omit<Earlier, 'tables'>), tables };
}

function bytesOf(value: unknown): unknown {
  return typeof value === 'object' && value !== null && 'hex' in value
    ? Buffer.from(value.hex as string, 'hex')
    : value;
}

/** Writes every row into a database that has the schema of then, and nothing else. */
export async function fillEarlier(db: Db, { tables }: Earlier): Promise<void> {
  await transact(db, async (trx) => {
    for (const [table, rows] of tables) {
      if (OF_ONE_ROW.has(table)) await sql`delete from ${sql.table(table)}`.execute(trx);
      await insertRows(trx, table as keyof Tables, rows);
    }
    await moveSequences(trx);
  });
}

async function insertRows(trx: Trx, table: keyof Tables, rows: readonly Row[]): Promise<void> {
  const columns = Object.keys(rows[0] ?? {});
  const values = rows.map((row) => columns.map((column) => row[column]));
  await insertMany(trx, table, columns as never[], values);
}

/** The rows of a table in these columns, as texts in an order that does not depend on the engine. */
export async function rowsOf(db: Db, table: string, columns: readonly string[]): Promise<string[]> {
  const { rows } = await sql<Row>`select * from ${sql.table(table)}`.execute(db);
  return rows.map((row) => textOf(row, columns)).sort();
}

export function textOf(row: Row, columns: readonly string[]): string {
  return JSON.stringify(
    columns.map((column) => {
      const value = row[column];
      return Buffer.isBuffer(value) ? value.toString('hex') : value;
    }),
  );
}
