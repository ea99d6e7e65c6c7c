/** The faults of a seed: when each begins, how long it lasts, and what it does. Each can be left out without moving another. */
import BetterSqlite3 from 'better-sqlite3';
import { between, pick, type Random, seededRandom } from '../../src/simulator/random.ts';
import { limitPages, openUnwatched, pagesOf } from './handles.ts';
import type { Machine } from './machine.ts';
import { DELIVERY_FAULTS, type DeliveryFault } from './provider.ts';
import type { Service } from './service.ts';
import { TROUBLES, type Trouble } from './service.ts';
import type { Time } from './time.ts';
import type { Trace } from './trace.ts';

/** Where a crash happens: around a statement, after a response, or while a sidecar starts. */
export const CRASH_POINTS = [
  ...(['before-begin', 'before-commit', 'after-commit', 'after-response'] as const),
  ...(['during-start', 'during-migration'] as const),
];
export type CrashPoint = (typeof CRASH_POINTS)[number];

const SECOND_MS = 1_000;

const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
/** How many transactions wait for the write lock while the database is healthy. */
const WAITING_SHARE = 0.15;
/** Longer than the pause between two attempts to take the write lock. */
const RETRY_MS = 5;
/** Longer than the time that an upload may take. */
const HANG_MS = 40 * MINUTE_MS;

type Kind =
  | { kind: DeliveryFault | 'lost-message' | 'busy' | 'locked' | 'full-disk' }
  | { kind: 'service'; trouble: Trouble; path: string; thenHangs: boolean }
  | { kind: 'clock'; byMs: number; inside: boolean; table: string | null; nth: number }
  | { kind: 'second'; offMs: number }
  | { kind: 'stop' }
  | { kind: 'crash'; point: CrashPoint; table: string | null; nth: number };

/** `at` and `forMs`: milliseconds after the start, and how long it lasts. */
export type Fault = Kind & { name: string; at: number; forMs: number };

export type ActiveFaults = ReturnType<typeof createFaults>;

/** A crash or a step of the clock may wait for a transaction that writes one of these tables. */
const TABLES = [
  ...Array<string>(4).fill('run_freezes'),
  ...['run_employees', 'payroll_runs', 'taken_lines', 'outbox', 'delivery_attempts', 'inbox'],
  ...['staged_censuses', 'census_chunks', 'census_syncs', 'roster_facts', 'deduction_versions'],
];
const COMMITS: readonly CrashPoint[] = ['before-commit', 'after-commit'];

/** How many faults of each kind a seed of 30 days has on average, and how long they last. */
const PLAN: readonly [name: Kind['kind'], count: number, longestMs: number][] = [
  ...DELIVERY_FAULTS.map((kind): [DeliveryFault, number, number] => [kind, 6, 2 * DAY_MS]),
  ['lost-message', 3, 4 * DAY_MS],
  ['busy', 4, 6 * HOUR_MS],
  ['locked', 4, 8 * SECOND_MS],
  ['full-disk', 2, 2 * HOUR_MS],
  ['service', 10, 3 * HOUR_MS],
  ['clock', 3, 20 * MINUTE_MS],
  ['second', 2, 5 * DAY_MS],
  ['stop', 1, 10 * MINUTE_MS],
  ['crash', 6, HOUR_MS],
];

/** Returns the faults of a seed in the order of their beginnings. A fault named in `without` is left out. */
export function planFaults(seed: number, days: number, without: ReadonlySet<string>): Fault[] {
  const faults: Fault[] = [];
  for (const [kind, count, longestMs] of PLAN) {
    const draw = seededRandom(seed, 'faults', kind);
    // Half of the seeds have no fault of a kind, so that rare combinations are not always disturbed.
    if (draw() < 0.4) continue;
    const number = Math.ceil(draw() * 2 * count * (days / 30));
    for (let index = 0; index < number; index += 1) {
      const own = seededRandom(seed, 'fault', kind, index);
      const isFirst = kind === 'crash' && index === 0 && own() < 0.3;
      const at = isFirst ? 0 : Math.floor(own() * days * DAY_MS);
      const forMs = Math.ceil(own() ** 2 * longestMs);
      const details = detailsOf(kind, own);
      if (isFirst)
        Object.assign(details, { point: 'during-migration', table: null, nth: between(own, 1, 120) });
      faults.push({ name: `${kind}-${index}`, at, forMs, ...details } as Fault);
    }
  }
  return faults.filter(({ name }) => !without.has(name)).sort((one, other) => one.at - other.at);
}

function detailsOf(kind: Kind['kind'], own: Random): Kind {
  switch (kind) {
    case 'service': {
      // An outage leaves one slot for sending, and then uploads hang.
      if (own() < 0.3) return { kind, trouble: '503', path: '*', thenHangs: true };
      const path = pick(own, ['*', '*', 'census', 'termination', 'new-hire']);
      return { kind, trouble: pick(own, TROUBLES), path, thenHangs: false };
    }
    case 'clock': {
      const byMs = pick(own, [2, 30, 90, 240, 26 * 60]) * MINUTE_MS * pick(own, [-1, 1]);
      const [inside, table] = [own() < 0.8, own() < 0.7 ? pick(own, TABLES) : null];
      return { kind, byMs, inside, table, nth: between(own, 1, table === null ? 60 : 6) };
    }
    case 'second':
      return { kind, offMs: between(own, -30, 30) * HOUR_MS };
    case 'crash': {
      const point = pick(own, CRASH_POINTS.slice(0, 5));
      const table = COMMITS.includes(point) && own() < 0.6 ? pick(own, TABLES) : null;
      return { kind, point, table, nth: between(own, 1, table === null ? 40 : 6) };
    }
    default:
      return { kind } as Kind;
  }
}

type FaultParts = {
  time: Time;
  trace: Trace;
  service: Service;
  machine: Machine;
  random: (...name: (string | number)[]) => Random;
  saw: (situation: string) => void;
  count: (name: string) => void;
  /** Makes the world send requests now. */
  rush: () => void;
  restFrom: number;
};

export function createFaults({
  time,
  trace,
  service,
  machine,
  random,
  saw,
  count,
  rush,
  restFrom,
}: FaultParts) {
  const planned: Fault[] = [];
  const on = new Map<string, Fault>();
  const busyDraw = random('busy');
  /** A crash or clock step that waits for its statement. */
  let armed: (Fault & { left: number })[] = [];

  let isHeld = false;
  let waitsUntil = 0;
  /** The tables that the open transaction has written. */
  let written = new Set<string>();

  const is = (kind: Kind['kind']): boolean => [...on.values()].some((fault) => fault.kind === kind);

  const end = (fault: Fault): void => {
    if (!on.delete(fault.name)) return;
    trace.add(`fault ${fault.name} ends`);
    if (fault.kind === 'service') afterTrouble(fault);
    else if (fault.kind === 'clock') machine.skewMs = 0;
    else if (fault.kind === 'full-disk') limitPages(machine.path, null);
    else if (fault.kind === 'second') void machine.stop('second');
  };

  const afterTrouble = (fault: Fault & { kind: 'service' }): void => {
    if (!fault.thenHangs || time.now() >= restFrom) {
      service.troubles.delete(fault.path);
      if (fault.trouble === 'hang') service.troubles.delete('*');
      return;
    }
    const hanging: Fault = { ...fault, path: 'census', trouble: 'hang', thenHangs: false };
    service.troubles.set('census', 'hang');
    on.set(fault.name, hanging);
    rush();
    time.after(HANG_MS, 'fault', () => end(hanging));
  };

  const begin = (fault: Fault): void => {
    trace.add(`fault ${fault.name} begins ${JSON.stringify(fault)}`);
    count(`fault ${fault.kind}`);
    switch (fault.kind) {
      case 'crash':
        armed.push({ ...fault, left: fault.nth });
        // Nothing crashes during a start without one.
        if (fault.point === 'during-start') machine.crash('before a start', SECOND_MS);
        return;
      case 'clock':
        if (fault.inside) armed.push({ ...fault, left: fault.nth });
        else step(fault);
        return;
      case 'stop':
        if (!machine.isUp()) return;
        void machine.stop('first');
        return;
      case 'second':
        if (!machine.isUp()) return;
        machine.start('second', fault.offMs);
        rush();
        break;
      case 'service':
        service.troubles.set(fault.path, fault.trouble);
        rush();
        break;
      case 'lost-message':
        rush();
        break;
      case 'full-disk':
        limitPages(machine.path, pagesOf(machine.path));
        break;
      case 'locked':
        lock(fault.forMs);
        return;
      default:
    }
    on.set(fault.name, fault);
    time.after(fault.forMs, 'fault', () => end(fault));
  };

  const step = (fault: Fault): void => {
    if (fault.kind !== 'clock') return;
    machine.skewMs += fault.byMs;
    on.set(fault.name, fault);
    time.after(fault.forMs, 'fault', () => end(fault));
  };

  /** Another process holds the write lock. */
  const lock = (forMs: number): void => {
    const handle = openUnwatched(machine.path);
    try {
      handle.exec('begin immediate');
    } catch {
      handle.close();
      return;
    }
    time.after(forMs, 'unlock', () => handle.close());
  };

  const fire = (point: CrashPoint | 'statement'): void => {
    for (const fault of armed) {
      const isIts = fault.kind === 'crash' ? fault.point === point : point === 'statement';
      if (!isIts) continue;
      if (fault.kind !== 'crash' && fault.kind !== 'clock') continue;
      if (fault.table !== null && !written.has(fault.table)) continue;
      fault.left -= 1;
      if (fault.left > 0) continue;
      armed = armed.filter((one) => one !== fault);
      if (fault.kind === 'clock') {
        step(fault);
        continue;
      }
      saw(`crash ${point}`);
      machine.crash(`${point} (${fault.name})`, fault.forMs);
      throw new BetterSqlite3.SqliteError('the machine crashed', 'SQLITE_IOERR');
    }
  };

  return {
    planned: planned as readonly Fault[],
    plan(fault: Fault): void {
      planned.push(fault);
      // The first start runs to its end before anything else happens.
      if (fault.at === 0) begin(fault);
      else time.after(fault.at, 'fault', () => begin(fault));
    },
    /** Lets no crash and no step of the clock happen until it is called with false. */
    hold(held: boolean): void {
      isHeld = held;
    },
    isOn: (kind: Kind['kind']): boolean => is(kind),
    /** Whether a transaction waits for the write lock. */
    areWaiting: (): boolean => time.now() <= waitsUntil,
    afterResponse(): void {
      try {
        if (!isHeld) fire('after-response');
      } catch {
        // The crash is noted. There is no statement that could fail.
      }
    },
    onStatement(sql: string, isDone: boolean): void {
      const word = /^\w+/.exec(sql)?.[0].toLowerCase();
      const isUp = machine.isUp();
      if (!isUp && !isDone) fire('during-start');
      if (!isUp && !isDone && word === 'create') fire('during-migration');
      const [, table] = /^(?:insert into|update|delete from) "?(\w+)/i.exec(sql) ?? [];
      if (table !== undefined) written.add(table);
      if (word === 'begin' && !isDone) {
        written = new Set();
        fire('before-begin');
        // Even a healthy database makes a transaction wait, so that requests and sidecars take turns.
        if (machine.isUp() && busyDraw() < (is('busy') ? 0.4 : WAITING_SHARE)) {
          waitsUntil = time.now() + RETRY_MS;
          throw new BetterSqlite3.SqliteError('database is locked', 'SQLITE_BUSY');
        }
      } else if (word === 'commit') {
        fire(isDone ? 'after-commit' : 'before-commit');
        if (!isDone) return;
        trace.add(`commit ${[...written].join(' ')}`);
        fire('statement');
      }
    },
    /** Ends all faults: what follows must come to rest. */
    endAll(): void {
      time.cancel((name) => name === 'fault');
      armed = [];
      for (const fault of on.values()) end(fault);
    },
  };
}
