/** The order in which the computations of runs proceed, so that many at once delay no other request. */
import { AsyncLocalStorage } from 'node:async_hooks';
import { AppError } from '../../errors.ts';

/**
 * A second computation starts only if the first takes longer, so that a huge run delays the others little. Two at once delay
 * deliveries, and finish no sooner (docs/internals/benches/payday.md).
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
  /** Those that have not lasted long yet. */
  let quick = 0;
  /** The employer whose turn is next comes first. */
  const waiting = new Map<string, Set<() => void>>();

  const hasPlace = (): boolean => quick === 0 && running < atOnce;
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
  const startNext = (): void => {
    const [next] = waiting;
    if (next === undefined || !hasPlace()) return;
    const [employerId, starts] = next;
    const start = starts.values().next().value as () => void;
    waiting.delete(employerId);
    starts.delete(start);
    if (starts.size > 0) waiting.set(employerId, starts);
    takePlace();
    start();
  };
  /** A waiting job takes its place before it starts, so that no new job overtakes it. */
  const takePlace = (): void => {
    running += 1;
    quick += 1;
  };

  return async <T>(employerId: string, work: () => Promise<T>): Promise<T> => {
    if (hasPlace()) takePlace();
    else await turnOf(employerId);
    let isQuick = true;
    const becomeLong = (): void => {
      if (isQuick) quick -= 1;
      isQuick = false;
    };
    const long = setTimeout(() => {
      becomeLong();
      startNext();
    }, longMs);
    try {
      return await work();
    } finally {
      clearTimeout(long);
      becomeLong();
      running -= 1;
      startNext();
    }
  };
}
