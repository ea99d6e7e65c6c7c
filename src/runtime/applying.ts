/** The apply loop, with what it does for syncs. */
import { completeSyncs, requestSync } from '../census/syncs.ts';
import type { Clock } from '../clock.ts';
import type { Db } from '../database/tables.ts';
import { type ApplyLoop, createApplyLoop } from '../inbox/apply.ts';
import type { Log } from '../telemetry/log.ts';
import type { AppliedCounts } from '../telemetry/thread-counts.ts';

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
