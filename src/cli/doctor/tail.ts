import { engineOf } from '../../database/engine.ts';
import type { Db } from '../../database/tables.ts';
import { describeLoss, knownLosses } from '../../inbox/data-loss.ts';
import { type Finding, fail, pass, unknown } from './finding.ts';

const ID = 'tail-lost';

/** Whether the database is older than it was: by what a start has noted, and by the hint beside it where nobody serves. */
export async function checkTail(db: Db, now: Date): Promise<Finding[]> {
  const losses = await knownLosses(db, now);
  if (losses.length > 0) {
    return [
      fail(
        ID,
        losses.map(describeLoss).join('; '),
        'Replay in the provider\'s portal and report again the changes that are missing; when "serve" runs, say so with "benefits-sidecar accept-loss". docs/backup.md has more under "A lost tail".',
      ),
    ];
  }
  if (engineOf(db) === 'postgres') {
    return [unknown(ID, 'no hint is kept beside a PostgreSQL server: its own logs tell of what was lost')];
  }
  return [pass(ID, 'it has all that it is known to have had')];
}
