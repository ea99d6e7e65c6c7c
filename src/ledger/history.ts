import { sql } from 'kysely';
import { isOneOf, isOneOfSelected, textRows } from '../database/bulk.ts';
import type { Db, Trx } from '../database/tables.ts';
import type { Version } from './fold.ts';

/**
 * Every version of some deductions, oldest position first. Follows each deduction's chain from its newest version
 * back, by primary keys only.
 */
export async function historyOf(db: Db | Trx, deductionIds: readonly string[]): Promise<Version[]> {
  if (deductionIds.length === 0) return [];
  return db
    .withRecursive('history', (qb) =>
      qb
        .selectFrom('deductions')
        .innerJoin('deduction_versions', 'deduction_versions.position', 'deductions.newest')
        .where(isOneOf(db, 'deductions.deduction_id', deductionIds))
        .selectAll('deduction_versions')
        .unionAll((union) =>
          union
            .selectFrom('history')
            .innerJoin('deduction_versions', 'deduction_versions.position', 'history.previous')
            .selectAll('deduction_versions'),
        ),
    )
    .selectFrom('history')
    .selectAll()
    .orderBy('position')
    .execute();
}

/** A deduction's versions at one event time, up to a position. */
export type AtTime = { deductionId: string; eventTime: string; until: number };

/**
 * Returns the version with the greatest position of each of these, if there is one. Reads one index entry and one row
 * for each, however long the deduction's history is.
 */
export async function versionsAt(db: Db | Trx, times: readonly AtTime[]): Promise<Version[]> {
  if (times.length === 0) return [];
  const wanted = textRows(
    db,
    ['deduction_id', 'event_time', 'until'],
    times.map(({ deductionId, eventTime, until }) => [deductionId, eventTime, String(until)]),
  );
  const positions = sql`
    select (select max(deduction_versions.position) from deduction_versions
      where deduction_versions.event_time = wanted.event_time and deduction_versions.deduction_id = wanted.deduction_id
        and deduction_versions.position <= cast(wanted.until as bigint))
    from ${wanted} as wanted`;
  return db
    .selectFrom('deduction_versions')
    .selectAll()
    .where(isOneOfSelected(db, 'position', positions))
    .execute();
}

/** The order of a page of versions: by position, which is the order of recording. */
export type HistoryOrder = 'oldest_first' | 'newest_first';

/**
 * Versions of one deduction behind a position in that order, `limit` of them; with null from the beginning. Walks the
 * chain back by its links alone, from the newest or to that position, and reads the rows of the page only.
 */
export async function historyPage(
  db: Db,
  deductionId: string,
  { after, limit, order }: { after: number | null; limit: number; order: HistoryOrder },
): Promise<Version[]> {
  const isNewestFirst = order === 'newest_first';
  const direction = isNewestFirst ? 'desc' : 'asc';
  const oldest = isNewestFirst ? 0 : (after ?? 0);
  return db
    .withRecursive('links', (qb) =>
      qb
        .selectFrom('deductions')
        .innerJoin('deduction_versions', 'deduction_versions.position', 'deductions.newest')
        .where('deductions.deduction_id', '=', deductionId)
        .where('deduction_versions.position', '>', oldest)
        .select(['deduction_versions.position', 'deduction_versions.previous'])
        .unionAll((union) =>
          union
            .selectFrom('links')
            .innerJoin('deduction_versions', 'deduction_versions.position', 'links.previous')
            .where('deduction_versions.position', '>', oldest)
            .select(['deduction_versions.position', 'deduction_versions.previous']),
        ),
    )
    .selectFrom('deduction_versions')
    .where('deduction_versions.position', 'in', (eb) =>
      eb
        .selectFrom('links')
        .select('links.position')
        .$if(isNewestFirst && after !== null, (links) => links.where('links.position', '<', after))
        .orderBy('links.position', direction)
        .limit(limit),
    )
    .selectAll('deduction_versions')
    .orderBy('deduction_versions.position', direction)
    .execute();
}
