/** What came before a version of the same deduction, followed back from it: proof asks for it, applying has it at hand. */
import { isOneOf } from '../database/bulk.ts';
import type { Db } from '../database/tables.ts';
import type { Version } from './fold.ts';

/** Versions of one deduction, oldest position first. */
export type Chain = readonly Version[];

/**
 * The chains that end at some positions, by that position: each with the version there and all before it. Follows what
 * each row says of the one before it, whatever the latest states say, and only ever backwards.
 */
export async function readChains(db: Db, positions: readonly number[]): Promise<Map<number, Chain>> {
  const chains = new Map<number, Version[]>();
  const rows = await db
    .withRecursive('chain', (qb) =>
      qb
        .selectFrom('versions')
        .where(isOneOf(db, 'position', positions))
        .selectAll()
        .select('position as end')
        .unionAll((union) =>
          union
            .selectFrom('chain')
            .innerJoin('versions', 'versions.position', 'chain.previous')
            // A damaged row may say anything: a circle would have no end.
            .whereRef('versions.position', '<', 'chain.position')
            .selectAll('versions')
            .select('chain.end'),
        ),
    )
    .selectFrom('chain')
    .selectAll()
    .orderBy('position')
    .execute();
  for (const { end, ...version } of rows) {
    const chain = chains.get(end) ?? [];
    chain.push(version);
    chains.set(end, chain);
  }
  return chains;
}
