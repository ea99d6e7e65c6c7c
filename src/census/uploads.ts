import type { Db, Trx } from '../database/tables.ts';

/** The census of each employer that the service took last: what a newer one is compared with. */

export type Upload = {
  censusId: string;
  /** When the service took it. */
  uploadedAt: string;
  employees: number;
  /** The hash key of its fingerprints; null when an earlier release staged it. */
  fingerprintKey: string | null;
};

/** The service took this census of the employer; the caller has locked the employer's name. */
export async function recordUpload(
  trx: Trx,
  employerId: string,
  censusId: string,
  now: string,
): Promise<void> {
  await trx
    .updateTable('staged_censuses')
    .set({ uploaded_at: null })
    .where('employer_id', '=', employerId)
    .where('uploaded_at', 'is not', null)
    .execute();
  await trx
    .updateTable('staged_censuses')
    .set({ uploaded_at: now })
    .where('census_id', '=', censusId)
    // One without bytes is being removed, fingerprints and all.
    .where('body_bytes', '>', 0)
    .execute();
}

/** Null before the first. */
export async function lastUpload(db: Db, employerId: string): Promise<Upload | null> {
  const row = await db
    .selectFrom('staged_censuses')
    .select(['census_id', 'uploaded_at', 'employees', 'fingerprint_key'])
    .where('employer_id', '=', employerId)
    .where('uploaded_at', 'is not', null)
    .executeTakeFirst();
  if (row === undefined || row.uploaded_at === null) return null;
  return {
    censusId: row.census_id,
    uploadedAt: row.uploaded_at,
    employees: row.employees,
    fingerprintKey: row.fingerprint_key,
  };
}
