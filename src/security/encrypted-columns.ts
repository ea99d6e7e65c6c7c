/** The columns of encrypted values: which keys they need, whether they can be decrypted, and encrypting them again. */
import { type RawBuilder, sql } from 'kysely';
import { type AnyRow, pagesByKey } from '../database/bulk.ts';
import type { Verifying } from '../database/difference.ts';
import { engineOf } from '../database/engine.ts';
import { KEYS, type KeyedTable } from '../database/keys.ts';
import type { Db, Trx } from '../database/tables.ts';
import { transact } from '../database/transaction.ts';
import { isAppError } from '../errors.ts';
import { type Encryptor, HEADER_BYTES_MAX, headerOf, type Place, splitHeader } from './encryption.ts';

type Looking = Pick<Verifying, 'looked' | 'signal'>;

export type EncryptedColumn = {
  readonly table: KeyedTable;
  readonly column: string;
  /** Columns that `placeOf` needs in addition to the key. */
  readonly also: readonly string[];
  readonly placeOf: (row: AnyRow) => Place;
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
/** Headers read at once, about 40 bytes each. */
const HEADERS_AT_ONCE = 5_000;

/**
 * Encrypts values of other keys again with the first one, while a sidecar is running. Skips rows that are locked or have
 * changed since they were read, and values that cannot be decrypted. It can be interrupted and restarted at any time.
 */
export async function reencrypt(
  db: Db,
  encryptor: Encryptor,
  columns: readonly EncryptedColumn[],
  on: Looking,
): Promise<Reencrypted> {
  const broken = new Map<string, number>();
  let reencrypted = 0;
  for (const column of columns) {
    const [header, value] = [headerOf(encryptor.keyId), sql.ref(column.column)];
    const isOurs = sql`substr(${value}, 1, ${sql.lit(header.length)}) = ${header}`;
    for await (const rows of pages(db, column, sql`case when ${isOurs} then null else ${value} end`, on)) {
      const changes: Reencryption[] = [];
      for (const row of rows) {
        const again = encryptAgain(encryptor, row.value, column.placeOf(row));
        if (again === 'broken') add(broken, nameOf(column));
        else if (again !== 'key-missing') changes.push({ row, old: row.value, again });
      }
      for (const some of batches(changes)) {
        reencrypted += await transact(db, (trx) => replace(trx, column, some));
      }
    }
  }
  return { reencrypted, broken };
}

/** Counts the values that need each data key, from their first bytes. */
export async function keysInUse(db: Db, columns: readonly EncryptedColumn[]): Promise<KeysInUse> {
  const inUse = new Map<string, Map<string, number>>();
  for (const column of columns) {
    const start = sql`substr(${sql.ref(column.column)}, 1, ${sql.lit(HEADER_BYTES_MAX)})`;
    for await (const rows of pages(db, { ...column, rowsAtOnce: HEADERS_AT_ONCE }, start)) {
      for (const { value } of rows) {
        const header = splitHeader(value);
        if (header === null) continue;
        const ofKey = inUse.get(header.keyId) ?? new Map<string, number>();
        inUse.set(header.keyId, ofKey);
        add(ofKey, nameOf(column));
      }
    }
  }
  return inUse;
}

export type EncryptedVerified = {
  decrypted: number;
  /** Values that cannot be checked because DATA_KEYS lacks their key, by key id. */
  undecrypted: ReadonlyMap<string, number>;
};

/** Decrypts every value: one that was altered, or moved to another row, fails. */
export async function verifyEncrypted(
  db: Db,
  encryptor: Encryptor,
  columns: readonly EncryptedColumn[],
  on: Verifying,
): Promise<EncryptedVerified> {
  const undecrypted = new Map<string, number>();
  let decrypted = 0;
  for (const column of columns) {
    for await (const rows of pages(db, column, sql.ref(column.column), on)) {
      for (const row of rows) {
        const place = column.placeOf(row);
        try {
          encryptor.decrypt(row.value, place);
          decrypted += 1;
        } catch (error) {
          if (isAppError(error, 'DATA_KEY_MISSING')) add(undecrypted, error.subject ?? '');
          else if (isAppError(error, 'DECRYPTION_FAILED')) {
            on.report(column.table, place.row, column.column, 'is not what was encrypted there');
          } else throw error;
        }
      }
    }
  }
  return { decrypted, undecrypted };
}

type Reencryption = { row: AnyRow; old: Buffer; again: Buffer };

function encryptAgain(encryptor: Encryptor, old: Buffer, place: Place): Buffer | 'key-missing' | 'broken' {
  try {
    return encryptor.encrypt(encryptor.decrypt(old, place), place);
  } catch (error) {
    if (isAppError(error, 'DATA_KEY_MISSING')) return 'key-missing';
    if (isAppError(error, 'DECRYPTION_FAILED')) return 'broken';
    throw error;
  }
}

function* batches(changes: readonly Reencryption[]): Generator<readonly Reencryption[]> {
  let batch: Reencryption[] = [];
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
async function replace(trx: Trx, of: EncryptedColumn, changes: readonly Reencryption[]): Promise<number> {
  const [table, column] = [sql.table(of.table), sql.ref(of.column)];
  const names = KEYS[of.table];
  const keys = sql.join(names.map((name) => sql.ref(name)));
  // This transaction holds many rows in its own order, so waiting for a locked row could deadlock.
  const unlessLocked = engineOf(trx) === 'sqlite' ? sql`` : sql`for update skip locked`;
  let replaced = 0;
  for (const { row, old, again } of changes) {
    const key = sql.join(names.map((name) => sql`${row[name]}`));
    const result = await sql`
      update ${table} set ${column} = ${again} where (${keys}) =
        (select ${keys} from ${table} where (${keys}) = (${key}) and ${column} = ${old} ${unlessLocked})`.execute(
      trx,
    );
    replaced += Number(result.numAffectedRows ?? 0);
  }
  return replaced;
}

/** Yields the rows that have a value, page by page. */
async function* pages(
  db: Db,
  { table, also, rowsAtOnce }: EncryptedColumn,
  value: RawBuilder<unknown>,
  on?: Looking,
) {
  type Found = AnyRow & { value: Buffer | null };
  const selected = sql`${sql.join([...KEYS[table], ...also].map((name) => sql.ref(name)))}, ${value} as value`;
  for await (const rows of pagesByKey<Found>(db, table, selected, rowsAtOnce)) {
    on?.signal.throwIfAborted();
    yield rows.filter((row): row is AnyRow & { value: Buffer } => row.value !== null);
    on?.looked(rows.length);
  }
}

function nameOf({ table, column }: EncryptedColumn): string {
  return `${table}.${column}`;
}

function add(counts: Map<string, number>, name: string): void {
  counts.set(name, (counts.get(name) ?? 0) + 1);
}
