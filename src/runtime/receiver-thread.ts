/** The receiving side: the public listener, what it verifies and counts. On SQLite it has a thread of its own. */
import { systemClock } from '../clock.ts';
import type { Config } from '../config.ts';
import type { Arrival } from '../inbox/inbox.ts';
import { createReceiver, UNREADABLE } from '../inbox/receiver.ts';
import { createVerify, REFUSAL_CAUSES, type RefusalCause } from '../inbox/signature.ts';
import { addressOf, closeListener } from '../security/listener.ts';
import { tellSeldom } from '../telemetry/rate-limited-log.ts';
import { createReceivingCounts, type Received } from '../telemetry/receiver-counts.ts';
import type { ThreadCounts } from '../telemetry/thread-counts.ts';

/** What it needs of the configuration: it sees no key and no token. */
export type ReceivingConfig = Pick<Config, 'receiver' | 'webhookSecrets'>;

/** What stands behind it. */
export type Behind = {
  /** Resolves when the event is on the disk; throws when it is not. */
  accept: (arrival: Arrival) => Promise<void>;
  refused: (cause: RefusalCause) => void;
  /** Connections were dropped because the listener is full. Called at most once a second. */
  dropped: (count: number) => void;
  /** Whether the thread that stores still answers. */
  isAlive: () => Promise<boolean>;
  /** Whether this process can commit now. */
  isReady: () => Promise<boolean>;
};

export type ReceivingCounted = {
  received: Received;
  /** Of its thread, by name; none where it has none of its own. */
  threads: Readonly<Record<string, ThreadCounts>>;
};

export type ReceivingSide = {
  /** Where the public listener listens. */
  readonly address: string;
  counted(): Promise<ReceivingCounted>;
  /** Takes no more connections and answers what is in flight. May be called again. */
  stop(): Promise<void>;
};

/** Starts it on the thread that calls. Rejects when the port is taken. */
export async function startReceivingSide(config: ReceivingConfig, behind: Behind): Promise<ReceivingSide> {
  const counts = createReceivingCounts(systemClock, [...REFUSAL_CAUSES, UNREADABLE]);
  const tellDropped = tellSeldom(({ count }) => behind.dropped(count));
  const receiver = createReceiver({
    verify: createVerify(config.webhookSecrets, systemClock),
    accept: behind.accept,
    refuse(cause) {
      counts.refused(cause);
      behind.refused(cause);
    },
    counts,
    dropped: () => tellDropped({ code: '', count: 1 }),
    isAlive: behind.isAlive,
    isReady: behind.isReady,
  });
  await receiver.listen({ ...config.receiver });
  return {
    address: addressOf(receiver),
    counted: async () => ({ received: counts.read(), threads: {} }),
    stop: () => closeListener(receiver),
  };
}
