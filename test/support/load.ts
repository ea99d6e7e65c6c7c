/** Delivers distinct signed events over several connections until it is stopped or the receiver rejects one. */
import { signEvent } from '../../src/simulator/sign.ts';
import { deduction } from '../contract/samples.ts';
import { post } from '../inbox/deliver.ts';

export type Event = { id: string; body: string };

/** The number of deductions in the events; each has a history. */
const DEDUCTIONS = 97;
/** One in this many events is a sync request, which does not change a deduction. */
const SYNC_REQUEST_EVERY = 20;
const FIRST_CREATED_AT = Date.parse('2026-01-01T00:00:00.000Z');

/** Returns the nth event of a series. It depends only on n and is later than those before it. */
export function eventOf(series: string, index: number): Event {
  const isSync = index % SYNC_REQUEST_EVERY === SYNC_REQUEST_EVERY - 1;
  const frame = isSync
    ? { event_type: 'employee-census.sync-request', data: { employer_id: 'employer-4' } }
    : {
        event_type: 'employee.deduction-updated',
        data: {
          ...deduction,
          id: `ded-${index % DEDUCTIONS}`,
          employee_id: `emp-${index % DEDUCTIONS}`,
          member_contribution: (index / 100).toFixed(2),
        },
        created_at: new Date(FIRST_CREATED_AT + index).toISOString(),
      };
  return { id: `msg_${series}_${index}`, body: JSON.stringify({ id: `evt_${series}_${index}`, ...frame }) };
}

/** Sends one delivery, signed now. Rejects without a response. */
export async function deliver(port: number, secret: string, { id, body }: Event, now = new Date()) {
  return post(port, { 'content-type': 'application/json', ...signEvent(secret, id, now, body) }, body);
}

/** Delivers events without a known outcome again, in turn. Returns the events that still have none. */
export async function redeliver(
  send: (event: Event) => ReturnType<typeof deliver>,
  events: Iterable<Event>,
  acknowledged: Map<string, Event>,
): Promise<Event[]> {
  const left: Event[] = [];
  for (const event of events) {
    const answer = await send(event).catch(() => null);
    if (answer?.status === 204) acknowledged.set(event.id, event);
    else left.push(event);
  }
  return left;
}

export type Load = {
  readonly acknowledged: ReadonlyMap<string, Event>;
  /** Events with another response or none, which the provider would send again. */
  readonly inDoubt: ReadonlyMap<string, Event>;
  /** The count of each status other than 204; 0 means no response. */
  readonly refusals: ReadonlyMap<number, number>;
  /** The time of each acknowledgment, in milliseconds. */
  readonly times: readonly number[];
  /** Resolves when this many are acknowledged, or the load has ended. */
  reached(acknowledged: number): Promise<void>;
  /** Resolves when every connection has ended, each at its first event that is not acknowledged. */
  readonly ended: Promise<void>;
  /** Stops sending and waits for outstanding responses. */
  stop(): Promise<void>;
};

export type LoadOptions = {
  port: number;
  secret: string;
  /** The prefix of every id. */
  series: string;
  connections?: number;
  events?: number;
};

export function startLoad({ port, secret, series, connections = 16, events = Infinity }: LoadOptions): Load {
  const acknowledged = new Map<string, Event>();
  const inDoubt = new Map<string, Event>();
  const refusals = new Map<number, number>();
  const times: number[] = [];
  const waiting = new Set<{ count: number; resolve: () => void }>();
  let next = 0;
  let stopped = false;

  const one = async (event: Event): Promise<boolean> => {
    const began = performance.now();
    const status = await deliver(port, secret, event).then(
      (answer) => answer.status,
      () => 0,
    );
    if (status !== 204) {
      inDoubt.set(event.id, event);
      refusals.set(status, (refusals.get(status) ?? 0) + 1);
      return false;
    }
    times.push(performance.now() - began);
    acknowledged.set(event.id, event);
    for (const one of waiting) if (acknowledged.size >= one.count) one.resolve();
    return true;
  };
  const connection = async (): Promise<void> => {
    while (!stopped && next < events) {
      next += 1;
      if (!(await one(eventOf(series, next - 1)))) return;
    }
  };
  const ended = Promise.all(Array.from({ length: connections }, connection)).then(() => {
    for (const { resolve } of waiting) resolve();
  });
  return {
    acknowledged,
    inDoubt,
    refusals,
    times,
    ended,
    reached(count) {
      if (acknowledged.size >= count) return Promise.resolve();
      const reached = Promise.race([
        ended,
        new Promise<void>((resolve) => {
          waiting.add({ count, resolve });
        }),
      ]);
      return reached;
    },
    async stop() {
      stopped = true;
      await ended;
    },
  };
}
