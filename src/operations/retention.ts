/** Retention: deletes data that is no longer needed, oldest first, in small steps. */

import { setTimeout as delay } from 'node:timers/promises';
import { ago } from '../checks.ts';
import type { Clock } from '../clock.ts';
import type { RetentionConfig } from '../config.ts';
import { engineOfUrl } from '../database/engine.ts';
import { isFatal } from '../database/errors.ts';
import { emptyLog } from '../database/reclaim.ts';
import { shrink } from '../database/shrink.ts';
import type { Db } from '../database/tables.ts';
import { codeOf } from '../errors.ts';
import {
  bodiesDue,
  conflictBodiesDue,
  type Due,
  dropBodies,
  dropConflictBodies,
} from '../inbox/drop-bodies.ts';
import { eraseRequests, requestsDue } from '../outbox/erase.ts';
import type { Log } from '../telemetry/log.ts';

/** After a start has done its other work, and soon enough for a process that is restarted every hour. */
const FIRST_AFTER_MS = 60_000;
/** Data kept for months may be kept an hour longer. */
const EVERY_MS = 3_600_000;
/** The pause between two transactions, in which deliveries are stored and events applied. */
const PAUSE_MS = 20;

/** The numbers of dropped event bodies, bodies of settled conflicts, and requests. */
export type Dropped = { events: number; conflicts: number; requests: number };
type Kind = keyof Dropped;

/** The data due for deletion. Null for data that is kept indefinitely. */
export type DueByKind = {
  events: Due | null;
  conflicts: Due | null;
  requests: { count: number; attempts: number; oldest: string | null } | null;
};

type Parts = { db: Db; databaseUrl: string; retention: RetentionConfig; now: Clock };

/** Returns whether anything is ever dropped. */
export function isAnyDropped({ eventsMs, requestsMs }: RetentionConfig): boolean {
  return eventsMs !== null || requestsMs !== null;
}

/** Counts the data that is due, and drops nothing. */
export async function countDue({ db, retention, now }: Omit<Parts, 'databaseUrl'>): Promise<DueByKind> {
  const { events, requests } = limitsOf(retention, now());
  return {
    events: events === null ? null : await bodiesDue(db, events),
    conflicts: events === null ? null : await conflictBodiesDue(db, events),
    requests: requests === null ? null : await requestsDue(db, requests),
  };
}

/**
 * Drops all data that is due, in many small transactions, then removes it from SQLite's log and shrinks the file. Calls
 * `progress` after each step. Ends early, between two steps, when `signal` aborts.
 */
export async function dropDue(
  { db, databaseUrl, retention, now }: Parts,
  signal: AbortSignal,
  progress: (dropped: Dropped) => void = () => {},
): Promise<Dropped> {
  const { events, requests } = limitsOf(retention, now());
  const dropped: Dropped = { events: 0, conflicts: 0, requests: 0 };
  const all = async (kind: Kind, step: () => Promise<{ dropped: number; more: boolean }>): Promise<void> => {
    for (let more = true; more && !signal.aborted; ) {
      const done = await step();
      dropped[kind] += done.dropped;
      progress(dropped);
      ({ more } = done);
      if (more) await delay(PAUSE_MS, undefined, { signal }).catch(() => {});
    }
  };
  if (events !== null) {
    await all('events', () => dropBodies(db, events));
    await all('conflicts', () => dropConflictBodies(db, events));
  }
  if (requests !== null) await all('requests', () => eraseRequests(db, requests, now().toISOString()));
  const isAny = dropped.events + dropped.conflicts + dropped.requests > 0;
  if (engineOfUrl(databaseUrl) === 'sqlite') {
    if (isAny) await emptyLog(databaseUrl, signal);
    // An earlier run may have ended before it shrank the file.
    await shrink(databaseUrl, signal);
  }
  return dropped;
}

/** Deletes due data once an hour, or nothing if everything is kept. Calls `failed` if the storage fails permanently. */
export async function runRetention(
  parts: Parts & { log: Log; failed: (error: unknown) => void },
  signal: AbortSignal,
): Promise<void> {
  const { retention, log, failed } = parts;
  if (!isAnyDropped(retention)) return;
  for (let wait = FIRST_AFTER_MS; ; wait = EVERY_MS) {
    await delay(wait, undefined, { signal }).catch(() => {});
    if (signal.aborted) return;
    try {
      logDropped(log, await dropDue(parts, signal));
    } catch (error) {
      log.error({ code: codeOf(error) }, 'retention failed: it will run again in an hour');
      if (isFatal(error)) return failed(error);
    }
  }
}

function logDropped(log: Log, { events, conflicts, requests }: Dropped): void {
  const bodies = events + conflicts;
  if (bodies > 0) log.info({ kind: 'events', count: bodies }, 'bodies of old events were deleted');
  if (requests > 0)
    log.info({ kind: 'requests', count: requests }, 'attempts and responses of old requests were deleted');
}

/** Returns the instants before which data is dropped. Null: never. */
function limitsOf(
  { eventsMs, requestsMs }: RetentionConfig,
  now: Date,
): Record<'events' | 'requests', string | null> {
  const before = (ms: number | null): string | null => (ms === null ? null : ago(now, ms));
  return { events: before(eventsMs), requests: before(requestsMs) };
}
