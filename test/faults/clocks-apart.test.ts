/**
 * Callers whose clocks differ by hours, or whose clock steps, finalize, stage and report at once. A clean-up that trusts
 * one of these clocks would remove what another caller is still writing.
 */
import { setImmediate } from 'node:timers/promises';
import type { Test } from 'tap';
import { stageCensus } from '../../src/census/staging.ts';
import { type Clock, systemClock } from '../../src/clock.ts';
import { sharedClock } from '../../src/database/engine.ts';
import type { Db } from '../../src/database/tables.ts';
import { isAppError } from '../../src/errors.ts';
import { recordTaken } from '../../src/payroll/facts/taken.ts';
import { removeAbandoned } from '../../src/payroll/records/freezes.ts';
import { censusOf, contentOf, person, stage, uploadText } from '../census/parts.ts';
import { open, scratch } from '../database/scratch.ts';
import { encryptor } from '../outbox/parts.ts';
import { acting } from '../support/audit.ts';
import { onPostgres, onSqlite } from '../support/engine.ts';
import {
  body,
  employment,
  event,
  finalize,
  learn,
  linesOf,
  put,
  rowsOf,
  send,
  storedRun,
  verified,
} from '../support/payroll.ts';

const HOUR_MS = 3_600_000;
const EMPLOYEES = 120;
const ROUNDS = 6;
/** Bounded, so that work that is repeated ends. */
const CLEAN_UPS = 200;

type Caller = { db: Db; employerId: string; clock: Clock };

const idsOf = (employerId: string) => Array.from({ length: EMPLOYEES }, (_, n) => `${employerId}-${n}`);

async function hire(db: Db, employerId: string): Promise<void> {
  const ids = idsOf(employerId);
  await learn(db, ...ids.map((id) => employment(id, { employer_id: employerId })));
  const terms = { period: 'biweekly', member_contribution: '10.00' } as const;
  await send(
    db,
    ...ids.map((employee_id) => event(`d-${employee_id}`, '2025-12-01', { employee_id, ...terms })),
  );
}

/** Repeats work that a clean-up took for abandoned, as its caller is asked to. Any other error fails the test. */
async function again<R>(work: () => Promise<R>, onAbandoned: () => void): Promise<R> {
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (!isAppError(error, 'ABANDONED')) throw error;
      onAbandoned();
    }
  }
}

/** A caller's payroll year: each round stages a census, finalizes a run and reports what was taken. Counts what it repeats. */
async function work({ db, employerId, clock }: Caller): Promise<number> {
  let abandoned = 0;
  const onAbandoned = () => {
    abandoned += 1;
  };
  for (let round = 0; round < ROUNDS; round += 1) {
    const runId = `${employerId}-${round}`;
    await put(db, runId, body(round, { employer_id: employerId }));
    await again(() => finalize(db, runId, { sharedNow: sharedClock(clock) }), onAbandoned);
    const text = censusOf(idsOf(employerId).map((id) => person(id, { job_title: `round ${round}` })));
    const staging = { db, encryptor, sharedNow: sharedClock(clock) };
    await again(() => stageCensus(staging, employerId, contentOf(text)), onAbandoned);
    const rows = rowsOf(...idsOf(employerId).map((employee_id) => ({ employee_id, amount: '9.00' })));
    await recordTaken(db, await storedRun(db, runId), rows, acting(clock()));
  }
  return abandoned;
}

async function assertWhole(t: Test, db: Db, employers: readonly string[]): Promise<void> {
  for (const employerId of employers) {
    for (let round = 0; round < ROUNDS; round += 1) {
      const runId = `${employerId}-${round}`;
      t.equal((await linesOf(db, runId)).length >= EMPLOYEES, true, `${runId} has its lines`);
      t.match(await verified(db, runId), { identical: true }, runId);
    }
    const census = JSON.parse((await uploadText(t, db, employerId)) ?? '{}');
    t.equal(census.employees?.length, EMPLOYEES, `${employerId} has its census`);
    t.equal(census.employees?.[0]?.job_title, `round ${ROUNDS - 1}`);
  }
  const counts = db.selectFrom('taken_lines').select((eb) => eb.fn.countAll().as('count'));
  const { count } = await counts.executeTakeFirstOrThrow();
  t.equal(Number(count), employers.length * ROUNDS * EMPLOYEES, 'every amount taken is kept');
}

onPostgres('sidecars whose clocks are up to a day apart lose nothing, and no request fails', async (t) => {
  const { db, url } = await scratch(t);
  const skews = [0, 2 * HOUR_MS, -2 * HOUR_MS, 24 * HOUR_MS, -24 * HOUR_MS];
  const callers = skews.map((skewMs, index) => ({
    db: open(t, url),
    employerId: `e${index}`,
    clock: () => new Date(Date.now() + skewMs),
  }));
  for (const { employerId } of callers) await hire(db, employerId);
  for (const abandoned of await Promise.all(callers.map(work))) t.equal(abandoned, 0);
  const employers = callers.map(({ employerId }) => employerId);
  await assertWhole(t, db, employers);
});

onSqlite('a clock that steps by days makes callers try again, and loses nothing', async (t) => {
  const { db } = await scratch(t);
  const employers = ['e0', 'e1', 'e2'];
  for (const employerId of employers) await hire(db, employerId);
  // Steps back and forth, but not forever, so that work that is repeated ends.
  let calls = 0;
  const clock = () => {
    calls += 1;
    const stepMs = calls < 600 && calls % 7 === 0 ? 25 * HOUR_MS : 0;
    return new Date(Date.now() + stepMs);
  };
  const ahead = sharedClock(() => new Date(Date.now() + 25 * HOUR_MS));
  let isWorking = true;
  // Runs of one process finalize one after another, so a clean-up between their pages is another process's.
  const cleanUp = async () => {
    for (let times = 0; isWorking && times < CLEAN_UPS; times += 1) {
      await removeAbandoned(db, ahead);
      await setImmediate();
    }
  };
  const working = Promise.all(employers.map((employerId) => work({ db, employerId, clock })));
  const cleaning = cleanUp();
  const abandoned = await working.finally(() => {
    isWorking = false;
  });
  await cleaning;
  t.ok(Math.max(...abandoned) > 0, 'clean-ups did take work for abandoned');
  await assertWhole(t, db, employers);
  await stage(db, systemClock, censusOf([person('last')]), { employerId: 'e0' });
  t.match(await uploadText(t, db, 'e0'), /last/);
});
