/** Wakes idle loops, in this process and in other sidecars on one PostgreSQL database. Every loop also polls. */
import { setTimeout as delay, setImmediate as immediately } from 'node:timers/promises';
import { sql } from 'kysely';
import { engineOf, engineOfUrl } from './engine.ts';
import { CONNECT_WITHIN_MS, joinRetirement, KEPT_ALIVE, readServer } from './postgres-connections.ts';
import type { Db } from './tables.ts';

/** Wakes an idle loop. A notification while the loop is busy is remembered. */
export function createLoopNotifier() {
  let notified = false;
  let wakeUp: (() => void) | null = null;
  return {
    notify(): void {
      notified = true;
      wakeUp?.();
    },
    /** Resolves when notified (also earlier), after `ms`, or when the signal aborts. */
    async wait(ms: number, signal: AbortSignal): Promise<void> {
      if (!notified && !signal.aborted) {
        const { promise, resolve } = Promise.withResolvers<void>();
        const timer = setTimeout(resolve, ms);
        const stop = () => resolve();
        signal.addEventListener('abort', stop, { once: true });
        wakeUp = resolve;
        await promise;
        signal.removeEventListener('abort', stop);
        clearTimeout(timer);
        wakeUp = null;
      }
      notified = false;
    },
  };
}

/** The loop to wake: `apply` for a pending event that no intake has just stored, `send` for a queued request. */
export type LoopName = 'apply' | 'send';

const CHANNEL = 'benefits_sidecar';
const LISTEN_AGAIN_MS = 1_000;

/**
 * Returns a function that wakes a loop of every sidecar on the same PostgreSQL database, and never rejects. Calls of one tick,
 * and those while a notification is sent, share the next one. On SQLite it does nothing.
 */
export function createSidecarNotifier(db: Db): (loop: LoopName) => Promise<void> {
  const newest = new Map<LoopName, Promise<void>>();
  const waiting = new Map<LoopName, Promise<void>>();
  const send = async (loop: LoopName): Promise<void> => {
    await newest.get(loop);
    await immediately();
    waiting.delete(loop);
    // Not in the transaction of the work: commits with a notification wait for each other.
    await sql`select pg_notify(${CHANNEL}, ${loop})`.execute(db).catch(() => {});
  };
  return async (loop) => {
    if (engineOf(db) === 'sqlite') return;
    const shared = waiting.get(loop) ?? send(loop);
    waiting.set(loop, shared);
    newest.set(loop, shared);
    await shared;
  };
}

/** Calls `wake` when a sidecar wakes a loop, until the signal aborts. Uses its own connection and reopens a lost one. */
export async function listenForWakes(
  databaseUrl: string,
  wake: (loop: LoopName) => void,
  signal: AbortSignal,
) {
  if (engineOfUrl(databaseUrl) === 'sqlite') return;
  while (!signal.aborted) {
    await listen(databaseUrl, wake, signal).catch(() => {});
    await delay(LISTEN_AGAIN_MS, undefined, { signal }).catch(() => {});
  }
}

/** Resolves or rejects when the connection has ended. */
async function listen(
  databaseUrl: string,
  wake: (loop: LoopName) => void,
  signal: AbortSignal,
): Promise<void> {
  const { Client } = await import('pg');
  const options = {
    ...KEPT_ALIVE,
    connectionTimeoutMillis: CONNECT_WITHIN_MS,
    query_timeout: CONNECT_WITHIN_MS,
  };
  const client = new Client({ connectionString: databaseUrl, ...options });
  const ended = new Promise<void>((resolve, reject) => {
    client.on('end', resolve).on('error', reject);
  });
  ended.catch(() => {});
  const leave = () => void client.end().catch(() => {});
  const retirement = joinRetirement(databaseUrl, leave);
  try {
    await client.connect();
    await readServer(client);
    signal.addEventListener('abort', leave, { once: true });
    client.on('notification', ({ payload }) => {
      if (payload === 'apply' || payload === 'send') wake(payload);
    });
    await client.query(`listen ${CHANNEL}`);
    // Notifications sent while the connection was down.
    wake('apply');
    wake('send');
    if (signal.aborted) leave();
    await ended;
  } finally {
    signal.removeEventListener('abort', leave);
    retirement.leave();
    leave();
  }
}
