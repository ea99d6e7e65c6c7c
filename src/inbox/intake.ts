import { engineOf } from '../database/engine.ts';
import { isFatal } from '../database/errors.ts';
import type { Db } from '../database/tables.ts';
import { codeOf } from '../errors.ts';
import type { Log } from '../telemetry/log.ts';
import { rateLimited } from '../telemetry/rate-limited-log.ts';
import { type Arrival, type ReceivedAt, type StoredBatch, storeBatch } from './inbox.ts';
import { notStored, type WaitingDelivery } from './intake-channel.ts';

/** Events in one commit: enough to share its fsync, few enough that the event loop is not held for long. */
const BATCH_EVENTS = 256;
/** Batches in flight. PostgreSQL receives one while it writes another; more would only make them smaller. */
const FLUSHES = { sqlite: 1, postgres: 2 };
/** Bytes waiting to be stored, over all connections. Beyond it, the receiver responds with 503, because memory is finite. */
const WAITING_BYTES = 64 * 1024 * 1024;

export type Intake = {
  /** Resolves when the event is on disk. Throws NOT_STORED: then it must not be acknowledged. */
  accept(arrival: Arrival): Promise<void>;
};

/**
 * Creates a group commit: deliveries of one event loop turn share a transaction and its fsync, and deliveries
 * that arrive during it form the next transaction. `onStored` is called after each commit, with its milliseconds;
 * `onFatal` when the storage failed in a way that a retry cannot fix, and the process must end.
 */
export function createIntake(options: {
  db: Db;
  /** Returns the time of receipt: a text, or an SQL expression for the start of the statement that stores it. */
  receivedAt: () => ReceivedAt;
  log: Log;
  onStored: (stored: StoredBatch, tookMs: number) => void;
  onFatal: (error: unknown) => void;
}): Intake {
  const { db, receivedAt, log, onStored, onFatal } = options;
  const refused = rateLimited((failures) => {
    log.error(failures, 'events could not be stored and were refused with 503: the sender will retry them');
  });
  const conflicted = rateLimited(({ count }) => {
    log.warn({ count }, 'an event ID was received again with a different body: the first body is kept');
  });
  let waiting: WaitingDelivery[] = [];
  let waitingBytes = 0;
  const flushesMost = FLUSHES[engineOf(db)];
  let flushes = 0;
  let scheduled = false;

  const flush = async (): Promise<void> => {
    scheduled = false;
    const batch = waiting.slice(0, BATCH_EVENTS);
    waiting = waiting.slice(BATCH_EVENTS);
    try {
      const arrivals = batch.map((delivery) => delivery.arrival);
      // Taken before the wait for the lock: what happens during it happens after the receipt.
      const at = receivedAt();
      const began = performance.now();
      const stored = await storeBatch(db, arrivals, at);
      // Called before the acknowledgments, so that the high-water mark includes them.
      onStored(stored, performance.now() - began);
      for (const delivery of batch) delivery.resolve();
      if (stored.conflicts > 0) conflicted({ code: '', count: stored.conflicts });
    } catch (error) {
      // Deliveries that arrived during that time would fail too, or wait for the lock just as long.
      batch.push(...waiting.splice(0));
      refused({ code: codeOf(error), count: batch.length });
      for (const delivery of batch) delivery.reject(notStored());
      if (isFatal(error)) onFatal(error);
    } finally {
      for (const delivery of batch) waitingBytes -= delivery.arrival.body.length;
      flushes -= 1;
      if (waiting.length > 0) schedule();
    }
  };

  const schedule = (): void => {
    if (scheduled || flushes === flushesMost) return;
    scheduled = true;
    flushes += 1;
    setImmediate(flush);
  };

  return {
    accept(arrival) {
      if (waitingBytes + arrival.body.length > WAITING_BYTES) return Promise.reject(notStored());
      waitingBytes += arrival.body.length;
      return new Promise((resolve, reject) => {
        waiting.push({ arrival, resolve, reject });
        schedule();
      });
    },
  };
}
