/** Threads of which nothing is told. */

import { createStoringCounts, type Received, type Receiving } from '../../src/telemetry/receiver-counts.ts';
import { createTally } from '../../src/telemetry/tally.ts';
import type { ThreadCounts } from '../../src/telemetry/thread-counts.ts';

export function stillThread(): ThreadCounts {
  return {
    applied: { applied: 0, ignored: 0, quarantined: 0 },
    loopDelay: createTally([1]),
    heapUsed: 0,
  };
}

/** What the other threads tell where only receiving has counted something. */
export function onlyReceived(received: Received): Receiving {
  return { ...received, ...createStoringCounts().read(), threads: { main: stillThread() } };
}
