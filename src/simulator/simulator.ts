/** A benefits service to develop against: the five endpoints, a seeded world, and signed events. */
import { CENSUS_SYNC_COMPLETE, CENSUS_SYNC_REQUEST } from '../contract/events.ts';
import { addControl } from './control.ts';
import { createAnswering, createEndpoints } from './endpoints.ts';
import { createEnrolments } from './enrolments.ts';
import { eventMaker, type OutgoingEvent } from './events.ts';
import { createFaults } from './faults.ts';
import { createProvider, type Delivery, RETRY_SCALE, systemTimer, type Timer } from './provider.ts';
import { seededRandom, shuffle } from './random.ts';
import { createRecord, type ReceivedRequest } from './record.ts';
import { createPlaying, type Playing } from './scenarios.ts';
import type { Service } from './scene.ts';
import { createWorkforce } from './workforce.ts';
import { DEFAULT_SEED, makeWorld } from './world.ts';

/** How long processing a census takes: the upload's response arrives first. */
const CENSUS_PROCESSING_MS = 20;

export type SimulatorOptions = {
  /** The bearer token that requests must carry. */
  apiKey: string;
  /** `whsec_…`, at least one. All of them sign every delivery, as during a rotation. */
  secrets: readonly string[];
  host?: string;
  /** 0, the default, uses a free port. */
  port?: number;
  /** Decides the world, the enrollments, the ids and every shuffle. */
  seed?: number;
  employerIds?: readonly string[];
  employeesEach?: number;
  /** Scales the provider's retry delays; 1 takes 27.5 hours. */
  retryScale?: number;
  /** Faults from the start: `NAME[=VALUE][:COUNT][@ID]`, see faults.ts. */
  faults?: readonly string[];
  now?: () => Date;
  timer?: Timer;
  /** Called for every request before its response is sent. */
  received?: (request: ReceivedRequest) => void;
  /** Called for every delivery attempt when its outcome is known. */
  delivered?: (delivery: Delivery) => void;
  /** Called when the provider disables an endpoint, until `enableEndpoints`. */
  endpointDisabled?: (url: string) => void;
  /** Called with the messages of scenarios that the control endpoint started. */
  said?: (text: string) => void;
};

export type Simulator = Service & {
  /** The base address, such as `http://127.0.0.1:41234`. */
  url: string;
  /** Plays a scenario to its end and reports what happens. Rejects as `Playing` does. */
  playScenario: Playing['play'];
  close(): Promise<void>;
};

/** Starts listening, by default on 127.0.0.1. Rejects if the address is in use. The caller closes it. */
export async function startSimulator(options: SimulatorOptions): Promise<Simulator> {
  const { seed = DEFAULT_SEED, now = () => new Date(), timer = systemTimer } = options;
  const { host = '127.0.0.1', port = 0, retryScale = RETRY_SCALE } = options;
  const world = makeWorld(seed, options.employerIds, options.employeesEach);
  const workforce = createWorkforce(world);
  const record = createRecord();
  const random = seededRandom(seed, 'shuffles');
  const makeEvent = eventMaker(seed, now);
  const enrolments = createEnrolments({ seed, now, makeEvent }, workforce.payFrequencyOf);
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
      news.notify();
    },
    endpointDisabled: (url) => {
      endpointDisabled(url);
      news.notify();
    },
  });
  const app = createEndpoints({
    apiKey: () => apiKey,
    ...{ now, workforce, faults, answering },
    received: (request) => {
      record.add(request);
      options.received?.(request);
      news.notify();
    },
    censusAccepted: (employerId) => {
      provider.sendLater(CENSUS_PROCESSING_MS, makeEvent(CENSUS_SYNC_COMPLETE, { employer_id: employerId }));
    },
  });

  const { sendLater: _, close, ...sending } = provider;
  const simulated: Service = {
    ...enrolments,
    ...sending,
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
    setFaults: (texts) => {
      faults.set(texts);
      answering.resetHanging();
    },
    faults: faults.states,
    setApiKey: (next) => {
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
      // The outcome is part of its state.
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
      await close();
      await app.close();
    },
  };
}

/** Lets callers wait for a condition that requests and deliveries change. */
function createNews() {
  type Waiting = { holds: () => boolean; resolve: () => void; reject: (error: Error) => void };
  let waiting: Waiting[] = [];
  let closed = false;
  return {
    /** Checks the conditions of all callers that wait. */
    notify: (): void => {
      const held = waiting.filter(({ holds }) => holds());
      waiting = waiting.filter((one) => !held.includes(one));
      for (const { resolve } of held) resolve();
    },
    /** Resolves immediately if the condition holds. Rejects when closed first. */
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
