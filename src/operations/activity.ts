/** Current activity for the overview, the API and the gauges of the metrics. Each number comes from a small index. */
import { serverBytes } from '../database/engine.ts';
import type { Db } from '../database/tables.ts';
import { readInboxActivity } from '../inbox/arrivals.ts';
import { readPosition } from '../ledger/position.ts';
import { readCircuitBreaker } from '../outbox/circuit-breaker.ts';
import { sendingOffSince } from '../outbox/pilot.ts';
import { readOutboxActivity } from '../outbox/requests.ts';
import { readPayrollRevision } from '../payroll/settings/lock.ts';
import { diskOf } from '../telemetry/disk.ts';

export type Activity = Awaited<ReturnType<typeof readActivity>>;

/** Reads the current activity. Each number is read at its own instant. */
export async function readActivity(db: Db) {
  const [events, requests, breaker, sending_off_since, disk, position] = await Promise.all([
    readInboxActivity(db),
    readOutboxActivity(db),
    readCircuitBreaker(db),
    sendingOffSince(db),
    diskOf(db),
    readPosition(db),
  ]);
  const { state, reason, paused_at } = breaker;
  return {
    events,
    requests,
    circuit_breaker: { state, reason, paused_at },
    sending_off_since,
    /** Includes the log on SQLite. */
    database_bytes: disk?.database ?? (await serverBytes(db)),
    /** Null on PostgreSQL. */
    disk_free_bytes: disk?.free ?? null,
    /** The newest position of the ledger. */
    position,
  };
}

/** Returns a text that differs whenever a page of the console would. The sizes of disks change without that. */
export async function readMark(db: Db): Promise<string> {
  const { database_bytes: _, disk_free_bytes: __, ...activity } = await readActivity(db);
  return JSON.stringify([activity, await readPayrollRevision(db)]);
}
