import { setTimeout as delay } from 'node:timers/promises';
import { completeSyncs, requestSync } from '../census/syncs.ts';
import { type Engine, engineOf, type SharedNow } from '../database/engine.ts';
import { isFatal, isStatementTimeout, isUnavailable } from '../database/errors.ts';
import { createLoopNotifier } from '../database/notifier.ts';
import type { Db, Trx } from '../database/tables.ts';
import { transact } from '../database/transaction.ts';
import { codeOf } from '../errors.ts';
import type { IncomingDeduction } from '../ledger/fold.ts';
import { transactOnLedger } from '../ledger/position.ts';
import { eventsInLedger, recordDeductions } from '../ledger/record.ts';
import { notify } from '../notifications/store.ts';
import type { Log } from '../telemetry/log.ts';
import { rateLimited } from '../telemetry/rate-limited-log.ts';
import { createChanges } from './contract-changes.ts';
import {
  type EventOutcome,
  finishEvents,
  hasPendingEvents,
  type PendingEvent,
  pendingEvents,
} from './inbox.ts';
import { parseEvent } from './parse-event.ts';
import { createWorkListStart } from './work-list.ts';

/** Events in one transaction: enough to share its fsync, few enough to hold the event loop briefly. */
const BATCH_EVENTS = 512;
/** A batch of this size means a high rate: more than 3,000 events a second. */
const MANY_EVENTS = 64;
/**
 * How long the loop lets events gather, at a low and at a high rate, before it applies fewer than `enough`: a commit
 * costs the same for one event as for fifty. On SQLite, deliveries wait for the write lock while a batch is applied, and the
 * receiver reads other deliveries during the wait, so `enough` is about what two commits store. On PostgreSQL they do not
 * wait, and a full batch takes the fewest round trips.
 */
const GATHERING: Readonly<Record<Engine, { enough: number; fewMs: number; manyMs: number }>> = {
  sqlite: { enough: 64, fewMs: 10, manyMs: 10 },
  postgres: { enough: BATCH_EVENTS, fewMs: 10, manyMs: 50 },
};
/** How often an idle loop checks for work, because another process may have set an event to pending. */
const IDLE_MS = 1_000;
/** After a database error: the events did not cause it, so the same batch is retried. */
const RETRY_MS = 250;
/** An event that times out alone this often is quarantined. Fewer could be the server's fault. */
const TIMEOUTS_ALONE = 3;
/** The beginning of the reason of an event that could be parsed but not applied. */
export const NOT_APPLIED = 'applying it ';

export type ApplyLoop = {
  /** Applies one batch of pending events; throws only when the database could not do its work. */
  runOnce(): Promise<Applied>;
  run(signal: AbortSignal): Promise<void>;
  /** Signals that `events` new events are pending. Without a number, older events may be pending, too. */
  wake(events?: number): void;
};

export type Effects = { requestSync: typeof requestSync; completeSyncs: typeof completeSyncs };

export type Applied = { applied: number; ignored: number; quarantined: number; syncsRequested: number };

/**
 * Moves pending events, in order of receipt, into the ledger and the outbox: a batch in one transaction. When a
 * batch fails on an event's content its events are applied one by one, so that one bad event affects no other. When
 * a batch takes longer than PostgreSQL's `statement_timeout`, the next one is half as large.
 */
export function createApplyLoop(options: {
  db: Db;
  sharedNow: SharedNow;
  log: Log;
  effects?: Effects;
  onApplied: (applied: Applied) => void;
  onFatal: (error: unknown) => void;
}): ApplyLoop {
  const { db, sharedNow, log, effects = { requestSync, completeSyncs }, onApplied, onFatal } = options;
  const failed = rateLimited((failures) => log.error(failures, 'events could not be applied: trying again'));
  const some = createLoopNotifier();
  const isEnough = createLoopNotifier();
  const { enough, fewMs, manyMs } = GATHERING[engineOf(db)];
  const start = createWorkListStart(db);
  const batches = createBatches({ db, sharedNow, log, effects, start });
  let gathered = 0;

  const runOnce = async (): Promise<Applied> => {
    // After a wake-up, events are pending, so the database is not queried.
    const isAny = gathered > 0 || (await hasPendingEvents(db, await start.find()));
    gathered = 0;
    return isAny ? batches.applyNext() : nothingApplied();
  };

  return {
    runOnce,
    wake(events) {
      if (events === undefined) start.lookBack();
      gathered += events ?? BATCH_EVENTS;
      some.notify();
      if (gathered >= enough) isEnough.notify();
    },
    async run(signal) {
      while (!signal.aborted) {
        try {
          const asked = batches.size();
          const applied = await runOnce();
          if (countOf(applied) > 0) onApplied(applied);
          // Between batches, let this thread acknowledge deliveries.
          if (countOf(applied) >= asked) await new Promise(setImmediate);
          else {
            await some.wait(IDLE_MS, signal);
            const gatherMs = countOf(applied) < MANY_EVENTS ? fewMs : manyMs;
            await isEnough.wait(gatherMs, signal);
          }
        } catch (error) {
          failed({ code: codeOf(error), count: 1 });
          if (isFatal(error)) return onFatal(error);
          await delay(RETRY_MS, undefined, { signal }).catch(() => {});
        }
      }
    },
  };
}

type BatchParts = {
  db: Db;
  sharedNow: SharedNow;
  log: Log;
  effects: Effects;
  start: ReturnType<typeof createWorkListStart>;
};

/** Applies pending events batch by batch. */
function createBatches({ db, sharedNow, log, effects, start }: BatchParts) {
  /** How many events the next batch may have: a power of two. */
  let size = BATCH_EVENTS;
  let timedOutAlone = { seq: 0, times: 0 };

  const applyNext = async (): Promise<Applied> => {
    const batch: PendingEvent[] = [];
    try {
      const applied = await applyUpTo(size, batch);
      size = Math.min(size * 2, BATCH_EVENTS);
      return applied;
    } catch (error) {
      if (isStatementTimeout(error)) return afterTimeout(batch, error);
      if (isUnavailable(error)) throw error;
      log.warn(
        { code: codeOf(error) },
        'a batch failed because of one event: applying its events one at a time',
      );
      return applySingly();
    }
  };

  /** Applies the oldest events in one transaction, and sets `batch` to the events that it read. */
  const applyUpTo = async (limit: number, batch: PendingEvent[]): Promise<Applied> => {
    const after = await start.find();
    // Locked first, so that the next reader of the work list does not see what this batch applies.
    return transactOnLedger(db, async (trx) => {
      batch.splice(0, batch.length, ...(await pendingEvents(trx, limit, after)));
      return applyEvents(trx, effects, batch, (await sharedNow(trx)).toISOString());
    });
  };

  /** Makes the next batch smaller, or quarantines the one event that timed out alone `TIMEOUTS_ALONE` times. */
  const afterTimeout = async (batch: readonly PendingEvent[], error: unknown): Promise<Applied> => {
    const [oldest] = batch;
    if (oldest === undefined) throw error;
    if (batch.length > 1) {
      size = 2 ** Math.floor(Math.log2(batch.length - 1));
      throw error;
    }
    const { seq } = oldest;
    timedOutAlone = { seq, times: timedOutAlone.seq === seq ? timedOutAlone.times + 1 : 1 };
    if (timedOutAlone.times < TIMEOUTS_ALONE) throw error;
    return quarantine(oldest, codeOf(error), `timed out ${TIMEOUTS_ALONE} times in a row`);
  };

  const applySingly = async (): Promise<Applied> => {
    const total = nothingApplied();
    for (let left = BATCH_EVENTS; left > 0; left -= 1) {
      const applied = await applyOldest();
      if (countOf(applied) === 0) break;
      for (const name of Object.keys(total) as (keyof Applied)[]) total[name] += applied[name];
    }
    return total;
  };

  const applyOldest = async (): Promise<Applied> => {
    const batch: PendingEvent[] = [];
    try {
      return await applyUpTo(1, batch);
    } catch (error) {
      const [oldest] = batch;
      if (isUnavailable(error) || oldest === undefined) throw error;
      return quarantine(oldest, codeOf(error), 'failed');
    }
  };

  const quarantine = (event: PendingEvent, code: string, what: string): Promise<Applied> =>
    transact(db, async (trx) => {
      log.error({ event_id: event.event_id, code }, 'an event could not be applied and was quarantined');
      const reason = `${NOT_APPLIED}${what} (${code || 'internal error'}): reprocess it after an upgrade, or dismiss it`;
      const { eventType, envelopeId } = parseEvent(event.body);
      const outcome: EventOutcome = { seq: event.seq, state: 'quarantined', eventType, envelopeId, reason };
      const now = (await sharedNow(trx)).toISOString();
      await finishEvents(trx, [outcome], now);
      await notify(trx, 'event.quarantined', { event_id: event.event_id }, now);
      return { ...nothingApplied(), quarantined: 1 };
    });

  return { applyNext, size: () => size };
}

async function applyEvents(trx: Trx, effects: Effects, events: readonly PendingEvent[], now: string) {
  const again = events.filter((event) => event.reprocessed > 0).map((event) => event.event_id);
  const known = await eventsInLedger(trx, again);
  const applied = nothingApplied();
  const deductions: IncomingDeduction[] = [];
  const outcomes: EventOutcome[] = [];
  const quarantined: string[] = [];
  const changes = createChanges();
  for (const { seq, event_id: eventId, received_at: receivedAt, body, reprocessed } of events) {
    const { meaning, createdAt, eventType, envelopeId, unknown } = parseEvent(body);
    if (reprocessed === 0) changes.note(eventId, eventType, unknown);
    if (meaning.kind === 'deduction') {
      const { deduction } = meaning;
      if (!known.has(eventId)) deductions.push({ eventId, receivedAt, createdAt, deduction });
    } else if (meaning.kind === 'sync-request') {
      await effects.requestSync(trx, { employerId: meaning.employerId, eventId, now });
      applied.syncsRequested += 1;
    } else if (meaning.kind === 'sync-complete') {
      await effects.completeSyncs(trx, { employerId: meaning.employerId, eventId, receivedAt, now });
    }
    const unhandled = meaning.kind === 'ignored' || meaning.kind === 'quarantined' ? meaning : null;
    const state = unhandled?.kind ?? 'applied';
    applied[state] += 1;
    if (state === 'quarantined') quarantined.push(eventId);
    outcomes.push({ seq, state, eventType, envelopeId, reason: unhandled?.reason ?? null });
  }
  await recordDeductions(trx, deductions, now);
  await finishEvents(trx, outcomes, now);
  // Subjects are locked in the order of their names, as the loop that sends does.
  await changes.record(trx, now);
  for (const event_id of quarantined.sort()) await notify(trx, 'event.quarantined', { event_id }, now);
  return applied;
}

function nothingApplied(): Applied {
  return { applied: 0, ignored: 0, quarantined: 0, syncsRequested: 0 };
}

function countOf(applied: Applied): number {
  return applied.applied + applied.ignored + applied.quarantined;
}
