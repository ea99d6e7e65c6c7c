/** Current activity for the overview, the API and the gauges of the metrics. Each number comes from a small index. */
import { serverBytes } from '../database/engine.ts';
import type { Db } from '../database/tables.ts';
import { type InboxActivity, readInboxActivity } from '../inbox/activity.ts';
import { readPosition } from '../ledger/position.ts';
import { type OutboxActivity, readOutboxActivity } from '../outbox/activity.ts';
import { type CircuitBreaker, readCircuitBreaker } from '../outbox/circuit-breaker.ts';
import { diskOf } from '../telemetry/disk.ts';

export type Activity = {
  events: InboxActivity;
  requests: OutboxActivity;
  circuit_breaker: Pick<CircuitBreaker, 'state' | 'reason' | 'paused_at'>;
  /** Includes the log on SQLite. */
  database_bytes: number;
  /** Free bytes on the disk of a SQLite database. Null on PostgreSQL. */
  disk_free_bytes: number | null;
  /** The newest position of the ledger. */
  position: number;
};

/** Reads the current activity. Each number is read at its own instant. */
export async function readActivity(db: Db): Promise<Activity> {
  const [events, requests, breaker, disk, position] = await Promise.all([
    readInboxActivity(db),
    readOutboxActivity(db),
    readCircuitBreaker(db),
    diskOf(db),
    readPosition(db),
  ]);
  const { state, reason, paused_at } = breaker;
  return {
    events,
    requests,
    circuit_breaker: { state, reason, paused_at },
    database_bytes: disk?.database ?? (await serverBytes(db)),
    disk_free_bytes: disk?.free ?? null,
    position,
  };
}
