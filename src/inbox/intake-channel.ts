/** Moves verified deliveries from the receiver thread to the main thread, which stores them. */
import { AppError } from '../errors.ts';
import type { Arrival } from './inbox.ts';

export function notStored(): AppError {
  return new AppError('NOT_STORED', 'not stored');
}

/** Several deliveries. Their bodies, of these lengths in bytes, are one buffer, which is transferred instead of copied. */
export type IntakeBatch = {
  batch: number;
  eventIds: readonly string[];
  lengths: readonly number[];
  bodies: ArrayBuffer;
};

export type WaitingDelivery = { arrival: Arrival; resolve: () => void; reject: (error: Error) => void };

/** Deliveries of one event loop turn form a batch, because a message costs as much as handling several events. */
export function createIntakeChannel(send: (batch: IntakeBatch) => void) {
  const inFlight = new Map<number, readonly WaitingDelivery[]>();
  let waiting: WaitingDelivery[] = [];
  let sent = 0;

  const flush = (): void => {
    const deliveries = waiting;
    waiting = [];
    sent += 1;
    inFlight.set(sent, deliveries);
    const lengths = deliveries.map(({ arrival }) => arrival.body.length);
    const bytes = new Uint8Array(lengths.reduce((sum, length) => sum + length, 0));
    let offset = 0;
    for (const { arrival } of deliveries) {
      bytes.set(arrival.body, offset);
      offset += arrival.body.length;
    }
    const eventIds = deliveries.map(({ arrival }) => arrival.eventId);
    send({ batch: sent, eventIds, lengths, bodies: bytes.buffer });
  };

  return {
    /** Resolves when the event is on disk. Throws NOT_STORED. */
    accept(arrival: Arrival): Promise<void> {
      return new Promise((resolve, reject) => {
        if (waiting.push({ arrival, resolve, reject }) === 1) setImmediate(flush);
      });
    },
    /** Settles the deliveries of a batch. `unstored` holds the indexes of deliveries that were not stored. */
    finish(batch: number, unstored: readonly number[]): void {
      const deliveries = inFlight.get(batch) ?? [];
      inFlight.delete(batch);
      for (const index of unstored) deliveries[index]?.reject(notStored());
      // Resolving a rejected promise has no effect.
      for (const { resolve } of deliveries) resolve();
    },
  };
}

/** Stores a batch and returns the indexes of the deliveries that were not stored. */
export async function storeIntakeBatch(
  { eventIds, lengths, bodies }: IntakeBatch,
  accept: (arrival: Arrival) => Promise<void>,
) {
  let offset = 0;
  const arrivals = eventIds.map((eventId, index) => {
    const body = Buffer.from(bodies, offset, lengths[index]);
    offset += body.length;
    return { eventId, body };
  });
  const results = await Promise.allSettled(arrivals.map(accept));
  return results.flatMap(({ status }, index) => (status === 'rejected' ? [index] : []));
}
