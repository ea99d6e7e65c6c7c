/** How verified deliveries cross from the thread that receives to the one that stores, and how the answers come back. */
import type { Arrival } from './inbox.ts';
import { NotStored } from './not-stored.ts';

/** Several deliveries as one message. Their bytes are one piece, which changes hands instead of being copied. */
export type Crossing = {
  /** Which one, for the answer. */
  crossing: number;
  eventIds: readonly string[];
  /** Bytes of each body, in the same order. */
  lengths: readonly number[];
  /** The bodies, one behind the other. */
  bodies: ArrayBuffer;
};

export type Crossings = {
  /** Resolves when the event is on the disk. Throws `NotStored`. */
  accept(arrival: Arrival): Promise<void>;
  /** The answer: `unstored` are the places of those that were not stored. */
  answered(crossing: number, unstored: readonly number[]): void;
};

type Waiting = { arrival: Arrival; resolve: () => void; reject: (error: Error) => void };

/** What arrives in one turn of the event loop crosses together: a message costs as much as the work on some events. */
export function createCrossings(send: (crossing: Crossing) => void): Crossings {
  const underWay = new Map<number, readonly Waiting[]>();
  let waiting: Waiting[] = [];
  let sent = 0;

  const cross = (): void => {
    const together = waiting;
    waiting = [];
    sent += 1;
    underWay.set(sent, together);
    send(
      crossingOf(
        sent,
        together.map(({ arrival }) => arrival),
      ),
    );
  };

  return {
    accept(arrival) {
      return new Promise((resolve, reject) => {
        if (waiting.push({ arrival, resolve, reject }) === 1) setImmediate(cross);
      });
    },
    answered(crossing, unstored) {
      const together = underWay.get(crossing) ?? [];
      underWay.delete(crossing);
      for (const place of unstored) together[place]?.reject(new NotStored());
      // Whoever was rejected stays so.
      for (const one of together) one.resolve();
    },
  };
}

function crossingOf(crossing: number, arrivals: readonly Arrival[]): Crossing {
  const bytes = new Uint8Array(arrivals.reduce((sum, { body }) => sum + body.length, 0));
  let at = 0;
  for (const { body } of arrivals) {
    bytes.set(body, at);
    at += body.length;
  }
  return {
    crossing,
    eventIds: arrivals.map(({ eventId }) => eventId),
    lengths: arrivals.map(({ body }) => body.length),
    bodies: bytes.buffer,
  };
}

/** What has crossed, on the other side. */
export function arrivalsOf({ eventIds, lengths, bodies }: Crossing): Arrival[] {
  let at = 0;
  return eventIds.map((eventId, place) => {
    const length = lengths[place] as number;
    const body = Buffer.from(bodies, at, length);
    at += length;
    return { eventId, body };
  });
}

/** Stores them, and answers the places of those that were not. */
export async function storeCrossing(
  crossing: Crossing,
  accept: (arrival: Arrival) => Promise<void>,
): Promise<number[]> {
  const settled = await Promise.allSettled(arrivalsOf(crossing).map(accept));
  return settled.flatMap(({ status }, place) => (status === 'rejected' ? [place] : []));
}
