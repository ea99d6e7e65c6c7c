/** The order in which the computations of runs proceed, so that many at once delay no other request. */
import { AsyncLocalStorage } from 'node:async_hooks';
import { AppError } from '../../errors.ts';

/**
 * With one, the thread would be idle while it waits for the database, and a large run would keep all others waiting. Each more
 * adds turns of 5 ms (`inTurns`) to the time that other requests wait, and on PostgreSQL reads on three connections of ten.
 * Two are faster than four (docs/internals/benches/payday.md).
 */
const AT_ONCE = 2;

/** The signal that aborts when the client of the request that is being handled leaves. */
const clients = new AsyncLocalStorage<AbortSignal>();

/** Runs the handling of a request. When `client` aborts, what still waits for its turn in it fails with CALLER_LEFT. */
export function handled(client: AbortSignal, handle: () => void): void {
  clients.run(client, handle);
}

/** Computes a run of an employer in its turn on this thread. `compute` must not wait for a client or for another turn. */
export const computeInTurn = createQueue(AT_ONCE);

/** Computes a run whose result is for later requests too, so that it stays in the queue when its client leaves. */
export function computeForAll<T>(employerId: string, compute: () => Promise<T>): Promise<T> {
  return clients.exit(() => computeInTurn(employerId, compute));
}

/** Returns a function that runs work, at most `atOnce` at a time. The rest follows round robin by employer, each in order. */
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
  /** Passes the place on, so that no new work overtakes what waits. */
  const release = (): void => {
    const [next] = waiting;
    if (next === undefined) {
      running -= 1;
      return;
    }
    const [employerId, starts] = next;
    const [start] = starts as Set<() => void> & [() => void];
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
