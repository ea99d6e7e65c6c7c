/** The apply loop, and the thread that it runs on. */
import { completeSyncs, requestSync } from './census/syncs.ts';
import type { Clock } from './clock.ts';
import { type Engine, engineOfUrl } from './database/engine.ts';
import type { Db } from './database/tables.ts';
import { type ApplyLoop, createApplyLoop } from './inbound/apply.ts';
import type { Log } from './observe/log.ts';
import type { AppliedCounts } from './observe/thread.ts';

/**
 * SQLite works on the thread that asks it: a query would hold up applying, so the loop is where there are none.
 * PostgreSQL works elsewhere, and the thread that receives has all its time for deliveries.
 */
const SIDES: Readonly<Record<Engine, 'main' | 'private'>> = { sqlite: 'main', postgres: 'private' };

/** Which side of the sidecar applies. */
export function applyingSide(databaseUrl: string): 'main' | 'private' {
  return SIDES[engineOfUrl(databaseUrl)];
}

/** `applied` is told what became of events; `wakeSend` is called when something new is in the outbox, `failed` when the storage failed for good. */
export function createApplying(
  db: Db,
  on: {
    now: Clock;
    log: Log;
    applied: (counts: AppliedCounts) => void;
    wakeSend: () => void;
    failed: (error: unknown) => void;
  },
): ApplyLoop {
  return createApplyLoop({
    db,
    now: on.now,
    log: on.log,
    effects: { requestSync, completeSyncs },
    onApplied: (applied) => {
      on.applied(applied);
      if (applied.syncsRequested > 0) on.wakeSend();
    },
    onFatal: on.failed,
  });
}
