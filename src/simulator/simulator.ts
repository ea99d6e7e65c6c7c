/** A benefits service to develop against: the five endpoints, a seeded world, and signed events. */
import { CENSUS_SYNC_COMPLETE, CENSUS_SYNC_REQUEST } from '../contract/events.ts';
import { addControl } from './control.ts';
import { createEndpoints } from './endpoints.ts';
import { createEnrolments } from './enrolments.ts';
import { eventMaker, type OutgoingEvent } from './events.ts';
import { createFaults } from './faults.ts';
import { createProvider, type ProviderOptions, RETRY_SCALE } from './provider.ts';
import { seededRandom, shuffle } from './random.ts';
import type { ReceivedRequest } from './record.ts';
import { createPlaying, type Playing } from './scenarios.ts';
import type { Service } from './scene.ts';
import { createNews, systemWait } from './waiting.ts';
import { createWorkforce } from './workforce.ts';
import { DEFAULT_SEED, makeWorld } from './world.ts';

/** How long processing a census takes: the upload's response arrives first. */
const CENSUS_PROCESSING_MS = 20;

type FromProvider = Pick<ProviderOptions, 'retryScale' | 'now' | 'wait' | 'delivered' | 'endpointDisabled'>;

export type SimulatorOptions = Partial<FromProvider> & {
  apiKey: string;
  /** `whsec_…`, at least one. All of them sign every delivery, as during a rotation. */
  secrets: readonly string[];
  /** 0, the default, uses a free port. */
  port?: number;
  seed?: number;
  employerIds?: readonly string[];
  employeesEach?: number;
  /** Faults from the start. */
  faults?: readonly string[];
  /** Called for every request before its response is sent. */
  received?: (request: ReceivedRequest) => void;
  /** Called with the messages of scenarios that the control endpoint started. */
  messaged?: (text: string) => void;
};

export type Simulator = Service & { url: string; playScenario: Playing['play']; close(): Promise<void> };

/** Starts listening on 127.0.0.1. Rejects if the port is in use. The caller closes it. */
export async function startSimulator(options: SimulatorOptions): Promise<Simulator> {
  const {
    seed = DEFAULT_SEED,
    now = () => new Date(),
    wait = systemWait,
    retryScale = RETRY_SCALE,
  } = options;
  const {
    received = () => {},
    delivered = () => {},
    endpointDisabled = () => {},
    messaged = () => {},
  } = options;
  const world = makeWorld(seed, options.employerIds, options.employeesEach);
  const workforce = createWorkforce(world);
  const random = seededRandom(seed, 'shuffles');
  const makeEvent = eventMaker(seed, now);
  const faults = createFaults(options.faults);
  const requests: ReceivedRequest[] = [];
  const news = createNews();
  const closing = new AbortController();
  const during = { now, wait, closing: closing.signal, faults };
  let { apiKey } = options;
  const sent = { secrets: options.secrets, retryScale, delivered, endpointDisabled };
  const provider = createProvider({ ...sent, ...during, news });
  const { app, resetHanging } = createEndpoints({
    ...{ apiKey: () => apiKey, workforce, ...during },
    received: (request) => {
      // Only the newest census of each path keeps its body.
      const isCensus = request.path.endsWith('/census');
      const older = isCensus ? requests.findLast(({ path }) => path === request.path) : undefined;
      if (older !== undefined) older.body = null;
      requests.push(request);
      received(request);
      news.notify();
    },
    censusAccepted: (employerId) => {
      const event = makeEvent(CENSUS_SYNC_COMPLETE, { employer_id: employerId });
      void provider.sendLater(CENSUS_PROCESSING_MS, event);
    },
  });

  const { sendLater: _, close, ...sending } = provider;
  const service: Service = {
    ...createEnrolments({ seed, now, makeEvent }, workforce),
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
    requests: () => [...requests],
    employeesOf: workforce.employeesOf,
    setFaults: (texts) => {
      faults.set(texts);
      resetHanging();
    },
    faults: faults.states,
    setApiKey: (next) => {
      apiKey = next;
    },
  };
  const playing = createPlaying({ ...service, now, until: news.until }, [seed, now().getTime()]);
  addControl(app, service, playing, messaged);

  return {
    ...service,
    playScenario: playing.play,
    url: await app.listen({ host: '127.0.0.1', port: options.port ?? 0 }),
    close: async () => {
      closing.abort();
      await close();
      news.close();
      await app.close();
    },
  };
}
