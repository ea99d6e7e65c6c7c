import { Agent, request } from 'undici';
import { codeOf } from '../errors.ts';
import type { OutgoingEvent } from './events.ts';
import type { Faults } from './faults.ts';
import { type Forgery, forge, signEvent } from './sign.ts';
import type { News, Wait } from './waiting.ts';

export const ACKNOWLEDGED_WITHIN_MS = 15_000;

const CONNECTIONS_MAX = 64;

/** The longest wait of the fault `reorder` for more events. */
const HELD_AT_MOST_MS = 1_000;

const HOUR_MS = 3_600_000;
/** The provider's delay before each attempt of an event, 27.5 hours in total (docs/internals/provider.md). */
export const RETRY_DELAYS_MS: readonly number[] = [
  ...[0, 5_000, 300_000, 1_800_000],
  ...[2 * HOUR_MS, 5 * HOUR_MS, 10 * HOUR_MS, 10 * HOUR_MS],
];

/** Turns a day of the provider into less than two minutes: the first retries follow after 5 and 300 ms. */
export const RETRY_SCALE = 0.001;

export type Delivery = {
  eventId: string;
  url: string;
  attempt: number;
  at: Date;
  /** Whether it was acknowledged with 2xx in time. */
  acknowledged: boolean;
  /** Null if there was no response; `reason` is why. */
  status: number | null;
  reason: string | null;
};

/** Where events are sent. One that failed all attempts of an event receives nothing until it is enabled. */
type Destination = {
  readonly url: string;
  disabledAt: Date | null;
  acknowledged: number;
  /** Events that it did not receive, by id, oldest first. */
  readonly missed: Map<string, OutgoingEvent>;
};

export type SendOptions = {
  /** Simultaneous deliveries of the event; more than 1 are duplicates. */
  times?: number;
  /** Signs with these instead of the provider's own secrets. */
  secrets?: readonly string[];
  /** A single, wrongly signed delivery that does not come from the provider. */
  forgery?: Forgery;
};

export type ProviderOptions = {
  secrets: readonly string[];
  /** Scales the retry delays; 1 takes 27.5 hours. */
  retryScale: number;
  now: () => Date;
  wait: Wait;
  /** Ends all waits and retries. */
  closing: AbortSignal;
  faults: Faults;
  news: News;
  /** Called for every delivery attempt when its outcome is known. */
  delivered: (delivery: Delivery) => void;
  /** Called when the provider disables an endpoint, until `enableEndpoints`. */
  endpointDisabled: (url: string) => void;
};

type Message = Pick<SendOptions, 'secrets' | 'forgery'> & {
  event: OutgoingEvent;
  text: string;
  to: Destination;
  /** How many deliveries the destination acknowledged before the first attempt. */
  before: number;
};

type Held = { deliveries: (() => Promise<void>)[]; release: () => void; done: Promise<void> };

export type Provider = ReturnType<typeof createProvider>;

/** The delivery provider: signs events, posts them to every subscribed URL and retries on its schedule. */
export function createProvider(options: ProviderOptions) {
  const { faults, now, wait, closing } = options;
  const agent = new Agent({ connections: CONNECTIONS_MAX });
  const destinations: Destination[] = [];
  const deliveries: Delivery[] = [];
  let { secrets } = options;
  const { track, later, settled } = createTracker(options);
  const hold = createHolding(wait, closing);

  const sign = ({ event, text, ...message }: Message, at: Date) => {
    const isFault = message.forgery === undefined && faults.meetDelivery('bad-signature') !== null;
    const forgery = isFault ? 'other-secret' : message.forgery;
    const signed = [message.secrets ?? secrets, event.id, at, text] as const;
    return forgery === undefined ? signEvent(...signed) : forge(forgery, ...signed);
  };
  /** Resolves when the attempt has an outcome. After a failure, the next one follows in the background. */
  const attempt = (message: Message, number: number): Promise<void> =>
    track(async () => {
      const { event, to, forgery } = message;
      if (to.disabledAt !== null && forgery === undefined) {
        to.missed.set(event.id, event);
        return;
      }
      const at = now();
      const outcome = await post(agent, wait, to.url, sign(message, at), message.text);
      const { status } = outcome;
      const acknowledged = status !== null && status >= 200 && status < 300;
      if (acknowledged) {
        to.acknowledged += 1;
        to.missed.delete(event.id);
      }
      const delivery = { eventId: event.id, url: to.url, attempt: number, at, acknowledged, ...outcome };
      deliveries.push(delivery);
      options.delivered(delivery);
      if (acknowledged || closing.aborted || forgery !== undefined) return;
      const delay = RETRY_DELAYS_MS[number];
      if (delay !== undefined) {
        void later(delay * options.retryScale, () => attempt(message, number + 1));
        return;
      }
      to.missed.set(event.id, event);
      if (to.disabledAt === null && to.acknowledged === message.before) {
        to.disabledAt = now();
        options.endpointDisabled(to.url);
      }
    });
  const sendTo = (those: readonly Destination[], event: OutgoingEvent, how: SendOptions = {}) =>
    track(async () => {
      if (closing.aborted) return;
      const text = JSON.stringify(event.body);
      const { times = faults.meetDelivery('duplicate') ?? 1, ...signing } = how;
      const messages = those.flatMap((to) =>
        Array<Message>(times).fill({ event, text, to, ...signing, before: to.acknowledged }),
      );
      const deliver = async () => void (await Promise.all(messages.map((message) => attempt(message, 1))));
      const size = faults.meetDelivery('reorder');
      await (size === null ? deliver() : hold(size, deliver));
    });
  /** Resolves when each first attempt has an outcome; retries continue. */
  const send = (event: OutgoingEvent, how?: SendOptions) => sendTo(destinations, event, how);

  return {
    subscribe: (url: string): void => {
      destinations.push({ url, disabledAt: null, acknowledged: 0, missed: new Map() });
    },
    send,
    /** Sends after a number of milliseconds. The event counts as in progress immediately. */
    sendLater: (ms: number, event: OutgoingEvent) => later(ms, () => send(event)),
    /** Signs with these from now on, including retries. */
    signWith: (next: readonly string[]): void => {
      secrets = next;
    },
    secrets: () => secrets,
    destinations: () =>
      destinations.map(({ url, disabledAt, missed }) => ({ url, disabledAt, missed: missed.size })),
    /** Enables disabled endpoints and sends what they missed; resolves as `send` does. */
    enableEndpoints: async (): Promise<void> => {
      for (const to of destinations) {
        to.disabledAt = null;
        const missed = [...to.missed.values()];
        to.missed.clear();
        for (const event of missed) await sendTo([to], event);
      }
    },
    deliveries: () => [...deliveries],
    /** Resolves when nothing is in progress. */
    settled,
    /** Ends what is in progress, once `closing` is aborted. */
    close: async (): Promise<void> => {
      await agent.destroy();
      await settled();
    },
  };
}

function createTracker({ wait, closing, news }: Pick<ProviderOptions, 'wait' | 'closing' | 'news'>) {
  let underWay = 0;
  /** Runs work that `settled` waits for, then reports the change to `news`. Closing ends its waits. */
  const track = async (work: () => Promise<void>): Promise<void> => {
    underWay += 1;
    try {
      await work();
    } catch (error) {
      if (!closing.aborted) throw error;
    } finally {
      underWay -= 1;
      news.notify();
    }
  };
  const later = (ms: number, act: () => Promise<void>) =>
    track(async () => {
      await wait(ms, closing);
      await act();
    });
  const settled = (): Promise<void> => news.until(() => underWay === 0);
  return { track, later, settled };
}

/** Returns a function that holds deliveries until there are `size` or time is up, then makes them one by one, newest first. */
function createHolding(wait: Wait, closing: AbortSignal) {
  let held: Held | null = null;
  const startHolding = (): Held => {
    const { promise: full, resolve: release } = Promise.withResolvers<void>();
    const deliveries: Held['deliveries'] = [];
    const done = Promise.race([full, wait(HELD_AT_MOST_MS, closing)]).then(async () => {
      if (held?.deliveries === deliveries) held = null;
      for (const deliver of deliveries) await deliver();
    });
    return { deliveries, release, done };
  };
  return (size: number, deliver: () => Promise<void>): Promise<void> => {
    held ??= startHolding();
    const { deliveries: batch, release, done } = held;
    batch.unshift(deliver);
    if (batch.length >= size) {
      release();
      held = null;
    }
    return done;
  };
}

/** Sends one signed POST. Redirects are not followed: the provider treats them as failures. */
async function post(agent: Agent, wait: Wait, url: string, signed: Record<string, string>, text: string) {
  const ended = new AbortController();
  const respond = async (): Promise<number> => {
    const { statusCode, body } = await request(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...signed },
      body: text,
      dispatcher: agent,
      signal: ended.signal,
    });
    await body.dump();
    return statusCode;
  };
  const late = wait(ACKNOWLEDGED_WITHIN_MS, ended.signal).then(() => null);
  try {
    const status = await Promise.race([respond(), late]);
    return { status, reason: status === null ? 'timed out' : null };
  } catch (error) {
    return { status: null, reason: codeOf(error) || (error as Error).name };
  } finally {
    ended.abort();
  }
}
