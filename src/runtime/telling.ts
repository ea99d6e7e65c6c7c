/** Wires what tells the payroll system: one loop sends, and one compares what is computed with what was told. */
import type { Config } from '../config.ts';
import type { Db } from '../database/tables.ts';
import { silentEvents } from '../inbox/silent-events.ts';
import type { LedgerQuestion } from '../ledger/checks.ts';
import { createEmployeeSets } from '../ledger/employee-sets.ts';
import { readPosition } from '../ledger/position.ts';
import { createReceiver } from '../notifications/attempt.ts';
import { createCompareLoop } from '../notifications/compare-loop.ts';
import { createLease } from '../notifications/lease.ts';
import { createNotificationLoop, type NotificationEnd } from '../notifications/send-loop.ts';
import { tellPosition } from '../notifications/store.ts';
import type { Transport } from '../outgoing.ts';
import { endingSchedules } from '../payroll/lifecycle/ending-schedules.ts';
import { createOutdatedRuns } from '../payroll/lifecycle/outdated-runs.ts';
import { changedReadiness } from '../readiness/changed-readiness.ts';
import type { Log } from '../telemetry/log.ts';
import { VERSION } from '../version.ts';
import type { Clocks } from './clocks.ts';

type TellingParts = {
  db: Db;
  log: Log;
  clocks: Clocks;
  random: () => number;
  transport: Transport;
  clockWarning: () => Promise<string | null>;
  onEnded: (how: NotificationEnd) => void;
};

/** Returns the loops, which `run` starts; null without `NOTIFY_URL`. */
export function createTelling(config: Config, parts: TellingParts) {
  if (config.notify === null) return null;
  const { db, log, random, onEnded } = parts;
  const { sharedNow, elapsed } = parts.clocks;
  const employeeSets = createEmployeeSets(db);
  const question = async (): Promise<LedgerQuestion> => ({
    ...{ now: await sharedNow(db), clockWarning: await parts.clockWarning() },
    ...{ overdueMs: config.census.overdueMs, silentAfterMs: config.silentAfterMs, employeeSets },
  });
  const lease = createLease(db);
  const sending = createNotificationLoop({
    ...{ db, lease, sharedNow, log, random, onEnded },
    receiver: createReceiver(config.notify, VERSION, parts.transport),
    compare: async (now) => tellPosition(db, await readPosition(db), now.toISOString()),
  });
  const comparing = createCompareLoop({
    ...{ db, lease, sharedNow, log },
    eachSecond: createOutdatedRuns(db),
    computed: [changedReadiness(question, elapsed.now), endingSchedules(), silentEvents(question)],
  });
  return {
    /** Resolves when the signal has aborted. Rejects when the database must not be used any more. */
    run: (signal: AbortSignal) => Promise.all([sending.run(signal), comparing.run(signal)]),
  };
}
