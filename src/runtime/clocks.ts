import { uptime } from 'node:os';
import { type Clock, type Elapsed, systemClock, systemElapsed } from '../clock.ts';
import { type SharedNow, sharedClock } from '../database/engine.ts';

/** The clocks of a process. `sharedNow` is the database's, and `uptimeMs` a monotonic clock. */
export type Clocks = { now: Clock; sharedNow: SharedNow; elapsed: Elapsed; uptimeMs: () => number };

export const systemClocks: Clocks = {
  now: systemClock,
  sharedNow: sharedClock(systemClock),
  elapsed: systemElapsed,
  // Unlike performance.now(), it continues while the machine sleeps.
  uptimeMs: () => uptime() * 1_000,
};
