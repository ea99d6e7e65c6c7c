/** Waiting in the simulator: for time, and for conditions that requests and deliveries change. */
import { setTimeout as delay } from 'node:timers/promises';

/** Resolves after a number of milliseconds. Rejects when the signal aborts. */
export type Wait = (ms: number, signal: AbortSignal) => Promise<void>;

export const systemWait: Wait = (ms, signal) => delay(ms, undefined, { signal });

export type News = ReturnType<typeof createNews>;

export function createNews() {
  let change = Promise.withResolvers<void>();
  let isClosed = false;
  /** Lets all that wait check their conditions. */
  const notify = (): void => {
    change.resolve();
    change = Promise.withResolvers<void>();
  };
  return {
    notify,
    /** Resolves once the condition holds. Rejects when closed first. */
    async until(holds: () => boolean): Promise<void> {
      while (!holds()) {
        if (isClosed) throw new Error('the simulator is closed');
        await change.promise;
      }
    },
    close(): void {
      isClosed = true;
      notify();
    },
  };
}
