/** Counts of idle threads. */

import { createStoringCounts, type Received, type Receiving } from '../../src/telemetry/receiver-counts.ts';
import { createTally } from '../../src/telemetry/tally.ts';
import type { ThreadCounts } from '../../src/telemetry/thread-counts.ts';

export function stillThread(): ThreadCounts {
  return { applied: { applied: 0, ignored: 0, quarantined: 0 }, loopDelay: createTally([1]), heapUsed: 0 };
}

/** The counts of other threads if only the receiver has counted. */
export function onlyReceived(received: Received): Receiving {
  return { ...received, ...createStoringCounts().read(), threads: { main: stillThread() } };
}
