import { sql } from 'kysely';
import { readCensus } from '../../config.ts';
import type { Db } from '../../database/tables.ts';
import type { Environment } from '../../environment.ts';
import { type Finding, pass, warn } from './finding.ts';

/** With `push`, payroll must keep a fresh census of each employer here. Other sources are asked when needed. */
export async function checkStagedCensuses(db: Db, env: Environment, now: Date): Promise<Finding[]> {
  const { source, maxAgeMs } = readCensus(env);
  if (source.kind !== 'push') return [];
  const id = 'census-source';
  const staged = await db
    .selectFrom('staged_censuses')
    .select('staged_at')
    .where('state', '=', sql.lit('current'))
    .execute();
  const oldest = new Date(now.getTime() - maxAgeMs).toISOString();
  const fresh = staged.filter(({ staged_at }) => staged_at >= oldest).length;
  const message = `push: of ${staged.length} employers with a staged census, ${fresh} have a fresh one`;
  if (staged.length > 0 && fresh === staged.length) return [pass(id, message)];
  return [
    warn(
      id,
      message,
      'Have payroll PUT a census, or use "benefits-sidecar census stage": a sync waits until there is a fresh one.',
    ),
  ];
}
