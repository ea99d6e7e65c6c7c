/**
 * "At once": as many events as a server accepts over a number of connections, until the last one is applied.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Contender, Running } from './contenders.ts';
import { prepareEvents } from './events.ts';
import { closedLoop } from './load.ts';

export const CONNECTIONS = 64;
/** The first events compile the server's code: with 3,000, all servers were still getting faster. */
export const WARM_UP_EVENTS = 10_000;
/** The interval of the backlog queries, which cost the database little. */
const LOOK_MS = { loaded: 500, draining: 25, nearlyDrained: 5 };
const FEW_EVENTS = 200;

export type Measured = {
  acknowledgedPerSecond: number;
  /** Until the last event was applied. */
  appliedPerSecond: number;
  p50: number;
  p99: number;
  drainMs: number;
  mostWaiting: number;
  peakMiB: number;
};

/** The results of each contender, in order of the rounds. */
export type Rounds = ReadonlyMap<Contender, readonly Measured[]>;

/**
 * In each round every contender gets the same requests, and the order rotates, so that drift affects all
 * equally.
 */
export async function measureAtOnce(contenders: readonly Contender[], rounds: number): Promise<Rounds> {
  const measured = new Map<Contender, Measured[]>(contenders.map((contender) => [contender, []]));
  const mostEvents = Math.max(...contenders.map((contender) => contender.events));
  for (let round = 0; round < rounds; round += 1) {
    const first = round % contenders.length;
    const requests = prepareEvents(WARM_UP_EVENTS + mostEvents);
    for (const contender of [...contenders.slice(first), ...contenders.slice(0, first)]) {
      const one = await measureContender(contender, requests.slice(0, WARM_UP_EVENTS + contender.events));
      measured.get(contender)?.push(one);
      process.stderr.write(
        `round ${round + 1}, ${contender.name}: ${one.acknowledgedPerSecond.toFixed(0)}/s acknowledged, ${one.appliedPerSecond.toFixed(0)}/s applied\n`,
      );
    }
  }
  return measured;
}

async function measureContender(contender: Contender, requests: readonly Buffer[]): Promise<Measured> {
  const running = await contender.start();
  try {
    return await measureRunning(running, requests);
  } finally {
    await running.stop();
  }
}

/** The first requests warm up. Throws if an event was rejected or is missing at the end. */
export async function measureRunning(running: Running, requests: readonly Buffer[]): Promise<Measured> {
  const before = (await running.applied()) ?? 0;
  await closedLoop(running.ports, requests.slice(0, WARM_UP_EVENTS), CONNECTIONS).done;
  await drained(running, before + WARM_UP_EVENTS);
  const events = requests.slice(WARM_UP_EVENTS);
  const began = performance.now();
  const load = closedLoop(running.ports, events, CONNECTIONS);
  let mostWaiting = 0;
  const look = async (): Promise<void> => {
    const waiting = await running.waiting(before + WARM_UP_EVENTS + load.answered());
    mostWaiting = Math.max(mostWaiting, waiting);
  };
  const looks = setInterval(look, LOOK_MS.loaded);
  const { refused, perSecond, p50, p99 } = await load.done.finally(() => clearInterval(looks));
  const acknowledgedMs = performance.now() - began;
  await drained(running, before + requests.length);
  const appliedMs = performance.now() - began;
  if (refused > 0) throw new Error(`${refused} events were rejected`);
  const applied = await running.applied();
  if (applied !== null && applied !== before + requests.length) {
    throw new Error(`${applied - before} of ${requests.length} events were applied`);
  }
  return {
    acknowledgedPerSecond: perSecond,
    appliedPerSecond: (events.length * 1_000) / appliedMs,
    p50,
    p99,
    drainMs: appliedMs - acknowledgedMs,
    mostWaiting,
    peakMiB: running.peakMiB(),
  };
}

async function drained(running: Running, acknowledged: number): Promise<void> {
  for (;;) {
    const waiting = await running.waiting(acknowledged);
    if (waiting === 0) return;
    await delay(waiting > FEW_EVENTS ? LOOK_MS.draining : LOOK_MS.nearlyDrained);
  }
}
