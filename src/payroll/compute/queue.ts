/** The order in which the computations of runs proceed, so that many at once delay no other request. */
import { AsyncLocalStorage } from 'node:async_hooks';
import { AppError } from '../../errors.ts';

/**
 * The second computation uses the time in which the first waits for the database. Another would add turns of 5 ms (`inTurns`) to
 * the wait of other requests, and take three more of PostgreSQL's ten connections (docs/internals/benches/payday.md).
 */
const AT_ONCE = 2;

/** The signal that aborts when the client of the request that is being handled leaves. */
const clients = new AsyncLocalStorage<AbortSignal>();

/** Handles a request. When `client` aborts, a computation of the request that waits for its turn fails with CALLER_LEFT. */
export function handled(client: AbortSignal, handle: () => void): void {
  clients.run(client, handle);
}

/** Computes a run of an employer in its turn on this thread. `work` must not wait for a client or for another turn. */
export const computeInTurn = createQueue(AT_ONCE);

/** Computes a run for several requests: the computation stays in the queue when the client of the first one leaves. */
export function computeForAll<T>(employerId: string, work: () => Promise<T>): Promise<T> {
  return clients.exit(() => computeInTurn(employerId, work));
}

/** Returns a function that does at most `atOnce` jobs at a time. Waiting jobs start round robin by employer, the oldest first. */
export function createQueue(atOnce: number) {
  let running = 0;
  /** The employer whose turn is next comes first. */
  const waiting = new Map<string, Set<() => void>>();

  const turnOf = (employerId: string): Promise<void> =>
    new Promise((resolve, reject) => {
      const client = clients.getStore();
      const starts = waiting.get(employerId) ?? new Set();
      const start = (): void => {
        client?.removeEventListener('abort', leave);
        resolve();
      };
      const leave = (): void => {
        starts.delete(start);
        if (starts.size === 0) waiting.delete(employerId);
        const why = 'The client left before the run was computed. Nothing was changed.';
        reject(new AppError('CALLER_LEFT', why));
      };
      waiting.set(employerId, starts.add(start));
      client?.addEventListener('abort', leave, { once: true });
      if (client?.aborted) leave();
    });
  /** Passes the place to a waiting job, so that no new job overtakes it. */
  const release = (): void => {
    const [next] = waiting;
    if (next === undefined) {
      running -= 1;
      return;
    }
    const [employerId, starts] = next;
    const start = starts.values().next().value as () => void;
    waiting.delete(employerId);
    starts.delete(start);
    if (starts.size > 0) waiting.set(employerId, starts);
    start();
  };

  return async <T>(employerId: string, work: () => Promise<T>): Promise<T> => {
    if (running < atOnce) running += 1;
    else await turnOf(employerId);
    try {
      return await work();
    } finally {
      release();
    }
  };
}
