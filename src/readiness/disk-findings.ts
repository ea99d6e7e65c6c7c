import type { Db } from '../database/tables.ts';
import { diskInWords, diskOf, judgeDisk } from '../telemetry/disk.ts';
import type { Found } from './findings.ts';

/** A disk that fills: when it is full, what comes is refused, and the ledger stands still. */
export async function diskFilling(db: Db): Promise<Found[]> {
  const disk = await diskOf(db);
  if (disk === null) return [];
  const result = judgeDisk(disk);
  return result === 'pass' ? [] : [{ example: diskInWords(disk), result }];
}
