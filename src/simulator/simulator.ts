/** A benefits service to develop against: the five endpoints, a seeded world, and signed events that it delivers. */
import { CENSUS_SYNC_COMPLETE, CENSUS_SYNC_REQUEST } from '../contract/events.ts';
import { createEndpoints } from './endpoints.ts';
import { createEnrolments, type Enrolments } from './enrolments.ts';
import { eventMaker, type MadeEvent, type OutgoingEvent } from './events.ts';
import { createProvider, type Delivery, type Provider } from './provider.ts';
import { seededRandom, shuffle } from './random.ts';
import { createRecord, type ReceivedRequest } from './record.ts';
import { RETRY_SCALE } from './schedule.ts';
import { systemTimer, type Timer } from './timer.ts';
import { createWorkforce, type KnownEmployee } from './workforce.ts';
import { DEFAULT_SEED, makeWorld, type World } from './world.ts';

/** How long a census is worked on before its sync is complete: a moment, so that the upload's answer comes first. */
const CENSUS_PROCESSING_MS = 20;

export type SimulatorOptions = {
  /** What requests must carry as their bearer token. */
  apiKey: string;
  /** `whsec_…`, at least one; all of them sign every delivery, as during a rotation. */
  secrets: readonly string[];
  host?: string;
  /** 0, the default, takes a free one. */
  port?: number;
  /** Decides the world, the enrolments, the ids and every shuffle. */
  seed?: number;
  employerIds?: readonly string[];
  employeesEach?: number;
  /** What the provider's retry delays are multiplied by; 1 takes 27.5 hours. */
  retryScale?: number;
  now?: () => Date;
  timer?: Timer;
  /** Called for every request just before its answer goes out. */
  received?: (request: ReceivedRequest) => void;
  /** Called for every attempt to deliver an event, when its outcome is known. */
  delivered?: (delivery: Delivery) => void;
};

export type Simulator = Enrolments &
  Pick<Provider, 'subscribe' | 'send' | 'deliveries' | 'settled' | 'close'> & {
    /** The base address, such as `http://127.0.0.1:41234`. */
    url: string;
    world: World;
    /** Asks for an employer's census; resolves as `send` does. */
    requestCensus(employerId: string): Promise<MadeEvent>;
    /** Sends in an order that the seed decides, one after the other, each event 1 + `duplicates` times. */
    deliverShuffled(events: readonly OutgoingEvent[], options?: { duplicates?: number }): Promise<void>;
    /** What was received, in order of the answers. */
    requests(): ReceivedRequest[];
    /** The employees that censuses and employment changes told of, by employee id. */
    employeesOf(employerId: string): ReadonlyMap<string, KnownEmployee>;
  };

/**
 * Starts listening, on 127.0.0.1 unless told otherwise. After an accepted census it sends
 * `employee-census.sync-complete` by itself. Rejects when the address is taken. The caller closes it.
 */
export async function startSimulator(options: SimulatorOptions): Promise<Simulator> {
  const { seed = DEFAULT_SEED, now = () => new Date(), timer = systemTimer } = options;
  const { host = '127.0.0.1', port = 0, retryScale = RETRY_SCALE } = options;
  const world = makeWorld(seed, options.employerIds, options.employeesEach);
  const workforce = createWorkforce(world);
  const record = createRecord();
  const random = seededRandom(seed, 'shuffles');
  const makeEvent = eventMaker(seed, now);
  const enrolments = createEnrolments({ seed, now, makeEvent, payFrequencyOf: workforce.payFrequencyOf });
  const { secrets, delivered = () => {} } = options;
  const provider = createProvider({ secrets, retryScale, now, timer, delivered });
  const app = createEndpoints({
    apiKey: options.apiKey,
    now,
    workforce,
    received: (request) => {
      record.add(request);
      options.received?.(request);
    },
    censusAccepted: (employerId) => {
      provider.sendLater(CENSUS_PROCESSING_MS, makeEvent(CENSUS_SYNC_COMPLETE, { employer_id: employerId }));
    },
  });

  return {
    ...enrolments,
    subscribe: provider.subscribe,
    send: provider.send,
    deliveries: provider.deliveries,
    settled: provider.settled,
    url: await app.listen({ host, port }),
    world,
    requestCensus: async (employerId) => {
      const event = makeEvent(CENSUS_SYNC_REQUEST, { employer_id: employerId });
      await provider.send(event);
      return event;
    },
    deliverShuffled: async (events, { duplicates = 0 } = {}) => {
      const copies = events.flatMap((event) => Array<OutgoingEvent>(1 + duplicates).fill(event));
      for (const event of shuffle(random, copies)) await provider.send(event);
    },
    requests: record.requests,
    employeesOf: workforce.employeesOf,
    close: async () => {
      await provider.close();
      await app.close();
    },
  };
}
