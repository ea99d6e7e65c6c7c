/** A clock that is wrong, stepped or corrected, and what a sidecar reports of it. */
import type { Test } from 'tap';
import { notReadyReason } from '../../src/database/errors.ts';
import { probeCommit } from '../../src/database/instance.ts';
import type { Db } from '../../src/database/tables.ts';
import { AppError } from '../../src/errors.ts';
import {
  type ClockCheck,
  createClockCheck,
  readClockState,
  readLatestStored,
} from '../../src/operations/clock-check.ts';
import { createReadiness } from '../../src/operations/health.ts';
import { silentLog } from '../../src/telemetry/log.ts';
import { eventOf, receive } from '../api/deliver.ts';
import { scratch } from '../database/scratch.ts';
import { owe, START } from '../outbox/parts.ts';
import { at } from '../support/clocks.ts';
import { onEachEngine, onEitherEngine, onPostgres, onSqlite } from '../support/engine.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const after = (ms: number) => new Date(START.getTime() + ms);

/** A wall clock and a monotonic one. Both pass time; only the first is set. */
function clocks(offMs = 0) {
  let [elapsed, setMs] = [0, offMs];
  return {
    now: () => new Date(START.getTime() + setMs + elapsed),
    elapsedMs: () => elapsed,
    pass(ms: number): void {
      elapsed += ms;
    },
    set(ms: number): void {
      setMs += ms;
    },
  };
}

type Checked = ReturnType<typeof clocks> & { check: ClockCheck; logged: string[]; db: Db };

/** Starts the check of a sidecar on the database, whose clock shows START. */
async function startCheck(db: Db, offMs = 0): Promise<Checked> {
  const both = clocks(offMs);
  const logged: string[] = [];
  const log = {
    ...silentLog,
    warn: ({ reason }: { reason?: string }) => logged.push(`wrong: ${reason}`),
    info: () => logged.push('right'),
  };
  const latestStored = await readLatestStored(db);
  const check = createClockCheck({ db, ...both, sharedNow: at(START), latestStored, log });
  return { ...both, check, logged, db };
}

const started = async (t: Test, offMs = 0) => startCheck((await scratch(t)).db, offMs);

onPostgres("a clock more than a minute off the database's is reported until it is right", async (t) => {
  for (const [offMs, reason] of [
    [61_000, "61 s ahead of the database's clock"],
    [-61_000, "61 s earlier than the database's clock"],
    [24 * HOUR_MS, "24 hours ahead of the database's clock"],
    [-24 * HOUR_MS, "24 hours earlier than the database's clock"],
  ] as const) {
    const { check, set, logged, db, now } = await started(t, offMs);
    t.equal(await check.warning(), reason);
    t.equal(await check.warning(), reason, 'logged once');
    t.equal(await readClockState(db, { now, sharedNow: at(START) }), reason, 'also by a command');
    set(-offMs);
    t.equal(await check.warning(), null);
    t.strictSame(logged, [`wrong: ${reason}`, 'right']);
  }
  for (const offMs of [-60_000, 0, 60_000]) t.equal(await (await started(t, offMs)).check.warning(), null);
});

onPostgres('a slow response of the database is no difference of the clocks', async (t) => {
  const { db } = await scratch(t);
  const { now, pass, elapsedMs } = clocks(-2 * MINUTE_MS);
  const sharedNow = async () => {
    pass(5 * MINUTE_MS);
    return START;
  };
  const check = createClockCheck({ db, now, elapsedMs, sharedNow, latestStored: null, log: silentLog });
  t.equal(await check.warning(), null);
});

onSqlite('a start a minute before the newest stored time is reported until it passes', async (t) => {
  const { db } = await scratch(t);
  await receive(db, [eventOf('newest', 'moon.landed', {})], START.toISOString());
  const reason = `behind ${START.toISOString()}, the newest time in the database`;
  t.equal(await (await startCheck(db, -MINUTE_MS)).check.warning(), null);
  // Stored by an earlier start with this clock.
  await receive(db, [eventOf('earlier', 'moon.landed', {})], after(-2 * HOUR_MS).toISOString());
  const { check, pass, logged } = await startCheck(db, -2 * HOUR_MS);
  t.equal(await check.warning(), reason);
  pass(2 * HOUR_MS - MINUTE_MS - 1);
  t.equal(await check.warning(), reason);
  pass(1);
  t.equal(await check.warning(), null);
  t.strictSame(logged, [`wrong: ${reason}`, 'right']);
});

onSqlite('a clock that is set by more than a minute is reported until it is set back', async (t) => {
  for (const [direction, stepMs] of [
    ['forward', 2 * HOUR_MS],
    ['back', -2 * HOUR_MS],
  ] as const) {
    const { check, pass, set, logged, now } = await started(t);
    t.equal(await check.warning(), null);
    pass(HOUR_MS);
    set(stepMs);
    const reason = `set ${direction} by 2 hours while the sidecar ran, to ${now().toISOString()}`;
    t.equal(await check.warning(), reason);
    pass(48 * HOUR_MS);
    t.equal(await check.warning(), reason);
    set(-stepMs);
    t.equal(await check.warning(), null);
    t.strictSame(logged, [`wrong: ${reason}`, 'right']);
  }
});

onSqlite('small steps add up, and a clock that drifts or is slewed does not step', async (t) => {
  const { check, pass, set } = await started(t);
  for (const ms of [30_000, 30_000]) {
    pass(10_000);
    set(ms);
    t.equal(await check.warning(), null);
  }
  set(1_000);
  t.match(await check.warning(), /^set forward by 61 s/);

  const slewed = await started(t);
  for (let checks = 0; checks < 200; checks += 1) {
    slewed.pass(10_000);
    slewed.set(900);
    t.equal(await slewed.check.warning(), null);
  }
});

onSqlite('a clock that started too early is right once it is set forward', async (t) => {
  const { db } = await scratch(t);
  await receive(db, [eventOf('newest', 'moon.landed', {})], START.toISOString());
  const { check, set } = await startCheck(db, -50 * HOUR_MS);
  set(20 * HOUR_MS);
  t.match(await check.warning(), /^behind/, 'not enough');
  set(31 * HOUR_MS);
  t.equal(await check.warning(), null);
  set(2 * HOUR_MS);
  t.match(await check.warning(), /^set forward by 2 hours/, 'steps from here on count');
});

onSqlite('commands report what the sidecar on their file noticed, until it is right', async (t) => {
  const { check, set, db } = await started(t);
  const ofCommand = () => readClockState(db, { now: () => START, sharedNow: at(START) });
  t.equal(await ofCommand(), null);
  set(2 * HOUR_MS);
  const reason = await check.warning();
  t.match(reason, /^set forward/);
  t.equal(await ofCommand(), reason);
  set(-2 * HOUR_MS);
  await check.warning();
  t.equal(await ofCommand(), null);
  set(2 * HOUR_MS);
  await check.warning();
  await (await startCheck(db)).check.warning();
  t.equal(await ofCommand(), null);
});

onEachEngine('the newest stored time is of an event, request or probe, on SQLite', async (t, engine) => {
  const { db } = await scratch(t);
  t.equal(await readLatestStored(db), null);
  const stores: [number, (time: Date) => Promise<unknown>][] = [
    [1, (time) => probeCommit(db, time.toISOString())],
    [2, (time) => receive(db, [eventOf('new', 'moon.landed', {})], time.toISOString())],
    [3, (time) => owe(db, 'r-1', 'emp-1', 'demographic', time)],
  ];
  for (const [minute, store] of stores) {
    const time = after(minute * MINUTE_MS);
    await store(time);
    t.equal(await readLatestStored(db), engine === 'postgres' ? null : time.toISOString());
  }
});

const coded = (code: string) => Object.assign(new Error('of the engine'), { code });

onEitherEngine('the reason why a process cannot commit is one of five words', (t) => {
  const causes: Record<string, unknown[]> = {
    locked: [new AppError('LOCK_TIMEOUT', 'locked'), ...['SQLITE_BUSY', 'SQLITE_BUSY_SNAPSHOT'].map(coded)],
    'disk-full': ['SQLITE_FULL', 'SQLITE_IOERR_SHMSIZE', '53100'].map(coded),
    unreachable: [new AppError('CONNECTION_LOST', 'ECONNREFUSED'), ...['57P03', '53300'].map(coded)],
    'read-only': ['SQLITE_READONLY_DBMOVED', '25006'].map(coded),
    failed: [coded('SQLITE_IOERR_FSYNC'), new AppError('NOT_DURABLE', 'fsync'), new Error('no code'), null],
  };
  for (const [reason, errors] of Object.entries(causes))
    for (const error of errors) t.equal(notReadyReason(error), reason, `${error}`);
  t.end();
});

onEitherEngine('the check commits a transaction and caches its result for a second', async (t) => {
  const { db } = await scratch(t);
  let at = Date.parse('2026-03-01T12:00:00.000Z');
  const whyNotReady = createReadiness(db, () => new Date(at));
  const probed = async () =>
    (await db.selectFrom('instance').select('probed_at').executeTakeFirst())?.probed_at;
  t.equal(await whyNotReady(), null);
  t.equal(await probed(), '2026-03-01T12:00:00.000Z');
  at += 900;
  t.equal(await whyNotReady(), null);
  t.equal(await probed(), '2026-03-01T12:00:00.000Z', 'not asked again');
  at += 200;
  t.equal(await whyNotReady(), null);
  t.equal(await probed(), '2026-03-01T12:00:01.100Z');
});
