/**
 * Detects a wrong clock: times of receipt, effective dates, the end of sessions and, on SQLite, retention rely on it. On
 * PostgreSQL the database's clock shows it. On SQLite only the past does: what the file holds, and how the clock moved
 * since the start.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { type Clock, describeDuration } from '../clock.ts';
import { engineOf, type SharedNow } from '../database/engine.ts';
import { latestProbe, readClockWarning, storeClockWarning } from '../database/instance.ts';
import type { Db } from '../database/tables.ts';
import { latestReceipt } from '../inbox/arrivals.ts';
import { latestRequest } from '../outbox/requests.ts';
import type { Log } from '../telemetry/log.ts';

/** Deliveries are refused at five minutes, and NTP keeps clocks within milliseconds. */
const OFF_MS = 60_000;
/** A smaller change between two checks is a clock that is slewed, or the drift of the monotonic one. */
const STEP_MIN_MS = 1_000;
const EVERY_MS = 10_000;

export type ClockCheck = {
  /** Returns in words why the clock may be wrong, or null. Throws what the database throws. */
  warning(): Promise<string | null>;
  /** Checks until the signal aborts. Logs the beginning and the end of a warning. */
  run(signal: AbortSignal): Promise<void>;
};

/**
 * Creates the check of a sidecar. `latestStored` is the result of `readLatestStored` at the start, and `elapsedMs` a
 * monotonic clock that continues while the machine sleeps. On SQLite the warning is stored for commands, and ends when the
 * clock is back, or at the next start.
 */
export function createClockCheck(parts: {
  db: Db;
  now: Clock;
  sharedNow: SharedNow;
  elapsedMs: () => number;
  latestStored: string | null;
  log: Log;
}): ClockCheck {
  const { db, log } = parts;
  const compare =
    engineOf(db) === 'postgres' ? () => offDatabase(db, parts) : storing(db, createSteps(parts));
  let isWrong = false;
  const warning = async (): Promise<string | null> => {
    const reason = await compare();
    if (reason !== null && !isWrong) log.warn({ reason }, 'the clock of this machine may be wrong');
    if (reason === null && isWrong) log.info({}, 'the clock of this machine is right again');
    isWrong = reason !== null;
    return reason;
  };
  return {
    warning,
    async run(signal) {
      while (!signal.aborted) {
        // Without the database it continues at the next check. Others report that.
        await warning().catch(() => {});
        await delay(EVERY_MS, undefined, { signal }).catch(() => {});
      }
    },
  };
}

/** Returns the warning of a command's own clock, or the warning that the sidecar on this SQLite file stored. */
export async function readClockState(
  db: Db,
  clocks: { now: Clock; sharedNow: SharedNow },
): Promise<string | null> {
  if (engineOf(db) === 'postgres') return offDatabase(db, clocks);
  return beforeStored(clocks.now(), await readLatestStored(db)) ?? (await readClockWarning(db));
}

/** Returns the newest time in a SQLite database, or null if it has none. On PostgreSQL always null. */
export async function readLatestStored(db: Db): Promise<string | null> {
  if (engineOf(db) === 'postgres') return null;
  const times = [await latestReceipt(db), await latestRequest(db), await latestProbe(db)];
  return times.reduce((latest, time) => ((time ?? '') > (latest ?? '') ? time : latest), null);
}

/** The database's clock was read between two readings of this one, so a slow response makes no difference. */
async function offDatabase(db: Db, { now, sharedNow }: { now: Clock; sharedNow: SharedNow }) {
  const began = now().getTime();
  const shared = (await sharedNow(db)).getTime();
  const aheadMs = began - shared;
  const behindMs = shared - now().getTime();
  if (aheadMs > OFF_MS) return `${describeDuration(aheadMs)} ahead of the database's clock`;
  return behindMs > OFF_MS ? `${describeDuration(behindMs)} earlier than the database's clock` : null;
}

function beforeStored(now: Date, latestStored: string | null): string | null {
  const isBefore = latestStored !== null && Date.parse(latestStored) - now.getTime() > OFF_MS;
  return isBefore ? `behind ${latestStored}, the newest time in the database` : null;
}

/** Returns a function that compares the clock with the newest stored time, and its steps with the monotonic clock. */
function createSteps({
  now,
  elapsedMs,
  latestStored,
}: {
  now: Clock;
  elapsedMs: () => number;
  latestStored: string | null;
}): () => string | null {
  let last = { at: now().getTime(), elapsed: elapsedMs() };
  let wasBefore = beforeStored(now(), latestStored) !== null;
  let steppedMs = 0;
  let steppedAt = '';
  return () => {
    const at = now();
    const elapsed = elapsedMs();
    const stepMs = at.getTime() - last.at - (elapsed - last.elapsed);
    last = { at: at.getTime(), elapsed };
    const before = beforeStored(at, latestStored);
    if (Math.abs(stepMs) >= STEP_MIN_MS) {
      // A step forward that ends the other warning corrects the clock.
      steppedMs = wasBefore && before === null ? 0 : steppedMs + stepMs;
      steppedAt = at.toISOString();
    }
    wasBefore = before !== null;
    if (before !== null || Math.abs(steppedMs) <= OFF_MS) return before;
    const direction = steppedMs > 0 ? 'forward' : 'back';
    return `set ${direction} by ${describeDuration(Math.abs(steppedMs))} while the sidecar ran, to ${steppedAt}`;
  };
}

/** Stores each change of the warning, or tries again with the next check. */
function storing(db: Db, compare: () => string | null): () => Promise<string | null> {
  let stored: string | null | undefined;
  return async () => {
    const reason = compare();
    if (reason === stored) return reason;
    await storeClockWarning(db, reason).then(
      () => {
        stored = reason;
      },
      () => {},
    );
    return reason;
  };
}
