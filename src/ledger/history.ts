import type { Db, Trx } from '../database/tables.ts';
import type { Version } from './fold.ts';

/**
 * Every version of some deductions, oldest position first. Follows each deduction's chain from its newest version
 * back, by primary keys only. At most a few hundred ids at once: they become parameters of one statement.
 */
export async function historyOf(db: Db | Trx, deductionIds: readonly string[]): Promise<Version[]> {
  if (deductionIds.length === 0) return [];
  return db
    .withRecursive('history', (qb) =>
      qb
        .selectFrom('deductions')
        .innerJoin('versions', 'versions.position', 'deductions.newest')
        .where('deductions.deduction_id', 'in', deductionIds)
        .selectAll('versions')
        .unionAll((union) =>
          union
            .selectFrom('history')
            .innerJoin('versions', 'versions.position', 'history.previous')
            .selectAll('versions'),
        ),
    )
    .selectFrom('history')
    .selectAll()
    .orderBy('position')
    .execute();
}
