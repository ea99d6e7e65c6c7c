/** What the simulator waits for: time, and conditions that requests and deliveries change. */
import { setTimeout as delay } from 'node:timers/promises';

/** Resolves after a number of milliseconds. Rejects when the signal aborts. */
export type Wait = (ms: number, signal: AbortSignal) => Promise<void>;

export const systemWait: Wait = (ms, signal) => delay(ms, undefined, { signal });

export type News = ReturnType<typeof createNews>;

export function createNews() {
  type Waiting = { holds: () => boolean; resolve: () => void; reject: (error: Error) => void };
  let waiting: Waiting[] = [];
  let closed: Error | null = null;
  return {
    /** Checks the conditions of all callers that wait. */
    notify(): void {
      const held = waiting.filter(({ holds }) => holds());
      waiting = waiting.filter((one) => !held.includes(one));
      for (const { resolve } of held) resolve();
    },
    /** Resolves once the condition holds. Rejects when closed first. */
    async until(holds: () => boolean): Promise<void> {
      if (holds()) return;
      if (closed !== null) throw closed;
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      waiting.push({ holds, resolve, reject });
      await promise;
    },
    close(): void {
      closed = new Error('the simulator is closed');
      for (const { reject } of waiting) reject(closed);
      waiting = [];
    },
  };
}
