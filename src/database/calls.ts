import { setTimeout as delay } from 'node:timers/promises';
import { sql } from 'kysely';
import { engineOf, engineOfUrl } from './engine.ts';
import type { Db } from './tables.ts';

/** Sidecars on one PostgreSQL database wake each other's idle loops. Every loop also polls. */

/** `apply`: an event is pending that no intake has just stored. `send`: a request was queued. */
export type Call = 'apply' | 'send';

const CHANNEL = 'benefits_sidecar';
/** The pause between two attempts to listen. */
const AGAIN_MS = 1_000;

/** Wakes the loops of every sidecar on the same PostgreSQL database. Does nothing on SQLite. Never throws. */
export async function callOthers(db: Db, call: Call): Promise<void> {
  if (engineOf(db) === 'sqlite') return;
  // Not in the transaction of the work: commits with a notification wait for each other.
  await sql`select pg_notify(${CHANNEL}, ${call})`.execute(db).catch(() => {});
}

/** Calls `heard` for each call until the signal aborts, on its own connection, which it reopens when it is lost. */
export async function hearCalls(databaseUrl: string, heard: (call: Call) => void, signal: AbortSignal) {
  if (engineOfUrl(databaseUrl) === 'sqlite') return;
  while (!signal.aborted) {
    await listen(databaseUrl, heard, signal).catch(() => {});
    await delay(AGAIN_MS, undefined, { signal }).catch(() => {});
  }
}

/** Resolves or rejects when the connection has ended. */
async function listen(databaseUrl: string, heard: (call: Call) => void, signal: AbortSignal): Promise<void> {
  const { Client } = await import('pg');
  const client = new Client({
    connectionString: databaseUrl,
    keepAlive: true,
    connectionTimeoutMillis: 3_000,
  });
  const ended = new Promise<void>((resolve, reject) => {
    client.on('end', resolve).on('error', reject);
  });
  ended.catch(() => {});
  const leave = () => void client.end().catch(() => {});
  try {
    await client.connect();
    signal.addEventListener('abort', leave, { once: true });
    client.on('notification', ({ payload }) => {
      if (payload === 'apply' || payload === 'send') heard(payload);
    });
    await client.query(`listen ${CHANNEL}`);
    // Notifications sent while the connection was down.
    heard('apply');
    heard('send');
    if (signal.aborted) leave();
    await ended;
  } finally {
    signal.removeEventListener('abort', leave);
    leave();
  }
}
