import type { Clock } from '../clock.ts';
import { sharedClock } from '../database/engine.ts';
import { holdServeLock } from '../database/open.ts';
import type { Db } from '../database/tables.ts';
import { isAppError } from '../errors.ts';
import { silentLog } from '../telemetry/log.ts';
import { createApplyLoop } from './apply.ts';
import { hasPendingEvents } from './inbox.ts';

/**
 * Applies pending events, as `serve` does. Returns false if a running `serve` applies them. It holds the serve lock,
 * so no `serve` can start on the file until it is done. On PostgreSQL it is one applier among the sidecars.
 */
export async function applyUnlessServed(db: Db, databaseUrl: string, now: Clock): Promise<boolean> {
  let release: () => void;
  try {
    release = holdServeLock(databaseUrl);
  } catch (error) {
    if (isAppError(error, 'ALREADY_SERVED')) return false;
    throw error;
  }
  try {
    const loop = createApplyLoop({
      ...{ db, sharedNow: sharedClock(now), log: silentLog },
      ...{ onApplied: () => {}, onFatal: () => {} },
    });
    while (await hasPendingEvents(db)) await loop.runOnce();
    return true;
  } finally {
    release();
  }
}
