import { setTimeout as delay } from 'node:timers/promises';
import { sql } from 'kysely';
import { engineOf, engineOfUrl } from './engine.ts';
import type { Db } from './tables.ts';

/**
 * What sidecars on one PostgreSQL call to each other: there is work in a loop that may be idle elsewhere. A call may
 * be lost, and a proxy that pools transactions passes none on: every loop also looks by itself each second.
 */

/** `apply`: an event waits that no intake of this moment stored. `send`: a request was owed. */
export type Call = 'apply' | 'send';

const CHANNEL = 'benefits_sidecar';
/** Between two tries to listen again. */
const AGAIN_MS = 1_000;

/** Calls the loops of every sidecar on the same PostgreSQL. On SQLite there is no other. Never throws. */
export async function callOthers(db: Db, call: Call): Promise<void> {
  if (engineOf(db) === 'sqlite') return;
  // A statement of its own: inside the transaction of the work it would make all commits wait for each other.
  await sql`select pg_notify(${CHANNEL}, ${call})`.execute(db).catch(() => {});
}

/** Hears the calls until the signal, over a connection of its own that is made again whenever it is lost. */
export async function hearCalls(
  databaseUrl: string,
  heard: (call: Call) => void,
  signal: AbortSignal,
): Promise<void> {
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
