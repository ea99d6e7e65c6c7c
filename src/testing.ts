/** `benefits-sidecar/testing`: the other side, for users' own tests: signed events, fixtures, a benefits service. */
import { randomBytes, randomUUID } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { Webhook } from 'svix';
import type { DataOf, Notification, NotificationOf, NotificationType } from './notifications/types.ts';
import { NOTIFICATION_TYPES, notificationOf } from './notifications/types.ts';
import { type NotificationHeaders, signedHeaders } from './notifications/webhook.ts';
import { type Fixture, loadFixtures as load } from './simulator/events.ts';
import { startSimulator as start, type Simulator as Whole } from './simulator/simulator.ts';

export type { Notification, NotificationOf, NotificationType } from './notifications/types.ts';
export type { NotificationHeaders } from './notifications/webhook.ts';
export type { Becomes, Fixture, MadeEvent, OutgoingEvent } from './simulator/events.ts';
export type { Delivery, SendOptions } from './simulator/provider.ts';
export type { ReceivedRequest } from './simulator/record.ts';
export { type SignedHeaders, signEvent } from './simulator/sign.ts';

/** The package's own fixtures, found from both `dist` and `src`. */
const SHIPPED = fileURLToPath(new URL('../fixtures', import.meta.url));
/** The length of the provider's secrets. */
const SECRET_BYTES = 32;

export type SimulatorOptions = {
  /** The bearer token that requests must have. A new one if omitted. */
  readonly apiKey?: string;
  /** `whsec_…`, at least one; all of them sign every delivery. A new one when none is given. */
  readonly secrets?: readonly string[];
  /** Decides the employees, enrollments and ids: the same seed gives the same world. */
  readonly seed?: number;
  readonly employerIds?: readonly string[];
  readonly employeesEach?: number;
};

/** A benefits service that listens on a free port of 127.0.0.1. */
export type Simulator = Pick<
  Whole,
  /** Its base address, for BENEFITS_BASE_URL. */
  | 'url'
  /** The censuses of its employers, by employer id, as their payroll systems would upload them. */
  | 'world'
  /** Delivers every event to this address from now on. */
  | 'subscribe'
  /** Sends an event. Resolves when its first attempt has finished. An unacknowledged event is sent again. */
  | 'send'
  /** Requests an employer's census, as `send` does. */
  | 'requestCensus'
  /** Create events for `send`: an employee enrolls, a deduction changes or ends. */
  | 'enrol'
  | 'changeDeduction'
  | 'endDeduction'
  /** The latest state of every deduction: what the ledger must show in the end. */
  | 'deductions'
  /** The requests received, in order of their responses. */
  | 'requests'
  /** Every attempt to deliver an event. */
  | 'deliveries'
  /** The faults from now on, replacing earlier ones. docs/testing.md#the-simulator lists them. */
  | 'setFaults'
  /** Resolves when every event was acknowledged or has failed its last attempt. */
  | 'settled'
  | 'close'
> & {
  /** For BENEFITS_API_KEY. */
  readonly apiKey: string;
  /** For WEBHOOK_SECRETS. */
  readonly secrets: readonly string[];
};

/** Starts a benefits service to test against. The caller closes it. */
export async function startSimulator(options: SimulatorOptions = {}): Promise<Simulator> {
  const { apiKey = random('base64url'), secrets = [`whsec_${random('base64')}`], ...rest } = options;
  return Object.assign(await start({ ...rest, apiKey, secrets }), { apiKey, secrets });
}

/**
 * Returns the fixtures of this package in order of arrival, or the fixtures in a file or folder in the format of
 * fixtures/README.md. Throws, naming the path, if one cannot be read or is not an event.
 */
export function loadFixtures(path: string = SHIPPED): Fixture[] {
  return load(path);
}

/**
 * Returns a request as the sidecar sends it to `NOTIFY_URL`: send `body` with `headers`. Several secrets (`whsec_…`) all sign. `id` and
 * `at` are new ones if omitted. Throws for an unknown type.
 */
export function makeNotification<T extends NotificationType>(
  secrets: string | readonly string[],
  type: T,
  data: DataOf<T>,
  { id = randomUUID(), at = new Date() }: { id?: string; at?: Date } = {},
): { headers: NotificationHeaders; body: string; notification: NotificationOf<T> } {
  if (!NOTIFICATION_TYPES.includes(type))
    throw new Error(`"${type}" is not a notification type. Use one of ${NOTIFICATION_TYPES.join(', ')}.`);
  const notification = notificationOf(type, data, at.toISOString());
  const body = JSON.stringify(notification);
  return { headers: signedHeaders([secrets].flat(), id, at, body), body, notification };
}

/**
 * Returns a notification that the sidecar sent, from its headers (Node's or of a Fetch API request) and the exact text of its
 * body. Throws if no secret signed it, or if it is more than 5 minutes old.
 */
export function verifyNotification(
  secrets: string | readonly string[],
  headers: Headers | Readonly<Record<string, string | string[] | undefined>>,
  body: string,
): Notification {
  const entries = headers instanceof Headers ? [...headers] : Object.entries(headers);
  const named = Object.fromEntries(entries.map(([name, value]) => [name, String(value)]));
  const [secret, ...others] = [secrets].flat();
  if (secret === undefined) throw new Error('verifyNotification needs a secret');
  try {
    new Webhook(secret).verify(body, named);
    return JSON.parse(body) as Notification;
  } catch (error) {
    if (others.length === 0) throw error;
    return verifyNotification(others, headers, body);
  }
}

function random(encoding: 'base64' | 'base64url'): string {
  return randomBytes(SECRET_BYTES).toString(encoding);
}
