/**
 * Encrypts values again under the first data key, while a sidecar is running. A transaction covers a few rows
 * and skips rows that changed since they were read. It can be interrupted and restarted at any time.
 */
import { type RawBuilder, sql } from 'kysely';
import { unlessLocked } from '../database/engine.ts';
import type { Db, Tables, Trx } from '../database/tables.ts';
import { transact } from '../database/transaction.ts';
import { isAppError } from '../errors.ts';
import { type Encryptor, HEADER_BYTES_MAX, headerOf, keyIdOf, type Place } from './encryption.ts';

type Row = Readonly<Record<string, unknown>>;

/** A column of encrypted values and how to find and decrypt them. */
export type EncryptedColumn = {
  readonly table: keyof Tables & string;
  readonly column: string;
  /** The table's key, in the order of reading. */
  readonly key: readonly string[];
  /** Columns that `placeOf` needs in addition to the key. */
  readonly also: readonly string[];
  readonly placeOf: (row: Row) => Place;
  /** Rows in memory at once. */
  readonly rowsAtOnce: number;
};

/** How many rows need each data key: by key id, then by `table.column`. */
export type KeysInUse = ReadonlyMap<string, ReadonlyMap<string, number>>;

export type Reencrypted = {
  reencrypted: number;
  /** Rows that cannot be decrypted although their key is configured, by `table.column`. */
  broken: ReadonlyMap<string, number>;
};

/** Per transaction: about 10 of the 50 ms that the write lock may be held. */
const BYTES_AT_ONCE = 512 * 1024;
const ROWS_WRITTEN_AT_ONCE = 100;

/**
 * Encrypts values of other keys again with the first one. Skips rows that are locked or have changed since they were
 * read, and values that cannot be decrypted. Calls `looked` with the number of rows read. Throws when `signal` aborts.
 */
export async function reencrypt(
  db: Db,
  encryptor: Encryptor,
  columns: readonly EncryptedColumn[],
  { looked, signal }: { looked: (rows: number) => void; signal: AbortSignal },
): Promise<Reencrypted> {
  const broken = new Map<string, number>();
  let reencrypted = 0;
  for (const column of columns) {
    const [header, value] = [headerOf(encryptor.keyId), sql.ref(column.column)];
    const isOurs = sql`substr(${value}, 1, ${sql.lit(header.length)}) = ${header}`;
    const others = sql`case when ${isOurs} then null else ${value} end`;
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
        reencrypted += await transact(db, (trx) => replace(trx, column, some));
      }
      looked(rows.length);
    }
  }
  return { reencrypted, broken };
}

/** Counts the values that need each data key, from their first bytes. */
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

/** About 40 bytes each. */
const HEADERS_AT_ONCE = 5_000;

/** Counts the rows of some tables, including those without an encrypted value. */
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
    if (isAppError(error, 'DATA_KEY_MISSING')) return 'key-missing';
    if (isAppError(error, 'DECRYPTION_FAILED')) return 'broken';
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

/** Returns how many rows still held what was read. */
async function replace(trx: Trx, of: EncryptedColumn, changes: readonly Change[]): Promise<number> {
  const [table, column] = [sql.table(of.table), sql.ref(of.column)];
  const keys = sql.join(of.key.map((name) => sql.ref(name)));
  let replaced = 0;
  for (const { row, old, again } of changes) {
    const key = sql.join(of.key.map((name) => sql`${row[name]}`));
    // This transaction holds many rows in its own order, so waiting for a locked row could deadlock.
    const result = await sql`
      update ${table} set ${column} = ${again} where (${keys}) =
        (select ${keys} from ${table} where (${keys}) = (${key}) and ${column} = ${old} ${unlessLocked(trx)})`.execute(
      trx,
    );
    replaced += Number(result.numAffectedRows ?? 0);
  }
  return replaced;
}

/** Yields all rows in key order, each with a value of its column. Each page is a short statement. */
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

/** Yields all values of an encrypted column, page by page. */
export function pagesOfEncrypted(
  db: Db,
  column: EncryptedColumn,
): AsyncGenerator<{ row: Row; value: Buffer | null }[]> {
  return pages(db, column, sql`${sql.ref(column.column)}`);
}

function nameOf({ table, column }: Pick<EncryptedColumn, 'table' | 'column'>): string {
  return `${table}.${column}`;
}

function add(counts: Map<string, number>, name: string, count: number): void {
  counts.set(name, (counts.get(name) ?? 0) + count);
}
