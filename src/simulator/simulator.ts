/** A benefits service to develop against: the five endpoints, a seeded world, and signed events that it delivers. */
import { CENSUS_SYNC_COMPLETE, CENSUS_SYNC_REQUEST } from '../contract/events.ts';
import { addControl } from './control.ts';
import { createAnswering, createEndpoints } from './endpoints.ts';
import { createEnrolments, type Enrolments } from './enrolments.ts';
import { eventMaker, type MadeEvent, type OutgoingEvent } from './events.ts';
import { createFaults, type FaultState } from './faults.ts';
import {
  createProvider,
  type Delivery,
  type Provider,
  RETRY_SCALE,
  systemTimer,
  type Timer,
} from './provider.ts';
import { seededRandom, shuffle } from './random.ts';
import { createRecord, type ReceivedRequest } from './record.ts';
import { createPlaying, type ScenarioName } from './scenarios.ts';
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
  /** What it does wrong from the start: `NAME[=VALUE][:COUNT][@ID]`, see faults.ts. */
  faults?: readonly string[];
  now?: () => Date;
  timer?: Timer;
  /** Called for every request once it is decided, before its answer goes out. */
  received?: (request: ReceivedRequest) => void;
  /** Called for every attempt to deliver an event, when its outcome is known. */
  delivered?: (delivery: Delivery) => void;
  /** Called when the provider disables an endpoint: nothing is sent to it until `enableEndpoints`. */
  endpointDisabled?: (url: string) => void;
  /** What a scenario says that the control endpoint began; without it, only the endpoint shows it. */
  said?: (text: string) => void;
};

export type Simulator = Enrolments &
  Omit<Provider, 'sendLater'> & {
    /** The base address, such as `http://127.0.0.1:41234`. */
    url: string;
    world: World;
    /** Asks for an employer's census; resolves as `send` does. */
    requestCensus(employerId: string): Promise<MadeEvent>;
    /** Sends in an order that the seed decides, one after the other, each event 1 + `duplicates` times. */
    deliverShuffled(events: readonly OutgoingEvent[], options?: { duplicates?: number }): Promise<void>;
    /** What was received, in the order in which it was decided. */
    requests(): ReceivedRequest[];
    /** The employees that censuses and employment changes told of, by employee id. */
    employeesOf(employerId: string): ReadonlyMap<string, KnownEmployee>;
    /** Takes back all faults and sets these; what hangs is reset. Throws `FaultRefused` for text that is none. */
    setFaults(texts: readonly string[]): void;
    faults(): FaultState[];
    /** The API key that is right from now on. */
    setApiKey(apiKey: string): void;
    /**
     * Plays a scenario from beginning to end, and says what happens, a line each. Rejects when the simulator is closed
     * meanwhile, or another scenario is being played.
     */
    playScenario(name: ScenarioName, say: (text: string) => void): Promise<void>;
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
  const { delivered = () => {}, endpointDisabled = () => {} } = options;
  const faults = createFaults(options.faults);
  const answering = createAnswering(timer);
  const news = createNews();
  let { apiKey } = options;
  const provider = createProvider({
    secrets: options.secrets,
    ...{ retryScale, now, timer, faults },
    delivered: (delivery) => {
      delivered(delivery);
      news.tell();
    },
    endpointDisabled: (url) => {
      endpointDisabled(url);
      news.tell();
    },
  });
  const app = createEndpoints({
    apiKey: () => apiKey,
    ...{ now, workforce, faults, answering },
    received: (request) => {
      record.add(request);
      options.received?.(request);
      news.tell();
    },
    censusAccepted: (employerId) => {
      provider.sendLater(CENSUS_PROCESSING_MS, makeEvent(CENSUS_SYNC_COMPLETE, { employer_id: employerId }));
    },
  });

  const { sendLater: _, ...sending } = provider;
  const simulated = {
    ...enrolments,
    ...sending,
    world,
    requestCensus: async (employerId: string): Promise<MadeEvent> => {
      const event = makeEvent(CENSUS_SYNC_REQUEST, { employer_id: employerId });
      await provider.send(event);
      return event;
    },
    deliverShuffled: async (
      events: readonly OutgoingEvent[],
      { duplicates = 0 }: { duplicates?: number } = {},
    ): Promise<void> => {
      const copies = events.flatMap((event) => Array<OutgoingEvent>(1 + duplicates).fill(event));
      for (const event of shuffle(random, copies)) await provider.send(event);
    },
    requests: record.requests,
    employeesOf: workforce.employeesOf,
    setFaults: (texts: readonly string[]): void => {
      faults.set(texts);
      answering.resetHanging();
    },
    faults: faults.states,
    setApiKey: (next: string): void => {
      apiKey = next;
    },
  };

  const playing = createPlaying({ ...simulated, now, until: news.until }, [seed, now().getTime()]);
  addControl(app, {
    ...simulated,
    state: () => ({
      faults: faults.states(),
      endpoints: provider.destinations(),
      scenario: playing.state(),
      requests: record.requests(),
      deliveries: provider.deliveries(),
    }),
    hinders: playing.hinders,
    beginScenario: (name) => {
      // Its state says how it ended.
      void playing.play(name, options.said ?? (() => {})).catch(() => {});
    },
  });

  return {
    ...simulated,
    playScenario: playing.play,
    url: await app.listen({ host, port }),
    close: async () => {
      news.close();
      answering.close();
      await provider.close();
      await app.close();
    },
  };
}

/** Lets callers wait until something holds that requests and deliveries bring about. */
export function createNews() {
  type Waiting = { holds: () => boolean; resolve: () => void; reject: (error: Error) => void };
  let waiting: Waiting[] = [];
  let closed = false;
  return {
    /** Something came or went: whoever waits looks again. */
    tell: (): void => {
      const held = waiting.filter(({ holds }) => holds());
      waiting = waiting.filter((one) => !held.includes(one));
      for (const { resolve } of held) resolve();
    },
    /** Resolves at once when it holds already. Rejects when it is closed before. */
    until: (holds: () => boolean): Promise<void> => {
      if (closed) return Promise.reject(new Error('the simulator is closed'));
      if (holds()) return Promise.resolve();
      return new Promise((resolve, reject) => {
        waiting.push({ holds, resolve, reject });
      });
    },
    close: (): void => {
      closed = true;
      for (const { reject } of waiting) reject(new Error('the simulator is closed'));
      waiting = [];
    },
  };
}
