/** The order in which the computations of runs proceed, so that many at once delay no other request. */
import { AsyncLocalStorage } from 'node:async_hooks';
import { AppError } from '../../errors.ts';

/**
 * Another computation starts after this time, so that a huge run delays the others little. If two always proceeded at once, they
 * would delay deliveries and finish no sooner (docs/internals/benches/payday.md).
 */
const LONG_MS = 500;
/** Each adds turns of 5 ms (`inTurns`) to the wait of other requests, and takes three of PostgreSQL's ten connections. */
const AT_ONCE = 2;

/** The signal that aborts when the client of the request that is being handled leaves. */
const clients = new AsyncLocalStorage<AbortSignal>();

/** Handles a request. When `client` aborts, a computation of the request that waits for its turn fails with CALLER_LEFT. */
export function handled(client: AbortSignal, handle: () => void): void {
  clients.run(client, handle);
}

/** Computes a run of an employer in its turn on this thread. `work` must not wait for a client or for another turn. */
export const computeInTurn = createQueue({ atOnce: AT_ONCE, longMs: LONG_MS });

/** Computes a run for several requests: the computation stays in the queue when the client of the first one leaves. */
export function computeForAll<T>(employerId: string, work: () => Promise<T>): Promise<T> {
  return clients.exit(() => computeInTurn(employerId, work));
}

/**
 * Returns a function that does one job at a time, and at most `atOnce` if the others last longer than `longMs`. Waiting jobs
 * start round robin by employer, the oldest first.
 */
export function createQueue({ atOnce, longMs }: { atOnce: number; longMs: number }) {
  let running = 0;
  /** The job that started last, until it ends or has lasted `longMs`. No other starts meanwhile. */
  let newest: symbol | null = null;
  /** The employer whose turn is next comes first. */
  const waiting = new Map<string, Set<() => void>>();

  const hasPlace = (): boolean => newest === null && running < atOnce;
  const takePlace = (job: symbol): void => {
    running += 1;
    newest = job;
  };
  const turnOf = (employerId: string, job: symbol): Promise<void> =>
    new Promise((resolve, reject) => {
      const client = clients.getStore();
      const starts = waiting.get(employerId) ?? new Set();
      const start = (): void => {
        client?.removeEventListener('abort', leave);
        // At once, so that no new job overtakes it.
        takePlace(job);
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
  /** Starts the next job, if there is a place, when this one has ended or lasted long. */
  const startAfter = (job: symbol): void => {
    if (newest === job) newest = null;
    const [next] = waiting;
    if (next === undefined || !hasPlace()) return;
    const [employerId, starts] = next;
    const start = starts.values().next().value as () => void;
    waiting.delete(employerId);
    starts.delete(start);
    if (starts.size > 0) waiting.set(employerId, starts);
    start();
  };

  return async <T>(employerId: string, work: () => Promise<T>): Promise<T> => {
    const job = Symbol();
    if (hasPlace()) takePlace(job);
    else await turnOf(employerId, job);
    const long = setTimeout(startAfter, longMs, job);
    try {
      return await work();
    } finally {
      clearTimeout(long);
      running -= 1;
      startAfter(job);
    }
  };
}
