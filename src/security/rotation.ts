/**
 * Sealing again, under the first data key, what another one sealed; beside whoever serves. A few rows go in one
 * transaction, and none that was changed since it was read. It may be broken off, and begun again, at any time.
 */
import { type RawBuilder, sql } from 'kysely';
import { unlessLocked } from '../database/engine.ts';
import type { Db, Tables, Trx } from '../database/tables.ts';
import { transact } from '../database/transaction.ts';
import {
  DataKeyMissing,
  DecryptionFailed,
  type Encryptor,
  HEADER_BYTES_MAX,
  headerOf,
  keyIdOf,
  type Place,
} from './encryption.ts';

type Row = Readonly<Record<string, unknown>>;

/** A column of sealed values, and how to find and open them. */
export type EncryptedColumn = {
  readonly table: keyof Tables & string;
  readonly column: string;
  /** The table's key, in whose order rows are looked at. */
  readonly key: readonly string[];
  /** What `placeOf` needs beside the key. */
  readonly also: readonly string[];
  readonly placeOf: (row: Row) => Place;
  /** Rows read at once, which are in memory while they are sealed again. */
  readonly rowsAtOnce: number;
};

/** How many rows need a data key: by its id, then by `table.column`. */
export type KeysInUse = ReadonlyMap<string, ReadonlyMap<string, number>>;

export type Reencrypted = {
  resealed: number;
  /** Rows that do not open although their key is there, by `table.column`. */
  broken: ReadonlyMap<string, number>;
};

/** Written in one transaction: some ten milliseconds of the 50 that the write lock may be held. */
const BYTES_AT_ONCE = 512 * 1024;
const ROWS_WRITTEN_AT_ONCE = 100;

/**
 * Seals again what another key than the first sealed. A row that somebody changes or has locked just now is left, and
 * so is what does not open. `looked` is told how many more rows were looked at. Throws when `signal` aborts.
 */
export async function reencrypt(
  db: Db,
  encryptor: Encryptor,
  columns: readonly EncryptedColumn[],
  { looked, signal }: { looked: (rows: number) => void; signal: AbortSignal },
): Promise<Reencrypted> {
  const broken = new Map<string, number>();
  let resealed = 0;
  for (const column of columns) {
    const others = sql`case when ${startsWith(column, encryptor.keyId)} then null else ${sql.ref(column.column)} end`;
    for await (const rows of pages(db, column, others)) {
      signal.throwIfAborted();
      const found: Change[] = [];
      for (const { value: old, row } of rows) {
        if (old === null) continue;
        const again = encryptAgain(encryptor, old, column.placeOf(row));
        if (again === 'broken') add(broken, nameOf(column), 1);
        else if (again !== 'key-missing') found.push({ row, old, again });
      }
      for (const some of batches(found)) {
        resealed += await transact(db, (trx) => replace(trx, column, some));
      }
      looked(rows.length);
    }
  }
  return { resealed, broken };
}

/** Which data keys the values of some columns need, by what they begin with: nothing is opened. */
export async function keysInUse(
  db: Db,
  columns: readonly Pick<EncryptedColumn, 'table' | 'column' | 'key' | 'also'>[],
): Promise<KeysInUse> {
  const found = new Map<string, Map<string, number>>();
  for (const column of columns) {
    const begin = sql`substr(${sql.ref(column.column)}, 1, ${sql.lit(HEADER_BYTES_MAX)})`;
    for await (const rows of pages(db, { ...column, rowsAtOnce: HEADERS_AT_ONCE }, begin)) {
      for (const { value } of rows) {
        const keyId = value === null ? null : keyIdOf(value);
        if (keyId === null) continue;
        const ofKey = found.get(keyId) ?? new Map<string, number>();
        found.set(keyId, ofKey);
        add(ofKey, nameOf(column), 1);
      }
    }
  }
  return found;
}

/** Some 40 bytes each. */
const HEADERS_AT_ONCE = 5_000;

/** How many rows there are in some tables, those without a sealed value too. */
export async function countRows(db: Db, columns: readonly Pick<EncryptedColumn, 'table'>[]): Promise<number> {
  let rows = 0;
  for (const { table } of columns) {
    const counted = await sql<{ rows: number }>`select count(*) as rows from ${sql.table(table)}`.execute(db);
    rows += Number(counted.rows[0]?.rows ?? 0);
  }
  return rows;
}

type Change = { row: Row; old: Buffer; again: Buffer };

function encryptAgain(encryptor: Encryptor, old: Buffer, place: Place): Buffer | 'key-missing' | 'broken' {
  try {
    return encryptor.encrypt(encryptor.decrypt(old, place), place);
  } catch (error) {
    if (error instanceof DataKeyMissing) return 'key-missing';
    if (error instanceof DecryptionFailed) return 'broken';
    throw error;
  }
}

function* batches(changes: readonly Change[]): Generator<readonly Change[]> {
  let batch: Change[] = [];
  let bytes = 0;
  for (const change of changes) {
    batch.push(change);
    bytes += change.again.length;
    if (batch.length < ROWS_WRITTEN_AT_ONCE && bytes < BYTES_AT_ONCE) continue;
    yield batch;
    batch = [];
    bytes = 0;
  }
  if (batch.length > 0) yield batch;
}

/** Answers how many rows still held what was read. */
async function replace(trx: Trx, of: EncryptedColumn, changes: readonly Change[]): Promise<number> {
  const [table, column] = [sql.table(of.table), sql.ref(of.column)];
  const keys = sql.join(of.key.map((name) => sql.ref(name)));
  let replaced = 0;
  for (const { row, old, again } of changes) {
    const key = sql.join(of.key.map((name) => sql`${row[name]}`));
    // It holds many rows at once, in an order of its own: waiting for one of them, it could wait in a circle.
    const result = await sql`
      update ${table} set ${column} = ${again} where (${keys}) =
        (select ${keys} from ${table} where (${keys}) = (${key}) and ${column} = ${old} ${unlessLocked(trx)})`.execute(
      trx,
    );
    replaced += Number(result.numAffectedRows ?? 0);
  }
  return replaced;
}

/** All rows in the order of the key, each with a value made from its column. Each page is a statement that ends soon. */
async function* pages(
  db: Db,
  { table, key, also, rowsAtOnce }: Pick<EncryptedColumn, 'table' | 'key' | 'also' | 'rowsAtOnce'>,
  value: RawBuilder<unknown>,
): AsyncGenerator<{ row: Row; value: Buffer | null }[]> {
  const order = sql.join(key.map((name) => sql.ref(name)));
  const columns = sql.join([...key, ...also].map((name) => sql.ref(name)));
  let after = sql`true`;
  for (;;) {
    const { rows } = await sql<Row & { value: Buffer | null }>`
      select ${columns}, ${value} as value from ${sql.table(table)}
      where ${after} order by ${order} limit ${sql.lit(rowsAtOnce)}`.execute(db);
    if (rows.length > 0) yield rows.map((row) => ({ row, value: row.value }));
    const last = rows.at(-1);
    if (last === undefined || rows.length < rowsAtOnce) return;
    after = sql`(${order}) > (${sql.join(key.map((name) => sql`${last[name]}`))})`;
  }
}

/** All values of a sealed column, page by page. */
export function pagesOfEncrypted(
  db: Db,
  column: EncryptedColumn,
): AsyncGenerator<{ row: Row; value: Buffer | null }[]> {
  return pages(db, column, sql`${sql.ref(column.column)}`);
}

function startsWith({ column }: EncryptedColumn, keyId: string): RawBuilder<boolean> {
  const header = headerOf(keyId);
  return sql`substr(${sql.ref(column)}, 1, ${sql.lit(header.length)}) = ${header}`;
}

function nameOf({ table, column }: Pick<EncryptedColumn, 'table' | 'column'>): string {
  return `${table}.${column}`;
}

function add(counts: Map<string, number>, name: string, count: number): void {
  counts.set(name, (counts.get(name) ?? 0) + count);
}
