import type { SharedNow } from '../../src/database/engine.ts';

/** Returns a shared clock that always shows this time. */
export function at(now: Date): SharedNow {
  return async () => now;
}
