/** The apply loop in this process, so that each batch can be timed separately. */
import type { Db } from '../src/database/tables.ts';
import { type ApplyLoop, createApplyLoop } from '../src/inbox/apply.ts';
import { type Arrival, storeBatch } from '../src/inbox/inbox.ts';
import type { Log } from '../src/telemetry/log.ts';

/** Events per batch here. The apply loop takes up to 512, so events that are stored together are applied together. */
export const BATCH_EVENTS = 500;

/** Throws instead of logging a warning or an error. */
export function applyLoop(db: Db): ApplyLoop {
  const nothing = (): void => {};
  const failed = (fields: object): never => {
    throw new Error(JSON.stringify(fields));
  };
  const log: Log = { debug: nothing, info: nothing, warn: failed, error: failed, fatal: failed };
  return createApplyLoop({
    db,
    sharedNow: async () => new Date(),
    log,
    effects: { requestSync: async () => {}, completeSyncs: async () => 0 },
    onApplied: nothing,
    onFatal: nothing,
  });
}

/** Stores events and applies them in one batch. Returns the time of applying, in milliseconds. */
export async function applyTimed(db: Db, loop: ApplyLoop, arrivals: readonly Arrival[]): Promise<number> {
  await storeBatch(db, arrivals, new Date().toISOString());
  const began = performance.now();
  loop.wake(arrivals.length);
  const { applied } = await loop.runOnce();
  if (applied !== arrivals.length) throw new Error(`${applied} of ${arrivals.length} events were applied`);
  return performance.now() - began;
}
