/** Compares what is computed with what was told last, on the sidecar that sends. A loop of its own, so that no delivery waits for it. */
import type { SharedNow } from '../database/engine.ts';
import { isFatal } from '../database/errors.ts';
import { createLoopNotifier } from '../database/notifier.ts';
import type { Db } from '../database/tables.ts';
import { codeOf } from '../errors.ts';
import type { Log } from '../telemetry/log.ts';
import { type Computed, tellComputed } from './computed.ts';
import type { NotificationLease } from './lease.ts';

const POLL_MS = 1_000;
const COMPARE_EVERY_MS = 60_000;

export type CompareLoopParts = {
  db: Db;
  lease: NotificationLease;
  sharedNow: SharedNow;
  log: Log;
  /** The computed types: each is compared once a minute, after the one before it. */
  computed: readonly Computed[];
  /** Compares once a second what a few queries show. */
  eachSecond: (now: Date) => Promise<void>;
};

export function createCompareLoop({ db, lease, sharedNow, log, computed, eachSecond }: CompareLoopParts) {
  const notifier = createLoopNotifier();
  let comparedAt = Number.NEGATIVE_INFINITY;

  /** Compares once. An error of one type delays no other. */
  async function runOnce(): Promise<void> {
    const now = await sharedNow(db);
    if (!(await lease.holds(now))) return;
    await attempt('run.outdated', () => eachSecond(now));
    // A clock that was set back delays nothing.
    if (Math.abs(now.getTime() - comparedAt) < COMPARE_EVERY_MS) return;
    comparedAt = now.getTime();
    for (const each of computed) await attempt(each.type, () => tellComputed(db, each, now));
  }

  async function attempt(kind: string, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      if (isFatal(error)) throw error;
      log.error(
        { kind, code: codeOf(error) || 'INTERNAL' },
        'a notification could not be computed: trying again',
      );
    }
  }

  return {
    runOnce,
    /** Compares until the signal aborts. Rejects when the database must not be used any more. */
    async run(signal: AbortSignal): Promise<void> {
      while (!signal.aborted) {
        await attempt('all', runOnce);
        await notifier.wait(POLL_MS, signal);
      }
    },
  };
}
