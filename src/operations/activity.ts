/** Current activity for the overview, the API and the gauges of the metrics. Each number comes from a small index. */
import { type Expression, sql } from 'kysely';
import { serverBytes } from '../database/engine.ts';
import { readPosition } from '../database/newest.ts';
import type { Db } from '../database/tables.ts';
import { lastArrival } from '../inbox/arrivals.ts';
import { diskOf } from '../telemetry/disk.ts';

/** The most rows counted of anything. Reading so many index entries takes a few milliseconds; more is "at least". */
export const COUNTED_AT_MOST = 25_000;

export type Activity = {
  events: {
    pending: number;
    oldest_pending_at: string | null;
    /** Without dismissed ones, like the conflicts. */
    quarantined: number;
    conflicts: number;
    /** The last event of the service. Imports don't count. */
    last_received_at: string | null;
  };
  /**
   * Requests that are under way or wait for an operator. Delivered and canceled ones accumulate and are not counted.
   */
  requests: {
    pending: number;
    sending: number;
    rejected: number;
    oldest_unfinished_at: string | null;
  };
  circuit_breaker: { state: 'active' | 'paused'; reason: string | null; paused_at: string | null };
  /** Includes the log on SQLite. */
  database_bytes: number;
  /** Free bytes on the disk of a SQLite database. Null on PostgreSQL. */
  disk_free_bytes: number | null;
  /** The newest position of the ledger. */
  position: number;
};

/** Reads the current activity. Each number is read at its own instant. */
export async function readActivity(db: Db): Promise<Activity> {
  const [events, requests, circuit_breaker, space, position] = await Promise.all([
    eventsOf(db),
    requestsOf(db),
    circuitBreakerOf(db),
    spaceOf(db),
    readPosition(db),
  ]);
  return { events, requests, circuit_breaker, ...space, position };
}

async function circuitBreakerOf(db: Db): Promise<Activity['circuit_breaker']> {
  return db.selectFrom('circuit_breaker').select(['state', 'reason', 'paused_at']).executeTakeFirstOrThrow();
}

async function spaceOf(db: Db): Promise<Pick<Activity, 'database_bytes' | 'disk_free_bytes'>> {
  const disk = await diskOf(db);
  return {
    database_bytes: disk?.database ?? (await serverBytes(db)),
    disk_free_bytes: disk?.free ?? null,
  };
}

// Conditions are literals, because only then can the engine use the partial index for them.
const PENDING = sql<boolean>`state = 'pending'`;
const UNFINISHED = sql<boolean>`finished_at is null`;

async function eventsOf(db: Db): Promise<Activity['events']> {
  const oldest = await db
    .selectFrom('inbox')
    .select('received_at')
    .where(PENDING)
    .orderBy('seq')
    .limit(1)
    .executeTakeFirst();
  return {
    pending:
      oldest === undefined ? 0 : await countOf(db, db.selectFrom('inbox').select('seq').where(PENDING)),
    oldest_pending_at: oldest?.received_at ?? null,
    quarantined: await countOf(
      db,
      db
        .selectFrom('inbox')
        .select('seq')
        .where(sql<boolean>`state = 'quarantined' and dismissed_at is null`),
    ),
    conflicts: await countOf(
      db,
      db.selectFrom('event_conflicts').select('event_id').distinct().where('dismissed_at', 'is', null),
    ),
    last_received_at: (await lastArrival(db))?.received_at ?? null,
  };
}

async function requestsOf(db: Db): Promise<Activity['requests']> {
  const outbox = db.selectFrom('outbox').select('seq');
  const sending = await countOf(db, outbox.where(sql<boolean>`state = 'sending'`));
  const unfinished = await countOf(db, outbox.where(UNFINISHED));
  const oldest = await db
    .selectFrom('outbox')
    .select('created_at')
    .where(UNFINISHED)
    .orderBy('seq')
    .limit(1)
    .executeTakeFirst();
  return {
    // One index has both states. A request may finish between the two queries.
    pending: Math.max(0, unfinished - sending),
    sending,
    rejected: await countOf(db, outbox.where(sql<boolean>`state = 'rejected'`)),
    oldest_unfinished_at: oldest?.created_at ?? null,
  };
}

/** Counts the rows of a query, at most `COUNTED_AT_MOST`. */
async function countOf(db: Db, rows: { limit(limit: number): Expression<unknown> }): Promise<number> {
  const { rows: counted } = await sql<{ count: number }>`
    select count(*) as count from ${rows.limit(COUNTED_AT_MOST)} as counted`.execute(db);
  return counted[0]?.count ?? 0;
}
