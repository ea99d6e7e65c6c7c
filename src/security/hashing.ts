/**
 * Keyed hashes: they tell later whether a value is the same, and can't be guessed back without the key, however few
 * values there are. The key (HMAC-SHA-256) belongs to the database and lies in it sealed, so that hashes outlive
 * every data key. A hash is `format (1 byte) | length of the key id (1 byte) | key id | HMAC (32 bytes)`.
 */
import { createHmac, createSecretKey, type KeyObject, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Db } from '../database/tables.ts';
import { transact } from '../database/transaction.ts';
import { DataKeyMissing, DecryptionFailed, type Encryptor, type Place, placeBytes } from './encryption.ts';
import type { EncryptedColumn } from './rotation.ts';

export type Hasher = {
  /** The id of the database's key: what was made with another one can't be compared. */
  readonly keyId: string;
  /** The hash of a value that is stored, or was, at a place. */
  hash(plain: Uint8Array, place: Place): Buffer;
  /**
   * Whether a hash, also one of the former form, is that of this value. Throws `HashKeyGone`, `DecryptionFailed`, and for
   * the former form `DataKeyMissing`.
   */
  isHashOf(hash: Uint8Array, plain: Uint8Array, place: Place): boolean;
  /** A short hash, `FINGERPRINT_BYTES`, for where there are many. */
  fingerprint(plain: string, place: Place): Buffer;
};

/** The hash was made with a key that this database no longer has. */
export class HashKeyGone extends Error {
  readonly code = 'HASH_KEY_GONE';
  readonly keyId: string;
  constructor(keyId: string) {
    super(
      `a stored hash was made with hash key ${keyId}, which the database has no longer: restore a backup`,
    );
    this.keyId = keyId;
  }
}

/** Two values of one place share it by chance once in 2^64: a change that is missed, and nothing worse. */
export const FINGERPRINT_BYTES = 8;

/** 1 is the former form, whose key was derived from a data key. */
const FORMAT = 2;
const KEY_BYTES = 32;
/** Tells apart the few keys that a database may ever have. */
const KEY_ID_BYTES = 4;
const HASH_BYTES = 32;

/** Opened once for a connection and the keys that it was opened with: the key itself never changes. */
const opened = new WeakMap<Db, WeakMap<Encryptor, Promise<Hasher>>>();

/**
 * The hasher of a database. The first use of all makes its key; of several at once one does. Call it outside of a
 * transaction. Throws `DataKeyMissing` or `DecryptionFailed` when the key can't be opened, and what the database throws:
 * the next call tries again.
 */
export function openHasher(db: Db, encryptor: Encryptor): Promise<Hasher> {
  const byEncryptor = opened.get(db) ?? new WeakMap<Encryptor, Promise<Hasher>>();
  opened.set(db, byEncryptor);
  const known = byEncryptor.get(encryptor);
  if (known !== undefined) return known;
  const opening = readOrMake(db, encryptor);
  byEncryptor.set(encryptor, opening);
  opening.catch(() => byEncryptor.delete(encryptor));
  return opening;
}

/** Where the key is stored. */
export function hashKeyPlace(keyId: string): Place {
  return { table: 'hash_keys', row: keyId, column: 'sealed' };
}

/** For sealing it again. */
export const HASH_KEY: EncryptedColumn = {
  table: 'hash_keys',
  column: 'sealed',
  key: ['one'],
  also: ['key_id'],
  placeOf: ({ key_id }) => hashKeyPlace(String(key_id)),
  rowsAtOnce: 1,
};

async function readOrMake(db: Db, encryptor: Encryptor): Promise<Hasher> {
  const row = (await read(db).executeTakeFirst()) ?? (await make(db, encryptor));
  const key = encryptor.decrypt(row.sealed, hashKeyPlace(row.key_id));
  return createHasher(row.key_id, createSecretKey(key), encryptor);
}

function read(db: Db) {
  return db.selectFrom('hash_keys').select(['key_id', 'sealed']);
}

async function make(db: Db, encryptor: Encryptor): Promise<{ key_id: string; sealed: Buffer }> {
  const key_id = randomBytes(KEY_ID_BYTES).toString('hex');
  const sealed = encryptor.encrypt(randomBytes(KEY_BYTES), hashKeyPlace(key_id));
  await transact(db, async (trx) => {
    await trx
      .insertInto('hash_keys')
      .values({ one: 1, key_id, sealed })
      // Another one was first: its key is the database's.
      .onConflict((conflict) => conflict.doNothing())
      .execute();
  });
  return read(db).executeTakeFirstOrThrow();
}

function createHasher(keyId: string, key: KeyObject, encryptor: Encryptor): Hasher {
  const id = Buffer.from(keyId);
  const header = Buffer.concat([Buffer.from([FORMAT, id.length]), id]);
  const hmac = (plain: Uint8Array, place: Place): Buffer =>
    createHmac('sha256', key).update(placeBytes(header, place)).update('\n').update(plain).digest();

  return {
    keyId,
    hash: (plain, place) => Buffer.concat([header, hmac(plain, place)]),
    isHashOf(hash, plain, place) {
      if (hash[0] !== FORMAT) return encryptor.isFormerHashOf(hash, plain, place);
      const end = 2 + (hash[1] ?? 0);
      if (hash.length !== end + HASH_BYTES) throw new DecryptionFailed(place);
      const madeWith = Buffer.from(hash.subarray(2, end)).toString('utf8');
      if (madeWith !== keyId) throw new HashKeyGone(madeWith);
      return timingSafeEqual(hash.subarray(end), hmac(plain, place));
    },
    fingerprint(plain, { table, row, column }) {
      // One text, because there are many: no hash above begins with a bracket.
      const text = `${JSON.stringify([table, row, column])}\n${plain}`;
      return createHmac('sha256', key).update(text).digest().subarray(0, FINGERPRINT_BYTES);
    },
  };
}

/**
 * What an error says of keys and of what they seal, for people, answers and logs: it names a key id or a place and
 * nothing of a value. Null for every other error, whose message may hold anything.
 */
export function keyErrorMessage(error: unknown): string | null {
  const known = [DataKeyMissing, DecryptionFailed, HashKeyGone].some((kind) => error instanceof kind);
  return known ? (error as Error).message : null;
}
