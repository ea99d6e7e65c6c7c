/** `GET /live`: server-sent events that tell open pages to refresh. Each page then reloads itself as its own user. */
import { PassThrough, type Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';
import { createAuthorize } from '../api/auth.ts';
import { Refusal } from '../api/problem.ts';
import type { ConsoleParts } from './page.ts';

/** How often the database is checked. A person cannot follow faster updates. */
const CHECK_EVERY_MS = 1_000;
/** Checks between heartbeats. Some proxies close a connection that is silent for 30 s. */
const HEARTBEAT_CHECKS = 15;
/** The listener accepts 256 connections; open pages must leave some for payroll. */
export const LISTENERS_MAX = 64;
/** Of one session, so that no session takes the places of all others. A person has fewer pages in front at once. */
export const LISTENERS_OF_SESSION_MAX = 8;
/** Pages that are in the background close their streams, so a slot becomes free soon. */
const RETRY_AFTER_SECONDS = 30;

/** Browsers reconnect after 2 s. */
const HELLO = 'retry: 2000\n\n';
const NEWS = 'event: news\ndata:\n\n';
const HEARTBEAT = ':\n\n';

export function liveRoute(app: FastifyInstance, parts: ConsoleParts): void {
  const { now, readMark } = parts;
  // Charts and ages move on every minute.
  const minute = () => now().toISOString().slice(0, 'YYYY-MM-DDTHH:MM'.length);
  const notifier = createPageNotifier(async () => `${minute()} ${await readMark()}`);
  const authorize = createAuthorize(parts, app.failedAttempt);
  // The listener would otherwise wait for streams that never end.
  app.addHook('preClose', async () => notifier.close());

  app.get(
    '/live',
    { config: { scope: 'any', employers: 'none' }, schema: { hide: true } },
    (request, reply) => {
      const isAllowed = async () => {
        try {
          await authorize(request, reply);
          return true;
        } catch (error) {
          // A database error must not end the stream; only a rejected session does.
          return !(error instanceof Refusal);
        }
      };
      const owner = request.session ?? request.caller?.tokenId ?? '';
      const stream = notifier.subscribe(owner, isAllowed);
      // Many open pages are not an error, so nothing is thrown or logged.
      if (stream === null) return reply.code(503).header('retry-after', RETRY_AFTER_SECONDS).send();
      return reply.type('text/event-stream').send(stream);
    },
  );
}

type Subscriber = {
  /** The session of the page, or the token of another client. */
  owner: string;
  isAllowed: () => Promise<boolean>;
  /** Null before the first check, which always notifies: something may have changed since the page was rendered. */
  known: string | null;
};

/**
 * Checks the database once for all pages, and only while pages listen. `readState` returns a text that differs when
 * something changed; its failures are ignored. Tests pass a shorter interval.
 */
export function createPageNotifier(readState: () => Promise<string>, checkEveryMs = CHECK_EVERY_MS) {
  const subscribers = new Map<PassThrough, Subscriber>();
  const closing = new AbortController();
  let isRunning = false;

  /** Runs while pages listen; `close` makes it reject. */
  async function run(): Promise<void> {
    isRunning = true;
    try {
      for (let checks = 1; subscribers.size > 0; checks += 1) {
        await delay(checkEveryMs, null, { signal: closing.signal });
        for (const [stream, { isAllowed }] of subscribers) if (!(await isAllowed())) end(stream);
        // A page that subscribes during the check waits for the next check: this one may have missed a change.
        const all = [...subscribers];
        const state = await readState().catch(() => null);
        for (const [stream, subscriber] of all) {
          if (state !== null && state !== subscriber.known) publish(stream, NEWS);
          else if (checks % HEARTBEAT_CHECKS === 0) publish(stream, HEARTBEAT);
          subscriber.known = state ?? subscriber.known;
        }
      }
    } finally {
      isRunning = false;
    }
  }

  /** Skips a subscriber that has not read the last message yet: a second one adds nothing. */
  function publish(stream: PassThrough, message: string): void {
    if (stream.writable && stream.readableLength < NEWS.length) stream.write(message);
  }

  function end(stream: PassThrough): void {
    subscribers.delete(stream);
    stream.end();
  }

  return {
    /**
     * Returns a stream of server-sent events, or null at `LISTENERS_MAX`, or at `LISTENERS_OF_SESSION_MAX` of the owner. Each
     * check calls `isAllowed` again.
     */
    subscribe(owner: string, isAllowed: () => Promise<boolean>): Readable | null {
      if (subscribers.size === LISTENERS_MAX) return null;
      const ofOwner = [...subscribers.values()].filter((subscriber) => subscriber.owner === owner);
      if (ofOwner.length >= LISTENERS_OF_SESSION_MAX) return null;
      const stream = new PassThrough();
      stream.write(HELLO);
      if (closing.signal.aborted) return stream.end();
      subscribers.set(stream, { owner, isAllowed, known: null });
      stream.once('close', () => subscribers.delete(stream));
      if (!isRunning) run().catch(() => {});
      return stream;
    },
    /** Ends every stream, including those requested later. */
    close(): void {
      closing.abort();
      for (const stream of subscribers.keys()) end(stream);
    },
  };
}
