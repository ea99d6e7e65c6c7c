/** Retention: deletes data that is no longer needed, oldest first, in small steps. */
import { setTimeout as delay } from 'node:timers/promises';
import { ago } from '../checks.ts';
import type { RetentionConfig } from '../config.ts';
import { emptyLog } from '../database/checkpoints.ts';
import { engineOfUrl, type SharedNow } from '../database/engine.ts';
import { isFatal } from '../database/errors.ts';
import type { Db } from '../database/tables.ts';
import { AppError, codeOf, isAppError } from '../errors.ts';
import { bodiesDue, conflictBodiesDue, dropBodies, dropConflictBodies } from '../inbox/drop-bodies.ts';
import { dropRefusals } from '../inbox/refusals.ts';
import { dropNotifications } from '../notifications/view.ts';
import { erasePilotBodies, eraseRequests, pilotBodiesDue, requestsDue } from '../outbox/erase.ts';
import { PILOT_BODIES_DAYS } from '../outbox/pilot.ts';
import { type Actor, recordStartAndEnd, SYSTEM } from '../security/audit.ts';
import type { Log } from '../telemetry/log.ts';
import { countDueNames, dropDueNames } from './names-due.ts';

/** After a start has done its other work, and soon enough for a process that is restarted every hour. */
const FIRST_AFTER_MS = 60_000;
/** Data kept for months may be kept an hour longer. */
const EVERY_MS = 3_600_000;
const DAY_MS = 86_400_000;
/** The pause between two transactions, in which deliveries are stored and events applied. */
const PAUSE_MS = 20;

/** The numbers of dropped event bodies, bodies of settled conflicts, requests, bodies of a pilot's changes, and names. */
type Dropped = { events: number; conflicts: number; requests: number; pilot: number; names: number };

/** The data that is due at an instant. `due` has null for data that is kept indefinitely. */
type Counted = { now: Date; due: DueByKind };
export type DueByKind = Awaited<ReturnType<typeof countDue>>['due'];

type Parts = {
  db: Db;
  databaseUrl: string;
  retention: RetentionConfig;
  sharedNow: SharedNow;
  /** Returns why this process's clock may be wrong, or null. */
  clockWarning: () => Promise<string | null>;
};

/** Counts the data that is due, and drops nothing. */
export async function countDue({ db, retention, sharedNow }: Pick<Parts, 'db' | 'retention' | 'sharedNow'>) {
  const now = await sharedNow(db);
  const { events, requests, pilot } = limitsOf(retention, now);
  const due = {
    events: events === null ? null : await bodiesDue(db, events),
    conflicts: events === null ? null : await conflictBodiesDue(db, events),
    requests: requests === null ? null : await requestsDue(db, requests),
    pilot: await pilotBodiesDue(db, pilot),
    names: { count: await countDueNames(db, now), oldest: null },
  };
  return { now, due };
}

/**
 * Drops the counted data, in many small transactions between two audit records, then removes it from SQLite's
 * log. Call it soon after `countDue`: the clock's warning includes a step since then. Calls `progress` after
 * each step. Ends early, between two steps, when `signal` aborts. Throws CLOCK_WRONG, and drops nothing, if only this
 * process's clock shows the age of the data and it may be wrong.
 */
export async function dropDue(
  { db, databaseUrl, retention, sharedNow, clockWarning, actor }: Parts & { actor: Actor },
  { now, due }: Counted,
  signal: AbortSignal,
  progress: (dropped: Dropped) => void = () => {},
): Promise<Dropped> {
  const isSqlite = engineOfUrl(databaseUrl) === 'sqlite';
  const warning = isSqlite ? await clockWarning() : null;
  if (warning !== null) {
    const why = `nothing is deleted by age while the clock may be wrong (${warning})`;
    throw new AppError('CLOCK_WRONG', `${why}: set it right, then restart the sidecar`);
  }
  const { events, requests, pilot } = limitsOf(retention, now);
  const dropped: Dropped = { events: 0, conflicts: 0, requests: 0, pilot: 0, names: 0 };
  const all = async (kind: keyof Dropped, step: () => Promise<{ dropped: number; more: boolean }>) => {
    for (let more = true; more && !signal.aborted; ) {
      const done = await step();
      dropped[kind] += done.dropped;
      progress(dropped);
      more = done.more;
      if (more) await delay(PAUSE_MS, undefined, { signal }).catch(() => {});
    }
  };
  const dropAll = async (): Promise<void> => {
    if (events !== null) {
      await all('events', () => dropBodies(db, events));
      await all('conflicts', () => dropConflictBodies(db, events));
    }
    if (requests !== null) await all('requests', () => eraseRequests(db, requests, now.toISOString()));
    await all('pilot', () => erasePilotBodies(db, pilot));
    await dropDueNames(db, now, signal, (count) => {
      dropped.names += count;
      progress(dropped);
    });
  };
  const isDue = Object.values(due).some((kind) => (kind?.count ?? 0) > 0);
  const made = { action: 'retention.apply', resource: null, details: { events, requests } } as const;
  const time = () => sharedNow(db);
  if (isDue) await recordStartAndEnd(db, { actor, time }, made, dropAll, () => ({ dropped }));
  else await dropAll();
  await dropRefusals(db, now);
  await dropNotifications(db, now, () => delay(PAUSE_MS, undefined, { signal }).catch(() => {}));
  const isAny = Object.values(dropped).some((count) => count > 0);
  if (isSqlite && isAny) await emptyLog(databaseUrl, signal);
  return dropped;
}

/** Deletes due data once an hour. Calls `failed` if the storage fails permanently. */
export async function runRetention(
  parts: Parts & { log: Log; failed: (error: unknown) => void },
  signal: AbortSignal,
): Promise<void> {
  const { log, failed } = parts;
  for (let wait = FIRST_AFTER_MS; ; wait = EVERY_MS) {
    await delay(wait, undefined, { signal }).catch(() => {});
    if (signal.aborted) return;
    try {
      const { events, conflicts, requests, pilot, names } = await dropDue(
        { ...parts, actor: SYSTEM },
        await countDue(parts),
        signal,
      );
      const bodies = events + conflicts;
      if (bodies > 0) log.info({ kind: 'events', count: bodies }, 'bodies of old events were deleted');
      if (requests > 0) {
        const fields = { kind: 'requests', count: requests };
        log.info(fields, 'attempts and responses of old requests were deleted');
      }
      if (pilot > 0) log.info({ kind: 'pilot', count: pilot }, 'bodies of changes of a pilot were deleted');
      if (names > 0) log.info({ kind: 'names', count: names }, 'names of former employees were deleted');
    } catch (error) {
      if (isAppError(error, 'CLOCK_WRONG')) {
        log.warn(
          { reason: error.message },
          'retention waits for the right time: it will try again in an hour',
        );
        continue;
      }
      log.error({ code: codeOf(error) }, 'retention failed: it will run again in an hour');
      if (isFatal(error)) return failed(error);
    }
  }
}

/** Returns the instants before which data is dropped. Null: never. The bodies of a pilot's changes have no setting. */
function limitsOf({ eventsMs, requestsMs }: RetentionConfig, now: Date) {
  const before = (ms: number | null): string | null => (ms === null ? null : ago(now, ms));
  return {
    events: before(eventsMs),
    requests: before(requestsMs),
    pilot: ago(now, PILOT_BODIES_DAYS * DAY_MS),
  };
}
