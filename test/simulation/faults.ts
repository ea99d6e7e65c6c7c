/** The faults of a seed: when each begins, how long it lasts, and what it does. Each can be left out without moving another. */
import BetterSqlite3 from 'better-sqlite3';
import { between, pick, type Random, seededRandom } from '../../src/simulator/random.ts';
import { limitPages, openUnwatched, pagesOf } from './handles.ts';
import { RECEIVER_TROUBLES, type ReceiverTrouble } from './payroll-receiver.ts';
import { DELIVERY_FAULTS, type DeliveryFault } from './provider.ts';
import { TROUBLES, type Trouble } from './service.ts';
import type { Simulation } from './simulation.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from './time.ts';

/** Where a crash happens: around a statement, after a response, or while a sidecar starts. */
export const CRASH_POINTS = [
  ...(['before-begin', 'before-commit', 'after-commit', 'after-response'] as const),
  ...(['during-start', 'during-migration'] as const),
];
type CrashPoint = (typeof CRASH_POINTS)[number];

/** The share of transactions that wait for the write lock. */
const WAITING_SHARE = 0.15;
/** The share while a second sidecar runs or the database is busy. */
const BUSY_SHARE = 0.4;
/** How long a transaction waits for the write lock. It tries to take the lock again after a shorter pause. */
const RETRY_MS = 5;
/** The first runs of all employers begin this long after the start. A second sidecar starts just before and finalizes some. */
export const FIRST_RUNS_MS = 3 * DAY_MS;
/** How long the senders cannot renew their claims: a few of them end. */
const STUCK_MS = 4 * MINUTE_MS;
const HEARTBEAT = /^update "outbox" set "lease_expires_at" = /;
/** The sender gives up an upload before this time. */
const HANG_MS = 40 * MINUTE_MS;

type Kind =
  | { kind: DeliveryFault | 'lost-message' | 'busy' | 'locked' | 'full-disk' }
  | { kind: 'service'; trouble: Trouble; path: string; thenHangs: boolean }
  | { kind: 'receiver'; trouble: ReceiverTrouble }
  | { kind: 'clock'; byMs: number; isInside: boolean; table: string | null; nth: number }
  | { kind: 'second'; offMs: number }
  | { kind: 'stuck-senders' | 'cut-burst' }
  | { kind: 'stop' }
  | { kind: 'crash'; point: CrashPoint; table: string | null; nth: number };

/** `at` and `forMs`: milliseconds after the start, and how long it lasts. */
export type Fault = Kind & { name: string; at: number; forMs: number };

export type ActiveFaults = ReturnType<typeof createFaults>;

/** A crash or a step of the clock may wait for a transaction that writes one of these tables. */
const TABLES = [
  ...Array<string>(4).fill('run_freezes'),
  'notifications',
  ...['run_employees', 'payroll_runs', 'taken_lines', 'outbox', 'delivery_attempts', 'inbox'],
  ...['staged_censuses', 'census_chunks', 'census_syncs', 'roster_facts', 'deduction_versions'],
];
/** What faults make happen, beyond the situations that the rows of a feature show. */
export const SITUATIONS = [
  ...CRASH_POINTS.map((point) => `crash ${point}`),
  ...['late response after another sender finished', 'burst of which a part was stored'],
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
  ['receiver', 6, 5 * DAY_MS],
  ['clock', 3, 20 * MINUTE_MS],
  ['second', 2, 5 * DAY_MS],
  ['stop', 1, 10 * MINUTE_MS],
  ['stuck-senders', 2, 0],
  ['cut-burst', 2, 0],
  ['crash', 6, HOUR_MS],
];

/** Returns the faults of a seed in the order of their beginnings. A fault named in `without` is left out. */
export function planFaults(seed: number, days: number, without: ReadonlySet<string>): Fault[] {
  const faults: Fault[] = [];
  for (const [kind, count, longestMs] of PLAN) {
    const kindDraw = seededRandom(seed, 'faults', kind);
    // Many seeds have no fault of a kind, so that rare combinations are not always disturbed.
    if (kindDraw() < 0.4) continue;
    const number = Math.ceil(kindDraw() * 2 * count * (days / 30));
    for (let index = 0; index < number; index += 1) {
      const draw = seededRandom(seed, 'fault', kind, index);
      const isFirst = kind === 'crash' && index === 0 && draw() < 0.3;
      const isSimultaneous = kind === 'second' && index === 0;
      const at = isFirst ? 0 : isSimultaneous ? FIRST_RUNS_MS - draw() * HOUR_MS : draw() * days * DAY_MS;
      const forMs = Math.ceil(draw() ** 2 * longestMs);
      const details = detailsOf(kind, draw);
      if (isFirst)
        Object.assign(details, { point: 'during-migration', table: null, nth: between(draw, 1, 120) });
      faults.push({ name: `${kind}-${index}`, at: Math.floor(at), forMs, ...details } as Fault);
    }
  }
  return faults.filter(({ name }) => !without.has(name)).sort((earlier, later) => earlier.at - later.at);
}

function detailsOf(kind: Kind['kind'], draw: Random): Kind {
  switch (kind) {
    case 'service': {
      // An outage leaves one slot for sending, and then uploads hang.
      if (draw() < 0.3) return { kind, trouble: '503', path: '*', thenHangs: true };
      const path = pick(draw, ['*', '*', 'census', 'termination', 'new-hire']);
      return { kind, trouble: pick(draw, TROUBLES), path, thenHangs: false };
    }
    case 'receiver':
      return { kind, trouble: pick(draw, RECEIVER_TROUBLES) };
    case 'clock': {
      const byMs = pick(draw, [2, 30, 90, 240, 26 * 60]) * MINUTE_MS * pick(draw, [-1, 1]);
      const [isInside, table] = [draw() < 0.8, draw() < 0.7 ? pick(draw, TABLES) : null];
      return { kind, byMs, isInside, table, nth: between(draw, 1, table === null ? 60 : 6) };
    }
    case 'second':
      return { kind, offMs: between(draw, -30, 30) * HOUR_MS };
    case 'crash': {
      const point = pick(draw, CRASH_POINTS.slice(0, 5));
      const table = COMMITS.includes(point) && draw() < 0.6 ? pick(draw, TABLES) : null;
      return { kind, point, table, nth: between(draw, 1, table === null ? 40 : 6) };
    }
    default:
      return { kind } as Kind;
  }
}

export function createFaults(simulation: Simulation) {
  const { time, trace, service, receiver, machine, count, rush, restFrom } = simulation;
  const planned: Fault[] = [];
  const on = new Map<string, Fault>();
  const busyDraw = simulation.random('busy');
  /** A crash or clock step that waits for its statement. */
  let armed: (Fault & { kind: 'clock' | 'crash'; left: number })[] = [];
  let isHeld = false;
  let waitsUntil = 0;
  /** A burst of deliveries that meets a disk that is full once a part is stored. */
  let cut: { burst: string; isFull: boolean } | null = null;
  /** The tables that the open transaction has written. */
  let written = new Set<string>();

  const isOn = (kind: Kind['kind']): boolean => [...on.values()].some((fault) => fault.kind === kind);

  const end = (fault: Fault): void => {
    if (!on.delete(fault.name)) return;
    trace.add(`fault ${fault.name} ends`);
    if (fault.kind === 'service') afterTrouble(fault);
    else if (fault.kind === 'receiver') receiver.troubles.delete(fault.name);
    else if (fault.kind === 'clock') machine.skewMs = 0;
    else if (fault.kind === 'full-disk') limitPages(machine.path, null);
    else if (fault.kind === 'second') void machine.stop('second');
    else if (fault.kind === 'stuck-senders') {
      service.troubles.delete('*');
      void machine.stop('second');
    }
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
        if (fault.isInside) armed.push({ ...fault, left: fault.nth });
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
      case 'receiver':
        receiver.troubles.set(fault.name, fault.trouble);
        rush();
        break;
      case 'stuck-senders':
        if (!machine.isUp()) return;
        machine.start('second', 0);
        service.troubles.set('*', 'late');
        rush();
        last({ ...fault, forMs: STUCK_MS });
        return;
      case 'cut-burst':
        if (!machine.isUp()) return;
        cut = { burst: fault.name, isFull: false };
        void simulation.provider.burst(fault.name).then(() => {
          cut = null;
        });
        return;
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
    last(fault);
  };

  const last = (fault: Fault): void => {
    on.set(fault.name, fault);
    time.after(fault.forMs, 'fault', () => end(fault));
  };

  const step = (fault: Fault & { kind: 'clock' }): void => {
    machine.skewMs += fault.byMs;
    last(fault);
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

  const isAnyStored = (burst: string): boolean =>
    machine.query('select 1 from inbox where event_id like ? limit 1', `msg-${burst}-%`).length > 0;

  const fire = (point: CrashPoint | 'statement'): void => {
    for (const fault of armed) {
      if ((fault.kind === 'crash' ? fault.point : 'statement') !== point) continue;
      if (fault.table !== null && !written.has(fault.table)) continue;
      fault.left -= 1;
      if (fault.left > 0) continue;
      armed = armed.filter((waiting) => waiting !== fault);
      if (fault.kind === 'clock') {
        step(fault);
        continue;
      }
      simulation.saw(`crash ${point}`);
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
    isOn,
    /** Whether a transaction waits for the write lock. */
    areWaiting: (): boolean => time.now() <= waitsUntil,
    afterResponse(): void {
      try {
        if (!isHeld) fire('after-response');
      } catch {
        // The crash is noted. There is no statement that could fail.
      }
    },
    /** Returns whether a transaction that wrote rows has committed. */
    onStatement(sql: string, isDone: boolean): boolean {
      const word = /^\w+/.exec(sql)?.[0].toLowerCase();
      if (!machine.isUp() && !isDone) {
        fire('during-start');
        if (word === 'create') fire('during-migration');
      }
      const [, table] = /^(?:insert into|update|delete from) "?(\w+)/i.exec(sql) ?? [];
      const isRefused = word === 'insert' && table === 'inbox' && cut?.isFull;
      if (!isDone && (isRefused || (isOn('stuck-senders') && HEARTBEAT.test(sql)))) {
        throw new BetterSqlite3.SqliteError('database or disk is full', 'SQLITE_FULL');
      }
      if (table !== undefined) written.add(table);
      if (word === 'begin' && !isDone) {
        written = new Set();
        fire('before-begin');
        // Even a healthy database makes a transaction wait, so that requests and sidecars take turns.
        const share = isOn('busy') || isOn('second') ? BUSY_SHARE : WAITING_SHARE;
        if (machine.isUp() && busyDraw() < share) {
          waitsUntil = time.now() + RETRY_MS;
          throw new BetterSqlite3.SqliteError('database is locked', 'SQLITE_BUSY');
        }
      } else if (word === 'commit') {
        fire(isDone ? 'after-commit' : 'before-commit');
        if (!isDone || written.size === 0) return false;
        if (cut !== null) cut.isFull ||= isAnyStored(cut.burst);
        trace.add(`commit ${[...written].join(' ')}`);
        fire('statement');
        return true;
      }
      return false;
    },
    /** Ends all faults: what follows must come to rest. */
    endAll(): void {
      time.cancel((name) => name === 'fault');
      armed = [];
      for (const fault of on.values()) end(fault);
    },
  };
}
