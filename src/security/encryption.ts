/**
 * Encryption at rest: AES-256-GCM under the data keys. An encrypted value is `format (1 byte) | length of the
 * key id (1 byte) | key id | nonce (12 bytes) | ciphertext | tag (16 bytes)`.
 */
import { createCipheriv, createDecipheriv, createSecretKey, randomBytes } from 'node:crypto';
import type { DataKey } from '../config.ts';
import { AppError } from '../errors.ts';

/** Where a value is stored. It is authenticated data, so a value moved to another row cannot be decrypted. */
export type Place = { readonly table: string; readonly row: string; readonly column: string };

export type StoredValue = { readonly encrypted: Buffer; readonly place: Place };

export type Encryptor = ReturnType<typeof createEncryptor>;

export function decryptionFailed(place: Place): AppError {
  return new AppError(
    'DECRYPTION_FAILED',
    `${place.table}.${place.column} of ${place.row} cannot be decrypted: it was changed or moved; restore a backup`,
  );
}

const CIPHER = 'aes-256-gcm';
const FORMAT = 1;
const HEADER_FIXED_BYTES = 2;
/** A key id has at most 32 characters (config.ts). */
export const HEADER_BYTES_MAX = HEADER_FIXED_BYTES + 32;
/** GCM's own size. Random nonces stay safe for 2^32 values per key (NIST SP 800-38D, 8.3). */
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

export function createEncryptor(dataKeys: readonly DataKey[]) {
  const keys = new Map(dataKeys.map(({ id, key }) => [id, createSecretKey(key)]));
  const [first] = dataKeys;
  if (first === undefined) throw new Error('there is no data key to encrypt with');

  const find = (keyId: string) => {
    const key = keys.get(keyId);
    if (key !== undefined) return key;
    throw new AppError(
      'DATA_KEY_MISSING',
      `DATA_KEYS has no key ${keyId}, which encrypts a stored value: add it after the first one`,
      { subject: keyId },
    );
  };

  return {
    /** The id of the first key, which encrypts. */
    keyId: first.id,
    encrypt(plain: Uint8Array, place: Place): Buffer {
      const header = headerOf(first.id);
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv(CIPHER, find(first.id), nonce, { authTagLength: TAG_BYTES });
      cipher.setAAD(placeBytes(header, place));
      return Buffer.concat([header, nonce, cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
    },
    /** Throws DATA_KEY_MISSING or DECRYPTION_FAILED, whose messages contain nothing of the value. */
    decrypt(encrypted: Uint8Array, place: Place): Buffer {
      const parts = splitHeader(encrypted);
      if (parts === null || parts.rest.length < NONCE_BYTES + TAG_BYTES) throw decryptionFailed(place);
      const { keyId, header, rest } = parts;
      const nonce = rest.subarray(0, NONCE_BYTES);
      const cipher = createDecipheriv(CIPHER, find(keyId), nonce, { authTagLength: TAG_BYTES });
      cipher.setAAD(placeBytes(header, place));
      cipher.setAuthTag(rest.subarray(-TAG_BYTES));
      const plain = cipher.update(rest.subarray(NONCE_BYTES, -TAG_BYTES));
      try {
        cipher.final();
      } catch {
        throw decryptionFailed(place);
      }
      return plain;
    },
  };
}

/** Returns the first bytes of every value that was made with this key, by default of every encrypted value. */
export function headerOf(keyId: string, format = FORMAT): Buffer {
  const id = Buffer.from(keyId);
  return Buffer.concat([Buffer.from([format, id.length]), id]);
}

/** Splits a value after the bytes of `headerOf`. Returns null if it does not start with such bytes. */
export function splitHeader(value: Uint8Array, format = FORMAT) {
  const bytes = Buffer.from(value.buffer, value.byteOffset, value.byteLength);
  const end = HEADER_FIXED_BYTES + (bytes[1] ?? 0);
  if (bytes[0] !== format || end === HEADER_FIXED_BYTES || bytes.length < end) return null;
  return {
    keyId: bytes.toString('utf8', HEADER_FIXED_BYTES, end),
    header: bytes.subarray(0, end),
    rest: bytes.subarray(end),
  };
}

/** Returns the authenticated data. JSON separates the parts, whatever characters they contain. */
export function placeBytes(header: Uint8Array, { table, row, column }: Place): Buffer {
  return Buffer.concat([header, Buffer.from(JSON.stringify([table, row, column]))]);
}
