/**
 * Tells pages that something changed. One look at the database serves all of them, and nobody looks while nobody
 * listens. What changed is not told: a page asks for itself again, as its own person.
 */
import { PassThrough, type Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';

/** Between two looks, and between two news: as often as a person can follow. */
const LOOK_EVERY_MS = 1_000;
/** A silent connection looks dead to what lies between a browser and here; some give up after 30 s. */
const HEARTBEAT_LOOKS = 15;
/** What a browser waits before it comes back after a broken connection. */
const BACK_AFTER_MS = 2_000;
/** Of the 256 connections that the listener takes: pages may not use up those of payroll. */
export const LISTENERS = 64;

const HELLO = `retry: ${BACK_AFTER_MS}\n\n`;
const NEWS = 'event: news\ndata:\n\n';
const HEARTBEAT = ':\n\n';

export type News = {
  /** A stream of server-sent events, or null when too many listen. `mayListen` is asked again at each look. */
  listen(mayListen: () => Promise<boolean>): Readable | null;
  /** Ends every stream, and those that are asked for later. */
  close(): void;
};

/**
 * `readMark` answers a text that is another one when something changed. A failure of it is no news. Tests look more
 * often.
 */
export function createNews(readMark: () => Promise<string>, lookEveryMs = LOOK_EVERY_MS): News {
  const listeners = new Map<PassThrough, () => Promise<boolean>>();
  const closing = new AbortController();
  let looking = false;

  /** Until nobody listens; `close` makes it reject. */
  async function look(): Promise<void> {
    looking = true;
    try {
      let known = await readMark().catch(() => null);
      for (let looks = 1; listeners.size > 0; looks += 1) {
        await delay(lookEveryMs, null, { signal: closing.signal });
        await sendAway();
        const mark = await readMark().catch(() => known);
        if (mark !== known) tell(NEWS);
        else if (looks % HEARTBEAT_LOOKS === 0) tell(HEARTBEAT);
        known = mark;
      }
    } finally {
      looking = false;
    }
  }

  /** Ends the streams of those who may no longer listen. */
  async function sendAway(): Promise<void> {
    for (const [stream, mayListen] of listeners) {
      if (!(await mayListen())) end(stream);
    }
  }

  /** Whoever has not taken the last news yet needs no second one: it says the same. */
  function tell(message: string): void {
    for (const stream of listeners.keys()) {
      if (stream.readableLength < NEWS.length) stream.write(message);
    }
  }

  function end(stream: PassThrough): void {
    listeners.delete(stream);
    stream.end();
  }

  return {
    listen(mayListen) {
      if (listeners.size === LISTENERS) return null;
      const stream = new PassThrough();
      stream.write(HELLO);
      if (closing.signal.aborted) return stream.end();
      listeners.set(stream, mayListen);
      stream.once('close', () => listeners.delete(stream));
      if (!looking) look().catch(() => {});
      return stream;
    },
    close() {
      closing.abort();
      for (const stream of listeners.keys()) end(stream);
    },
  };
}
