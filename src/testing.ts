/** `benefits-sidecar/testing`: the other side, for users' own tests: signed events, fixtures, a benefits service. */
import { randomBytes } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { type Fixture, loadFixtures as load } from './simulator/events.ts';
import {
  startSimulator as start,
  type Simulator as Whole,
  type SimulatorOptions as WholeOptions,
} from './simulator/simulator.ts';

export type { Becomes, Fixture, MadeEvent, OutgoingEvent } from './simulator/events.ts';
export type { Delivery, SendOptions } from './simulator/provider.ts';
export type { ReceivedRequest } from './simulator/record.ts';
export { type SignedHeaders, signEvent } from './simulator/sign.ts';

/** The package's own fixtures, found from both `dist` and `src`. */
const SHIPPED = fileURLToPath(new URL('../fixtures', import.meta.url));
const SECRET_BYTES = 32;

/** `apiKey` and `secrets` are new ones if omitted. The same `seed` gives the same employees, enrollments and ids. */
export type SimulatorOptions = Readonly<
  Partial<Pick<WholeOptions, 'apiKey' | 'secrets' | 'seed' | 'employerIds' | 'employeesEach'>>
>;

/** What tests use of a benefits service. It listens on a free port of 127.0.0.1. */
type Tested =
  | 'url'
  | 'world'
  | 'subscribe'
  | 'send'
  | 'requestCensus'
  | 'enrol'
  | 'changeDeduction'
  | 'endDeduction'
  | 'deductions'
  | 'requests'
  | 'deliveries'
  | 'setFaults'
  | 'settled'
  | 'close';

/** `url` is for BENEFITS_BASE_URL, `apiKey` for BENEFITS_API_KEY and `secrets` for WEBHOOK_SECRETS. */
export type Simulator = Pick<Whole, Tested> & {
  readonly apiKey: string;
  readonly secrets: readonly string[];
};

/** Starts a benefits service to test against. The caller closes it. */
export async function startSimulator(options: SimulatorOptions = {}): Promise<Simulator> {
  const { apiKey = random('base64url'), secrets = [`whsec_${random('base64')}`], ...rest } = options;
  return Object.assign(await start({ ...rest, apiKey, secrets }), { apiKey, secrets });
}

/**
 * Returns the fixtures of this package in order of arrival, or those of a file or folder in the format of
 * fixtures/README.md. Throws, naming the path, if one cannot be read or is not an event.
 */
export function loadFixtures(path: string = SHIPPED): Fixture[] {
  return load(path);
}

function random(encoding: 'base64' | 'base64url'): string {
  return randomBytes(SECRET_BYTES).toString(encoding);
}
