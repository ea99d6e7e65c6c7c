import type { SharedNow } from '../../src/database/engine.ts';

export function at(now: Date): SharedNow {
  return async () => now;
}
