import { Agent, request } from 'undici';
import { codeOf } from '../errors.ts';
import type { OutgoingEvent } from './events.ts';
import type { Faults } from './faults.ts';
import { type Forgery, forge, signEvent } from './sign.ts';

/** The contract's response time limit. */
export const ACKNOWLEDGED_WITHIN_MS = 15_000;

/** Many connections to one receiver, as a large provider opens. */
const CONNECTIONS_MAX = 64;

/** One attempt to deliver an event. */
export type Delivery = {
  eventId: string;
  url: string;
  /** 1 for the first attempt. */
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
  /** Null while events are sent to it. */
  disabledAt: Date | null;
  /** How many deliveries it acknowledged. */
  acknowledged: number;
  /** Events that it did not receive, by id, oldest first. */
  readonly missed: Map<string, OutgoingEvent>;
};

export type DestinationState = { url: string; disabledAt: Date | null; missed: number };

export type SendOptions = {
  /** Simultaneous deliveries of the event; more than 1 are duplicates. */
  times?: number;
  /** Signs with these instead of the provider's own secrets. */
  secrets?: readonly string[];
  /** A single, wrongly signed delivery that does not come from the provider. */
  forgery?: Forgery;
};

/** The delivery provider: signs events, posts them to every subscribed URL and retries on its schedule. */
export type Provider = {
  subscribe(url: string): void;
  /** Resolves when each first attempt has an outcome; retries continue. Never rejects. */
  send(event: OutgoingEvent, options?: SendOptions): Promise<void>;
  /** Sends after a number of milliseconds. The event counts as in progress immediately. */
  sendLater(ms: number, event: OutgoingEvent): void;
  /** Signs with these from now on, including retries. */
  signWith(secrets: readonly string[]): void;
  /** Returns the current secrets. */
  secrets(): readonly string[];
  destinations(): DestinationState[];
  /** Enables disabled endpoints and sends what they missed; resolves as `send` does. */
  enableEndpoints(): Promise<void>;
  /** Returns every attempt so far, in order of outcome. */
  deliveries(): Delivery[];
  /** Resolves when nothing is in progress. */
  settled(): Promise<void>;
  /** Cancels what is in progress. */
  close(): Promise<void>;
};

type ProviderOptions = {
  secrets: readonly string[];
  retryScale: number;
  now: () => Date;
  timer: Timer;
  faults: Faults;
  /** Called for every attempt when its outcome is known. */
  delivered: (delivery: Delivery) => void;
  /** Called when an endpoint is disabled. */
  endpointDisabled: (url: string) => void;
};

type Message = {
  event: OutgoingEvent;
  text: string;
  to: Destination;
  /** Null: the provider's own secrets at the time of the attempt. */
  secrets: readonly string[] | null;
  forgery: Forgery | null;
  /** How many deliveries the destination acknowledged before the first attempt. */
  before: number;
};

export function createProvider(options: ProviderOptions): Provider {
  const { faults, now } = options;
  const agent = new Agent({ connections: CONNECTIONS_MAX });
  const destinations: Destination[] = [];
  const deliveries: Delivery[] = [];
  const waiting = new Set<() => void>();
  const underWay = countUnderWay();
  let { secrets } = options;
  let closed = false;

  /** Delayed actions count as in progress until canceled. */
  const later = (ms: number, act: () => void): void => {
    const cancel = options.timer(ms, () => {
      waiting.delete(cancel);
      act();
    });
    waiting.add(cancel);
  };
  const reorder = createReorder((ms, act) => {
    underWay.begin();
    later(ms, () => {
      act();
      underWay.end();
    });
  });
  const sign = ({ event, text, ...message }: Message, at: Date) => {
    const fault = message.forgery === null && faults.meetDelivery('bad-signature') !== null;
    const forgery = fault ? 'other-secret' : message.forgery;
    const signed = [message.secrets ?? secrets, event.id, at, text] as const;
    return forgery === null ? signEvent(...signed) : forge(forgery, ...signed);
  };
  const attempt = async (message: Message, number: number): Promise<void> => {
    const { event, to, forgery } = message;
    if (to.disabledAt !== null && forgery === null) {
      to.missed.set(event.id, event);
      return underWay.end();
    }
    const at = now();
    const outcome = await post(agent, options.timer, to.url, sign(message, at), message.text);
    const { status } = outcome;
    const acknowledged = status !== null && status >= 200 && status < 300;
    if (acknowledged) {
      to.acknowledged += 1;
      to.missed.delete(event.id);
    }
    const delivery = { eventId: event.id, url: to.url, attempt: number, at, acknowledged, ...outcome };
    deliveries.push(delivery);
    options.delivered(delivery);
    if (acknowledged || closed || forgery !== null) return underWay.end();
    const delay = RETRY_DELAYS_MS[number];
    if (delay !== undefined)
      return later(delay * options.retryScale, () => void attempt(message, number + 1));
    to.missed.set(event.id, event);
    if (to.disabledAt === null && to.acknowledged === message.before) {
      to.disabledAt = now();
      options.endpointDisabled(to.url);
    }
    underWay.end();
  };
  const sendTo = async (those: readonly Destination[], event: OutgoingEvent, how: SendOptions = {}) => {
    if (closed) return;
    const text = JSON.stringify(event.body);
    const times = how.times ?? faults.meetDelivery('duplicate') ?? 1;
    const { secrets = null, forgery = null } = how;
    const messages = those.flatMap((to) =>
      Array<Message>(times).fill({ event, text, to, secrets, forgery, before: to.acknowledged }),
    );
    messages.forEach(underWay.begin);
    const deliver = async () => void (await Promise.all(messages.map((message) => attempt(message, 1))));
    const size = faults.meetDelivery('reorder');
    return size === null ? deliver() : reorder.hold(size, deliver);
  };
  const send: Provider['send'] = (event, how) => sendTo(destinations, event, how);

  return {
    subscribe: (url) => {
      destinations.push({ url, disabledAt: null, acknowledged: 0, missed: new Map() });
    },
    send,
    sendLater: (ms, event) => {
      if (closed) return;
      underWay.begin();
      later(ms, () => void send(event).finally(underWay.end));
    },
    signWith: (next) => {
      secrets = next;
    },
    secrets: () => secrets,
    destinations: () =>
      destinations.map(({ url, disabledAt, missed }) => ({ url, disabledAt, missed: missed.size })),
    enableEndpoints: async () => {
      for (const to of destinations) {
        to.disabledAt = null;
        const missed = [...to.missed.values()];
        to.missed.clear();
        for (const event of missed) await sendTo([to], event);
      }
    },
    deliveries: () => [...deliveries],
    settled: underWay.settled,
    close: async () => {
      closed = true;
      reorder.close();
      for (const cancel of waiting) {
        cancel();
        underWay.end();
      }
      waiting.clear();
      await agent.destroy();
    },
  };
}

/** Sends one signed POST. Redirects are not followed: the provider treats them as failures. */
async function post(agent: Agent, timer: Timer, url: string, signed: Record<string, string>, text: string) {
  const controller = new AbortController();
  const cancel = timer(ACKNOWLEDGED_WITHIN_MS, () => controller.abort());
  try {
    const { statusCode, body } = await request(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...signed },
      body: text,
      dispatcher: agent,
      signal: controller.signal,
    });
    await body.dump();
    return { status: statusCode, reason: null };
  } catch (error) {
    const reason = controller.signal.aborted ? 'timed out' : codeOf(error) || (error as Error).name;
    return { status: null, reason };
  } finally {
    cancel();
  }
}

/** Longer than a burst, and short for a user who waits for its last event. */
const HELD_AT_MOST_MS = 1_000;

type Held = { deliver: () => Promise<void>; over: () => void };

/** Holds deliveries until there are enough or time is up (`later`), then makes them one by one, newest first. */
function createReorder(later: (ms: number, act: () => void) => void) {
  let held: Held[] = [];
  const release = async (): Promise<void> => {
    const batch = held.reverse();
    held = [];
    for (const { deliver, over } of batch) {
      await deliver();
      over();
    }
  };
  return {
    /** Resolves when the delivery was made. */
    hold: (size: number, deliver: () => Promise<void>) =>
      new Promise<void>((over) => {
        held.push({ deliver, over });
        const batch = held;
        if (batch.length >= size) return void release();
        if (batch.length > 1) return;
        later(HELD_AT_MOST_MS, () => {
          if (held === batch) void release();
        });
      }),
    /** Drops held deliveries and resolves their promises. */
    close: () => {
      for (const { over } of held) over();
      held = [];
    },
  };
}

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;

/** The provider's delay before each attempt of an event, 27.5 hours in total (field notes). */
export const RETRY_DELAYS_MS: readonly number[] = [
  ...[0, 5 * SECOND_MS, 5 * MINUTE_MS, 30 * MINUTE_MS],
  ...[2 * HOUR_MS, 5 * HOUR_MS, 10 * HOUR_MS, 10 * HOUR_MS],
];

/** Turns a day of the provider into less than two minutes: the first retries follow after 5 and 300 ms. */
export const RETRY_SCALE = 0.001;

/** Counts what is in progress, and lets callers wait until nothing is. */
function countUnderWay() {
  let count = 0;
  let waiting: (() => void)[] = [];
  return {
    begin: (): void => {
      count += 1;
    },
    end: (): void => {
      count -= 1;
      if (count > 0) return;
      for (const resolve of waiting) resolve();
      waiting = [];
    },
    settled: (): Promise<void> =>
      count === 0 ? Promise.resolve() : new Promise((resolve) => waiting.push(resolve)),
  };
}

/** Runs an action once after a number of milliseconds, unless the returned function is called first. */
export type Timer = (ms: number, act: () => void) => () => void;

export const systemTimer: Timer = (ms, act) => {
  const timeout = setTimeout(act, ms);
  return () => clearTimeout(timeout);
};
