import { sql } from 'kysely';
import type { Db } from '../database/tables.ts';
import type { StagedCensus } from './staged.ts';
import type { Upload } from './uploads.ts';

/** The staged census of an employer beside what the service took last. */
export type StagedSummary = Pick<StagedCensus, 'censusId' | 'employerId' | 'stagedAt' | 'employees'> & {
  lastUpload: Omit<Upload, 'fingerprintKey'> | null;
};

/** The staged censuses in the order of the employers' ids, from behind `after` (an employer id). `next` continues it. */
export async function listStagedCensuses(
  db: Db,
  { employerId }: { employerId?: string | undefined },
  { after, limit }: { after?: string | undefined; limit: number },
): Promise<{ censuses: StagedSummary[]; next: string | null }> {
  const rows = await db
    .selectFrom('staged_censuses as staged')
    .leftJoin('staged_censuses as taken', (join) =>
      join.onRef('taken.employer_id', '=', 'staged.employer_id').on('taken.uploaded_at', 'is not', null),
    )
    .select(['staged.employer_id', 'staged.census_id', 'staged.staged_at', 'staged.employees'])
    .select(['taken.census_id as taken_id', 'taken.employees as taken_employees', 'taken.uploaded_at'])
    // A literal: only then does the index of current ones alone serve.
    .where(sql<boolean>`staged.state = 'current'`)
    .$if(employerId !== undefined, (query) => query.where('staged.employer_id', '=', employerId as string))
    .$if(after !== undefined, (query) => query.where('staged.employer_id', '>', after as string))
    .orderBy('staged.employer_id')
    .limit(limit + 1)
    .execute();
  const censuses = rows.slice(0, limit).map(
    (row): StagedSummary => ({
      employerId: row.employer_id,
      censusId: row.census_id,
      stagedAt: row.staged_at,
      employees: row.employees,
      lastUpload:
        row.taken_id === null || row.taken_employees === null || row.uploaded_at === null
          ? null
          : { censusId: row.taken_id, employees: row.taken_employees, uploadedAt: row.uploaded_at },
    }),
  );
  return { censuses, next: rows.length > limit ? (censuses.at(-1)?.employerId ?? null) : null };
}
