/**
 * Keyed hashes show whether a value is the same as before, and cannot be guessed without the key. The key
 * (HMAC-SHA-256) belongs to the database, which stores it encrypted, so hashes outlive every data key. A hash
 * is `format (1 byte) | length of the key id (1 byte) | key id | HMAC (32 bytes)`.
 */
import { createHmac, createSecretKey, type KeyObject, randomBytes, timingSafeEqual } from 'node:crypto';
import { sql } from 'kysely';
import type { Verifying } from '../database/difference.ts';
import type { Db, Tables } from '../database/tables.ts';
import { transact } from '../database/transaction.ts';
import { AppError, isAppError } from '../errors.ts';
import type { EncryptedColumn } from './encrypted-columns.ts';
import {
  decryptionFailed,
  type Encryptor,
  headerOf,
  type Place,
  placeBytes,
  type StoredValue,
  splitHeader,
} from './encryption.ts';

export type Hasher = ReturnType<typeof createHasher>;

/** Two values of one place collide once in 2^64; a collision hides one change. */
export const FINGERPRINT_BYTES = 8;

/** Differs from an encrypted value's first byte. */
const FORMAT = 2;
const KEY_BYTES = 32;
const KEY_ID_BYTES = 4;
const HASH_BYTES = 32;

/**
 * Returns the hasher of a database and creates its key if it has none. Call it outside a transaction. Throws
 * DATA_KEY_MISSING, DECRYPTION_FAILED and database errors.
 */
export async function openHasher(db: Db, encryptor: Encryptor): Promise<Hasher> {
  const row = (await read(db).executeTakeFirst()) ?? (await make(db, encryptor));
  return hasherOf(row, encryptor);
}

/** Returns the hasher of a database, or null if it has no key. Throws as `openHasher` does. */
export async function findHasher(db: Db, encryptor: Encryptor): Promise<Hasher | null> {
  const row = await read(db).executeTakeFirst();
  return row === undefined ? null : hasherOf(row, encryptor);
}

function hasherOf({ key_id, ciphertext }: StoredKey, encryptor: Encryptor): Hasher {
  return createHasher(key_id, createSecretKey(encryptor.decrypt(ciphertext, hashKeyPlace(key_id))));
}

/** A column with what identifies the key of its hashes. */
type HashedColumn = {
  readonly table: keyof Tables & string;
  readonly column: string;
  readonly has: 'hash' | 'key-id';
};

/** Checks that the hash key of the database made the hashes in these columns. */
export async function verifyHashKey(db: Db, columns: readonly HashedColumn[], { report }: Verifying) {
  const keyId = (await read(db).executeTakeFirst())?.key_id;
  const header = headerOf(keyId ?? '', FORMAT);
  for (const { table, column, has } of columns) {
    const value = sql.ref(column);
    const isOther =
      has === 'hash'
        ? sql`substr(${value}, 1, ${header.length}) <> ${header}`
        : sql`${value} <> ${keyId ?? ''}`;
    const others = sql`select 1 from ${sql.table(table)} where ${isOther} limit 1`;
    if ((await others.execute(db)).rows.length === 0) continue;
    const rule = `${keyId === undefined ? 'is missing' : 'was replaced'}: ${table} has hashes of another key`;
    report('hash_keys', 1, 'key_id', rule);
  }
}

export function hashKeyPlace(keyId: string): Place {
  return { table: 'hash_keys', row: keyId, column: 'ciphertext' };
}

export async function storedHashKeys(db: Db): Promise<StoredValue[]> {
  const rows = await read(db).execute();
  return rows.map(({ key_id, ciphertext }) => ({ encrypted: ciphertext, place: hashKeyPlace(key_id) }));
}

export const HASH_KEY: EncryptedColumn = {
  table: 'hash_keys',
  column: 'ciphertext',
  also: ['key_id'],
  placeOf: ({ key_id }) => hashKeyPlace(String(key_id)),
  rowsAtOnce: 1,
};

function read(db: Db) {
  return db.selectFrom('hash_keys').select(['key_id', 'ciphertext']);
}

type StoredKey = Pick<Tables['hash_keys'], 'key_id' | 'ciphertext'>;

async function make(db: Db, encryptor: Encryptor): Promise<StoredKey> {
  const key_id = randomBytes(KEY_ID_BYTES).toString('hex');
  const ciphertext = encryptor.encrypt(randomBytes(KEY_BYTES), hashKeyPlace(key_id));
  // If another process was first, its key is the database's.
  await transact(db, (trx) =>
    trx
      .insertInto('hash_keys')
      .values({ id: 1, key_id, ciphertext })
      .onConflict((conflict) => conflict.doNothing())
      .execute(),
  );
  return read(db).executeTakeFirstOrThrow();
}

function createHasher(keyId: string, key: KeyObject) {
  const header = headerOf(keyId, FORMAT);
  const hmac = (plain: Uint8Array, place: Place): Buffer =>
    createHmac('sha256', key).update(placeBytes(header, place)).update('\n').update(plain).digest();

  return {
    /** Hashes made with another key cannot be compared. */
    keyId,
    hash: (plain: Uint8Array, place: Place): Buffer => Buffer.concat([header, hmac(plain, place)]),
    /** Returns whether a hash is this value's. Throws HASH_KEY_GONE or, for no hash, DECRYPTION_FAILED. */
    isHashOf(hash: Uint8Array, plain: Uint8Array, place: Place): boolean {
      const parts = splitHeader(hash, FORMAT);
      if (parts?.rest.length !== HASH_BYTES) throw decryptionFailed(place);
      if (parts.keyId !== keyId) {
        throw new AppError(
          'HASH_KEY_GONE',
          `a stored hash was made with hash key ${parts.keyId}, which is no longer in the database: restore a backup`,
        );
      }
      return timingSafeEqual(parts.rest, hmac(plain, place));
    },
    /** Returns a short hash of `FINGERPRINT_BYTES`, for where there are many. */
    fingerprint(plain: string, { table, row, column }: Place): Buffer {
      // Cheaper than two updates, because there are many. No hash above starts with a bracket.
      const text = `${JSON.stringify([table, row, column])}\n${plain}`;
      return createHmac('sha256', key).update(text).digest().subarray(0, FINGERPRINT_BYTES);
    },
  };
}

/** Returns the message of an error about keys, which holds no value; null for any other error. */
export function keyErrorMessage(error: unknown): string | null {
  return isAppError(error, 'DATA_KEY_MISSING', 'DECRYPTION_FAILED', 'HASH_KEY_GONE') ? error.message : null;
}
