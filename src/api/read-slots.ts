/** Slots for reading large bodies, which bound the memory of concurrent reads. */

import type { EventEmitter } from 'node:events';
import type { FastifyRequest } from 'fastify';
import type { Elapsed } from '../clock.ts';
import type { Log } from '../telemetry/log.ts';
import { rateLimited } from '../telemetry/rate-limited-log.ts';
import { Refusal } from './problem.ts';

/** The lowest rate of a body while every slot is taken, 64 KiB/s, and the time over which it is measured. */
const SLOWEST = { bytes: 640 * 1024, withinMs: 10_000 };
/** How long a request waits for a slot: longer than it takes until a slow body loses one. */
const WAIT_MS = 15_000;
/** How often slow bodies and waiting requests are looked for, while every slot is taken. */
const CHECK_MS = 1_000;
/** When to send a request again that got no slot. */
const RETRY_AFTER_SECONDS = 5;

/** Whose body is read. `raw` emits `close` when the client has left. */
export type ReadRequest = Pick<FastifyRequest, 'caller'> & {
  readonly raw: Pick<EventEmitter, 'once' | 'off'>;
};
export type ReadSlot = Pick<MeasuredSlot, 'received'>;
type MeasuredSlot = ReturnType<typeof createSlot>;
type Waiting = { tokenId: string; since: number; admit: (slot: MeasuredSlot) => void; refuse: () => void };

/**
 * Returns a function that runs reads, at most `atOnce` at a time. Further requests wait for a slot, and are refused with
 * UNAVAILABLE after `WAIT_MS`. The next slot is for the token that has the fewest, so that no token keeps the others out.
 * While every slot is taken, the slowest body below `SLOWEST` loses its own with TOO_SLOW.
 */
export function limitReads(atOnce: number, what: string, { log, elapsed }: { log: Log; elapsed: Elapsed }) {
  const refused = rateLimited(({ count }) =>
    log.warn({ reason: what, count }, 'requests were refused: too many were being read at once'),
  );
  const slots = new Set<MeasuredSlot>();
  const waiting = new Set<Waiting>();
  let checking: NodeJS.Timeout | undefined;

  const take = (tokenId: string): MeasuredSlot => {
    const slot = createSlot(tokenId, elapsed);
    slots.add(slot);
    checking ??= setInterval(check, CHECK_MS);
    return slot;
  };
  const release = (slot: MeasuredSlot): void => {
    slots.delete(slot);
    const slotsOf = ({ tokenId }: Waiting) => [...slots].filter((each) => each.tokenId === tokenId).length;
    while (slots.size < atOnce && waiting.size > 0) {
      // The sort is stable: of equals, the first one has waited longest.
      const [next] = [...waiting].sort((left, right) => slotsOf(left) - slotsOf(right)) as [Waiting];
      next.admit(take(next.tokenId));
    }
    if (slots.size > 0) return;
    clearInterval(checking);
    checking = undefined;
  };
  const check = (): void => {
    for (const request of waiting) {
      if (elapsed.now() - request.since < WAIT_MS) continue;
      refused({ code: '', count: 1 });
      request.refuse();
    }
    if (slots.size < atOnce) return;
    const rates = [...slots].map((slot) => ({ slot, rate: slot.rate() }));
    // One at a time: once a slot is free, the other slow bodies block no caller.
    const [slowest] = rates.sort((left, right) => left.rate - right.rate);
    if (slowest === undefined || slowest.rate >= SLOWEST.bytes / SLOWEST.withinMs) return;
    log.warn({ reason: what }, 'a slow upload was ended, because every slot was taken');
    slowest.slot.lose();
    release(slowest.slot);
  };

  const slotFor = ({ caller, raw }: ReadRequest): Promise<MeasuredSlot> => {
    const tokenId = caller?.tokenId ?? caller?.person ?? '';
    if (slots.size < atOnce) {
      const slot = take(tokenId);
      // Slowness while a slot was free blocked no caller.
      if (slots.size === atOnce) for (const each of slots) each.restart();
      return Promise.resolve(slot);
    }
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        waiting.delete(request);
        raw.off('close', request.refuse);
      };
      const request: Waiting = {
        tokenId,
        since: elapsed.now(),
        admit: (slot) => {
          leave();
          resolve(slot);
        },
        refuse: () => {
          leave();
          const detail = `The sidecar reads at most ${atOnce} ${what} at once. Nothing was changed.`;
          const headers = { 'retry-after': String(RETRY_AFTER_SECONDS) };
          reject(new Refusal('UNAVAILABLE', detail, { headers }));
        },
      };
      waiting.add(request);
      raw.once('close', request.refuse);
    });
  };

  return async <T>(request: ReadRequest, read: (slot: ReadSlot) => Promise<T>): Promise<T> => {
    const slot = await slotFor(request);
    try {
      return await read(slot);
    } finally {
      release(slot);
    }
  };
}

type ReceivedPart = IteratorResult<Uint8Array, undefined>;

/** Measures only the time that is spent waiting for the client while this thread is idle: other time is our own slowness. */
function createSlot(tokenId: string, { idle }: Elapsed) {
  let bytes = 0;
  let waitedMs = 0;
  let waitingSince: number | null = null;
  let interrupt: (error: Refusal) => void = () => {};
  let lost: Refusal | null = null;

  const restart = (): void => {
    bytes = 0;
    waitedMs = 0;
    if (waitingSince !== null) waitingSince = idle();
  };
  return {
    tokenId,
    restart,
    /** Returns the bytes per millisecond of a body that is being waited for; Infinity until it was measured long enough. */
    rate(): number {
      if (waitingSince === null) return Number.POSITIVE_INFINITY;
      const ms = waitedMs + idle() - waitingSince;
      if (ms < SLOWEST.withinMs) return Number.POSITIVE_INFINITY;
      const rate = bytes / ms;
      if (rate >= SLOWEST.bytes / SLOWEST.withinMs) restart();
      return rate;
    },
    /** Rejects the part that is being waited for, and all further ones. */
    lose(): void {
      const detail =
        'The body arrived slower than 64 KiB/s while others waited to be read. Nothing was changed. Use a faster line.';
      lost = new Refusal('TOO_SLOW', detail);
      interrupt(lost);
    },
    /** Returns the next part of the body once it has arrived. */
    async received(next: Promise<ReceivedPart>): Promise<ReceivedPart> {
      waitingSince = idle();
      try {
        const part = await new Promise<ReceivedPart>((resolve, reject) => {
          interrupt = reject;
          next.then(resolve, reject);
          if (lost !== null) reject(lost);
        });
        bytes += part.value?.length ?? 0;
        return part;
      } finally {
        waitedMs += idle() - waitingSince;
        waitingSince = null;
      }
    },
  };
}
