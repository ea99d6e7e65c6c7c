/** Counts of idle threads. */

import {
  createStoringCounts,
  type ReceivedCounts,
  type Receiving,
  type ThreadCounts,
} from '../../src/telemetry/counts.ts';
import { createTally } from '../../src/telemetry/metric.ts';

export function stillThread(): ThreadCounts {
  return { applied: { applied: 0, ignored: 0, quarantined: 0 }, loopDelay: createTally([1]), heapUsed: 0 };
}

/** The counts of other threads if only the receiver has counted. */
export function onlyReceived(received: ReceivedCounts): Receiving {
  return { ...received, ...createStoringCounts().read(), threads: { main: stillThread() } };
}
