/** Decrypts all encrypted values: a value that was altered, or moved to another row, fails. */
import type { Verifying } from '../database/difference.ts';
import type { Db } from '../database/tables.ts';
import { isAppError } from '../errors.ts';
import type { Encryptor } from './encryption.ts';
import { type EncryptedColumn, pagesOfEncrypted } from './rotation.ts';

export type EncryptedVerified = {
  decrypted: number;
  /** Values that cannot be checked because DATA_KEYS lacks their key, by key id. */
  undecrypted: ReadonlyMap<string, number>;
};

/** Decrypts every value of some columns. */
export async function verifyEncrypted(
  db: Db,
  encryptor: Encryptor,
  columns: readonly EncryptedColumn[],
  { report, looked, signal }: Verifying,
): Promise<EncryptedVerified> {
  const undecrypted = new Map<string, number>();
  let decrypted = 0;
  for (const column of columns) {
    for await (const rows of pagesOfEncrypted(db, column)) {
      signal.throwIfAborted();
      for (const { row, value } of rows) {
        if (value === null) continue;
        const place = column.placeOf(row);
        try {
          encryptor.decrypt(value, place);
          decrypted += 1;
        } catch (error) {
          if (isAppError(error, 'DATA_KEY_MISSING')) {
            const keyId = error.subject ?? '';
            undecrypted.set(keyId, (undecrypted.get(keyId) ?? 0) + 1);
          } else if (isAppError(error, 'DECRYPTION_FAILED')) {
            report(column.table, place.row, column.column, 'is not what was encrypted there');
          } else throw error;
        }
      }
      looked(rows.length);
    }
  }
  return { decrypted, undecrypted };
}
