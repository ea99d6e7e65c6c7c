import { Agent, request } from 'undici';
import type { OutgoingEvent } from './events.ts';
import { delayAfter } from './schedule.ts';
import { signEvent } from './sign.ts';
import type { Timer } from './timer.ts';

/** The interface's limit for an answer. */
export const ACKNOWLEDGED_WITHIN_MS = 15_000;

/** Connections to one receiver: many, as from a provider that serves everybody at once. */
const CONNECTIONS_MAX = 64;

/** One attempt to deliver an event. */
export type Delivery = {
  eventId: string;
  url: string;
  /** 1 for the first. */
  attempt: number;
  at: Date;
  /** Whether it was acknowledged: answered with 2xx in time. */
  acknowledged: boolean;
  /** null when there was no answer; `reason` then says why. */
  status: number | null;
  reason: string | null;
};

export type SendOptions = {
  /** Deliveries of the same event at once; more than 1 makes duplicates. */
  times?: number;
  /** Other secrets than the simulator's own to sign with. */
  secrets?: readonly string[];
};

/** The delivery provider: signs events, posts them to every subscribed URL and retries on its schedule. */
export type Provider = {
  subscribe(url: string): void;
  /** Resolves when each first attempt has its outcome, good or bad; retries go on behind. Never rejects. */
  send(event: OutgoingEvent, options?: SendOptions): Promise<void>;
  /** Sends after a number of milliseconds; the event counts as under way at once. */
  sendLater(ms: number, event: OutgoingEvent): void;
  /** Every attempt so far, in order of its outcome. */
  deliveries(): Delivery[];
  /** Resolves when nothing is under way: every event was acknowledged, given up after the last attempt, or closed. */
  settled(): Promise<void>;
  /** Gives up what is under way. */
  close(): Promise<void>;
};

export type ProviderOptions = {
  secrets: readonly string[];
  retryScale: number;
  now: () => Date;
  timer: Timer;
  /** Called for every attempt when its outcome is known. */
  delivered: (delivery: Delivery) => void;
};

type Message = { id: string; text: string; url: string; secrets: readonly string[] };
type Outcome = Pick<Delivery, 'status' | 'reason'>;

export function createProvider(options: ProviderOptions): Provider {
  const agent = new Agent({ connections: CONNECTIONS_MAX });
  const urls: string[] = [];
  const deliveries: Delivery[] = [];
  const waiting = new Set<() => void>();
  const underWay = countUnderWay();
  let closed = false;

  /** What waits here is under way, and ends when it is cancelled. */
  const later = (ms: number, act: () => void): void => {
    const cancel = options.timer(ms, () => {
      waiting.delete(cancel);
      act();
    });
    waiting.add(cancel);
  };
  const attempt = async (message: Message, number: number): Promise<void> => {
    const at = options.now();
    const outcome = await post(agent, options.timer, message, at);
    const { status } = outcome;
    const acknowledged = status !== null && status >= 200 && status < 300;
    const delivery = { eventId: message.id, url: message.url, attempt: number, at, acknowledged, ...outcome };
    deliveries.push(delivery);
    options.delivered(delivery);
    const delay = acknowledged || closed ? null : delayAfter(number, options.retryScale);
    if (delay === null) return underWay.end();
    later(delay, () => void attempt(message, number + 1));
  };
  const send: Provider['send'] = async (event, { times = 1, secrets = options.secrets } = {}) => {
    if (closed) return;
    const text = JSON.stringify(event.body);
    const messages = urls.flatMap((url) => Array<Message>(times).fill({ id: event.id, text, url, secrets }));
    messages.forEach(underWay.begin);
    await Promise.all(messages.map((message) => attempt(message, 1)));
  };

  return {
    subscribe: (url) => {
      urls.push(url);
    },
    send,
    sendLater: (ms, event) => {
      if (closed) return;
      underWay.begin();
      later(ms, () => void send(event).finally(underWay.end));
    },
    deliveries: () => [...deliveries],
    settled: underWay.settled,
    close: async () => {
      closed = true;
      for (const cancel of waiting) {
        cancel();
        underWay.end();
      }
      waiting.clear();
      await agent.destroy();
    },
  };
}

/** One signed POST. Redirects are not followed: to the provider they are failures. */
async function post(agent: Agent, timer: Timer, message: Message, at: Date): Promise<Outcome> {
  const controller = new AbortController();
  const cancel = timer(ACKNOWLEDGED_WITHIN_MS, () => controller.abort());
  try {
    const { statusCode, body } = await request(message.url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        ...signEvent(message.secrets, message.id, at, message.text),
      },
      body: message.text,
      dispatcher: agent,
      signal: controller.signal,
    });
    await body.dump();
    return { status: statusCode, reason: null };
  } catch (error) {
    return { status: null, reason: controller.signal.aborted ? 'no answer in time' : reasonOf(error) };
  } finally {
    cancel();
  }
}

function reasonOf(error: unknown): string {
  return (error as { code?: string }).code ?? (error as Error).name;
}

/** Counts what is under way, and lets callers wait until nothing is. */
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
