/**
 * One seed: a world, its faults and real sidecars in virtual time. It ends with the first broken invariant, or two hours
 * after the last fault, when everything must have come to rest.
 */
import { rmSync } from 'node:fs';
import { type Random, seededRandom } from '../../src/simulator/random.ts';
import { type ActiveFaults, createFaults, type Fault, planFaults } from './faults.ts';
import { FEATURES } from './features/features.ts';
import { UNTOLD_POSITION } from './features/notifications.ts';
import { watchStatements } from './handles.ts';
import { checkCommit, checkRest, checkStep, checkWaits, checkWhole } from './invariants.ts';
import { createMachine, type Machine, type Response } from './machine.ts';
import { createPayrollReceiver, type PayrollReceiver } from './payroll-receiver.ts';
import { createProvider, type Provider } from './provider.ts';
import { seedProcess } from './randomness.ts';
import { type Applied, Service } from './service.ts';
import { createTime, DAY_MS, HOUR_MS, MINUTE_MS, type Time } from './time.ts';
import { createTrace, type Trace } from './trace.ts';
import { createWorld } from './world.ts';

/** Everything must be done so long after the last fault. */
const REST_MS = 2 * HOUR_MS;
/** Longer than any limit of a request. */
const RESPONDS_WITHIN_MS = 10 * MINUTE_MS;
/** Two steps are no longer than a claim's lease, so that a heartbeat is late and never missing. */
const CLAIMED_STEP_MS = 15_000;
/** Work that waits longer than this waits for the end of a fault, and time moves in larger steps. */
const WAITS_MS = 10_000;
const SMALL_STEP_MS = 1_000;
/** At most this long without a timer, so that retention runs. */
const JUMP_MOST_MS = 6 * HOUR_MS;

export type Options = {
  seed: number;
  days: number;
  /** A folder that is created and removed. */
  folder: string;
  /** Names of faults that do not happen. */
  without?: ReadonlySet<string>;
  /** Ends the seed early, without its last checks. */
  isOver?: () => boolean;
};

export type Result = {
  seed: number;
  breach: string | null;
  /** Everything that happened, then all rows. */
  steps: readonly string[];
  faults: readonly Fault[];
  situations: ReadonlySet<string>;
  counts: ReadonlyMap<string, number>;
};

type Parts = {
  service: Service;
  receiver: PayrollReceiver;
  machine: Machine;
  provider: Provider;
  faults: ActiveFaults;
};

/** The world of a seed, as its features, parts and faults use it. */
export type Simulation = Parts & Readonly<ReturnType<typeof createFoundation>>;

/** The notes that a simulation takes. */
type Notes = {
  trace: Trace;
  /** Ends the simulation with a broken invariant. */
  breach(what: string): void;
  /** Notes a situation that a campaign must have seen. */
  saw(situation: string): void;
  count(name: string): void;
};

export async function simulate(options: Options): Promise<Result> {
  const { seed, days, folder, without = new Set(), isOver = () => false } = options;
  const restore = seedProcess(seed);
  let broken: string | null = null;
  const breach = (what: string): void => {
    if (broken === null) trace.add(`BREACH ${what}`);
    broken ??= what;
  };
  const time = createTime(startOf(seed), (error) => breach(`the simulation threw ${stackOf(error)}`));
  const trace = createTrace(time.now);
  const counts = new Map<string, number>();
  const situations = new Set<string>();
  const simulation = createSimulation({ seed, days, folder }, time, {
    ...{ trace, breach },
    count: (name) => void counts.set(name, (counts.get(name) ?? 0) + 1),
    saw: (situation) => void situations.add(situation),
  });
  const { machine, provider, faults, count, restFrom } = simulation;
  for (const fault of planFaults(seed, days, without)) faults.plan(fault);
  let hasCommitted = false;
  let isChecking = false;

  /** Waits for a check while time passes and nothing else happens. */
  const checked = async (check: (simulation: Simulation) => Promise<void>): Promise<void> => {
    isChecking = true;
    faults.hold(true);
    time.hold(true);
    const work = check(simulation)
      .catch((error) => breach(`a check threw ${stackOf(error)}`))
      .then(() => {
        isChecking = false;
      });
    while (isChecking) await time.step(Number.POSITIVE_INFINITY, () => null);
    await work;
    time.hold(false);
    faults.hold(false);
  };

  watchStatements((sql, isDone, handle) => {
    if (handle.name !== machine.path || isChecking) return;
    if (!faults.onStatement(sql, isDone)) return;
    hasCommitted = true;
    checkCommit(simulation);
  });
  const noteRejection = (error: unknown): void => {
    // A crash interrupts work of a process that ended.
    if (!String(error).includes('the machine crashed'))
      breach(`a rejection was not handled: ${stackOf(error)}`);
  };
  process.on('unhandledRejection', noteRejection);
  try {
    machine.start('first', 0);
    for (const feature of FEATURES) feature.plan(simulation);
    simulation.schedule(1, 'rest', () => {
      faults.endAll();
      for (const feature of FEATURES) feature.atRest?.(simulation);
      provider.replay();
      // The machine may be down for an hour.
      time.after(HOUR_MS + MINUTE_MS, 'replay', () => provider.replay());
    });
    const end = restFrom + REST_MS;
    let checkedAt = time.now();
    while (time.now() < end && broken === null && !isOver()) {
      await time.step(end, () => nextDue(simulation));
      if (machine.hasCrashed()) {
        count('crashes');
        await machine.recover();
        checkedAt = 0;
      } else if (machine.isUp() && hasCommitted) {
        hasCommitted = false;
        checkStep(simulation);
      }
      if (time.now() - machine.waitsSince() > RESPONDS_WITHIN_MS)
        breach(`a request had no response within ${RESPONDS_WITHIN_MS / MINUTE_MS} minutes`);
      if (broken === null && time.now() - checkedAt > DAY_MS && isQuiet(simulation)) {
        checkedAt = time.now();
        await checked(checkWhole);
        count('whole checks');
      }
    }
    for (const check of [checkWhole, checkRest]) if (broken === null && !isOver()) await checked(check);
    if (broken === null && !isOver()) conclude(simulation);
  } catch (error) {
    breach(`the simulation threw ${stackOf(error)}`);
  } finally {
    await machine.end();
    watchStatements(() => {});
    time.uninstall();
    restore();
    process.off('unhandledRejection', noteRejection);
    rmSync(folder, { recursive: true, force: true });
  }
  return { seed, breach: broken, steps: trace.lines, faults: faults.planned, situations, counts };
}

function createSimulation(options: Options, time: Time, notes: Notes): Simulation {
  const simulation = createFoundation(options, time, notes) as Simulation & Parts;
  simulation.service = new Service(simulation);
  simulation.receiver = createPayrollReceiver(simulation);
  simulation.machine = createMachine(simulation);
  simulation.provider = createProvider(simulation);
  simulation.faults = createFaults(simulation);
  return simulation;
}

function createFoundation({ seed, days, folder }: Options, time: Time, notes: Notes) {
  const confirmed = new Map<string, Set<string>>();
  const foundation = {
    ...{ seed, days, folder, time, confirmed, ...notes },
    world: createWorld(seed),
    /** The end of the last fault. */
    restFrom: time.now() + days * DAY_MS,
    /** Returns a stream of random numbers that other streams do not move. */
    random: (...name: (string | number)[]): Random => seededRandom(seed, ...name),
    /** Schedules work at a share of the days: 0 is the start, and 1 is the end of the last fault. */
    schedule: (share: number, name: string, work: () => unknown): void =>
      time.after(share * days * DAY_MS, name, work),
    /** Notes what a response confirmed: from then on this query returns the id, also after a crash. */
    confirm: (query: string, id: string): void =>
      void confirmed.set(query, (confirmed.get(query) ?? new Set()).add(id)),
    /**
     * Repeats a request every few minutes until the response has one of these statuses, and passes it to `done`. Any other
     * refusal of its content is a breach: the simulation sends correct requests.
     */
    persist(
      name: string,
      request: () => Promise<Response | null>,
      statuses: readonly number[],
      done?: (response: Response) => unknown,
    ): void {
      const attempt = async (): Promise<void> => {
        const response = await request();
        if (response !== null && statuses.includes(response.status)) return void (await done?.(response));
        if (response?.status === 422) notes.breach(`${name}: refused: ${JSON.stringify(response.body)}`);
        time.after(seededRandom(seed, name, time.now())() * 300_000, name, attempt);
      };
      attempt().catch((error: unknown) => notes.breach(`${name}: ${stackOf(error)}`));
    },
    /** Makes work that meets a fault which has just begun. */
    rush(): void {
      for (const feature of FEATURES) feature.rush?.(foundation as Simulation);
    },
    /** Called when the service receives a request. */
    received(requestId: string): void {
      for (const feature of FEATURES) feature.onReceived?.(foundation as Simulation, requestId);
    },
    /** Called when the service has applied a request. */
    applied(request: Applied): void {
      for (const feature of FEATURES) feature.onApplied?.(foundation as Simulation, request);
    },
  };
  return foundation;
}

/** Returns the time until which nothing is due, or null if something is under way. */
function nextDue(simulation: Simulation): number | null {
  const { time, machine, faults } = simulation;
  if (!machine.isIdle() || faults.areWaiting()) return null;
  if (!machine.isUp()) return Number.POSITIVE_INFINITY;
  const now = time.now();
  type Work = {
    pending: string | null;
    received: string | null;
    sending: number;
    due: string | null;
    probe: string | null;
    told: string | null;
    untold: number;
  };
  const [work] = machine.query<Work>(
    `select (select event_id || ', reprocessed ' || reprocessed from inbox where state = 'pending' order by seq limit 1) as pending,
      (select max(received_at) from inbox where state = 'pending') as received,
      exists (select 1 from outbox where state = 'sending') as sending,
      (select min(due_at) from outbox where state = 'pending' and is_next = 1) as due,
      (select next_probe_at from circuit_breaker) as probe,
      (select min(due_at) from notifications where is_next = 1) as told,
      exists (${UNTOLD_POSITION}) as untold`,
  );
  if (work === undefined) return null;
  checkWaits(simulation, work.pending);
  const at = (text: string): number => Date.parse(text) - machine.skewMs;
  if (work.received !== null) return now - at(work.received) > WAITS_MS ? now + CLAIMED_STEP_MS : null;
  if (work.sending > 0) return now + CLAIMED_STEP_MS;
  const dues: number[] = [];
  if (work.due !== null) dues.push(Math.max(at(work.due), work.probe === null ? 0 : at(work.probe)));
  // A receiver in trouble gets attempts only as time moves for other reasons.
  if (work.told !== null && !faults.isOn('receiver')) dues.push(at(work.told));
  if (work.untold > 0 && !faults.isOn('receiver')) dues.push(now);
  if (dues.length === 0) return now + JUMP_MOST_MS;
  const due = Math.min(...dues);
  const step = now - due > WAITS_MS ? CLAIMED_STEP_MS : SMALL_STEP_MS;
  return Math.min(Math.max(due, now + step), now + JUMP_MOST_MS);
}

function isQuiet(simulation: Simulation): boolean {
  const due = nextDue(simulation);
  return due !== null && due > simulation.time.now() + CLAIMED_STEP_MS && simulation.machine.isUp();
}

/** Adds all rows to the trace, and notes the situations that they show. */
function conclude({ trace, machine, saw, count }: Simulation): void {
  trace.addRows(machine.query, machine.encryptor);
  for (const { situations = {} } of FEATURES) {
    for (const [name, sql] of Object.entries(situations))
      if (sql !== null && machine.query(`select 1 from ${sql} limit 1`).length > 0) saw(name);
  }
  for (const _ of machine.query('select 1 from inbox')) count('events');
}

/** Most seeds begin in the year, and a quarter in the weeks before Christmas, so that they see New Year. */
function startOf(seed: number): number {
  const draw = seededRandom(seed, 'start');
  const [from, days] = draw() < 0.25 ? ['2026-12-17', 9] : ['2026-01-05', 250];
  return Date.parse(`${from}T00:00:00Z`) + Math.floor(draw() * days) * DAY_MS + Math.floor(draw() * DAY_MS);
}

function stackOf(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
