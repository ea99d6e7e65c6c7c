/** A thread of which nothing is told. */
import { createTally } from '../../src/observe/tally.ts';
import type { ThreadCounts } from '../../src/observe/thread.ts';

export function stillThread(): ThreadCounts {
  return {
    applied: { applied: 0, ignored: 0, quarantined: 0 },
    loopDelay: createTally([1]),
    heapUsed: 0,
  };
}
