/** Opens everything that is sealed: what was altered, or moved to another row, does not open. */
import type { Verifying } from '../database/difference.ts';
import type { Db } from '../database/tables.ts';
import { DataKeyMissing, SealBroken, type Sealer } from './encryption.ts';
import { pagesOfSealed, type SealedColumn } from './rotation.ts';

export type SealedVerified = {
  opened: number;
  /** Values whose key DATA_KEYS lacks, by the id of the key: whether they are whole can't be told. */
  unopened: ReadonlyMap<string, number>;
};

/** Opens every value of some columns. */
export async function verifySealed(
  db: Db,
  sealer: Sealer,
  columns: readonly SealedColumn[],
  { tell, looked, signal }: Verifying,
): Promise<SealedVerified> {
  const unopened = new Map<string, number>();
  let opened = 0;
  for (const column of columns) {
    for await (const rows of pagesOfSealed(db, column)) {
      signal.throwIfAborted();
      for (const { row, value } of rows) {
        if (value === null) continue;
        const place = column.placeOf(row);
        try {
          sealer.open(value, place);
          opened += 1;
        } catch (error) {
          if (error instanceof DataKeyMissing) {
            unopened.set(error.keyId, (unopened.get(error.keyId) ?? 0) + 1);
          } else if (error instanceof SealBroken) {
            tell({
              table: column.table,
              id: place.row,
              field: column.column,
              rule: 'is not what was sealed there',
            });
          } else throw error;
        }
      }
      looked(rows.length);
    }
  }
  return { opened, unopened };
}
