/** What no transaction decides is compared with what was told last. */
import t from 'tap';
import { transact } from '../../src/database/transaction.ts';
import { silentEvents } from '../../src/inbox/silent-events.ts';
import { createCompareLoop } from '../../src/notifications/compare-loop.ts';
import { type Computed, tellComputed } from '../../src/notifications/computed.ts';
import { createLease } from '../../src/notifications/lease.ts';
import { adoptTypes } from '../../src/notifications/store.ts';
import { endingSchedules } from '../../src/payroll/lifecycle/ending-schedules.ts';
import {
  beginRead,
  createOutdatedRuns,
  noteReadinessRead,
} from '../../src/payroll/lifecycle/outdated-runs.ts';
import { notifiedRun, storedRun } from '../../src/payroll/records/runs.ts';
import { changedReadiness } from '../../src/readiness/changed-readiness.ts';
import { silentLog } from '../../src/telemetry/log.ts';
import { deductionOf, deliver } from '../api/deliver.ts';
import { PAY_DATE, startPayroll } from '../api/payroll-stage.ts';
import { scratch } from '../database/scratch.ts';
import { onEitherEngine, onPostgres } from '../support/engine.ts';
import {
  BIWEEKLY,
  deduct,
  EMPLOYER,
  employ,
  LATELY,
  NOW,
  QUESTION,
  readyEmployer,
  schedule,
  setSchedules,
  sync,
} from '../support/payroll.ts';
import { adopt, notifyConfig, told } from './parts.ts';

async function* none() {}

const readiness = () =>
  changedReadiness(
    async () => QUESTION,
    () => 0,
  );
const changed = (employer_id: string, ...failed_checks: string[]) => [
  'readiness.changed',
  { employer_id, ready: failed_checks.length === 0, failed_checks },
];

onEitherEngine('readiness is told when another check fails for an employer, or none anymore', async (t) => {
  const { db } = await scratch(t);
  await readyEmployer(t, db);
  await employ(db, 'emp-oak', { employer_id: 'oak' });
  await adopt(db);
  const computed = readiness();
  const compare = () => tellComputed(db, computed, NOW);
  await compare();
  t.strictSame(await told(db), [], 'an employer is ready until it was told otherwise');
  const bad = deductionOf('evt-bad', { employee_id: 'emp-1', member_contribution: 'much' });
  await deliver(db, [bad], LATELY);
  await compare();
  await compare();
  const expected = [['event.quarantined', { event_id: 'evt-bad' }], changed(EMPLOYER, 'events-quarantined')];
  t.strictSame(await told(db), expected, 'of the employer that the event leads to');
  await sync(db, { employer_id: 'oak', state: 'waiting' });
  await tellComputed(db, readiness(), NOW);
  expected.push(changed('oak', 'census-syncs'));
  t.strictSame(await told(db), expected, 'after a restart, only what changed');
  const dismissed = { dismissed_at: LATELY, dismissed_reason: 'a test' };
  await transact(db, (trx) =>
    trx.updateTable('inbox').set(dismissed).where('event_id', '=', 'evt-bad').execute(),
  );
  await compare();
  expected.push(changed(EMPLOYER));
  t.strictSame(await told(db), expected);
});

t.test('a comparison that takes too long continues with the next employer', async (t) => {
  const { db } = await scratch(t);
  for (const employer_id of ['a', 'b', 'c']) await sync(db, { employer_id, state: 'waiting' });
  await adopt(db);
  let elapsed = 0;
  const slow = changedReadiness(
    async () => QUESTION,
    () => (elapsed += 2_000),
  );
  const failing = ['a', 'b', 'c'].map((employer) => changed(employer, 'census-syncs'));
  for (const count of [2, 3, 3]) {
    await tellComputed(db, slow, NOW);
    t.strictSame(await told(db), failing.slice(0, count));
  }
});

onEitherEngine('a pay schedule that ends is told once, and its next end again', async (t) => {
  const { db } = await scratch(t);
  await adopt(db);
  const put = (last: string) =>
    setSchedules(db, [schedule({ pay_dates: BIWEEKLY.filter(({ pay_date }) => pay_date <= last) })]);
  const computed = endingSchedules();
  const compare = (day: string) => tellComputed(db, computed, new Date(`${day}T12:00:00Z`));
  const ends = (last_pay_date: string) => [
    'schedule.ending',
    { employer_id: EMPLOYER, pay_frequency: 'biweekly', pay_group: null, last_pay_date },
  ];
  await put('2026-07-31');
  for (const day of ['2026-05-31', '2026-06-01', '2026-06-02']) await compare(day);
  await tellComputed(db, endingSchedules(), NOW);
  t.strictSame(await told(db), [ends('2026-07-31')]);
  await put('2026-12-18');
  await compare('2026-06-03');
  await put('2026-07-31');
  await compare('2026-06-04');
  t.strictSame(await told(db), [ends('2026-07-31'), ends('2026-07-31')]);
});

onEitherEngine('missing events are told once, until one arrives', async (t) => {
  const { db } = await scratch(t);
  await adopt(db);
  await deduct(db, 'evt-1');
  const day = 86_400_000;
  let now = new Date(LATELY);
  const computed = silentEvents(async () => ({ ...QUESTION, now, silentAfterMs: 35 * day }));
  const after = async (days: number) => {
    now = new Date(Date.parse(LATELY) + days * day);
    await tellComputed(db, computed, now);
  };
  for (const days of [35, 36, 37]) await after(days);
  const silent = (last_event_at: string) => ['events.silent', { last_event_at }];
  t.strictSame(await told(db), [silent(LATELY)]);
  const again = now.toISOString();
  await deliver(db, [deductionOf('evt-2', {})], again);
  for (const days of [38, 73]) await after(days);
  t.strictSame(await told(db), [silent(LATELY), silent(again)]);
});

onEitherEngine(
  'a run is outdated once by a fact or a report about its employees, until it is read again',
  async (t) => {
    const { db, put, get, post, finalized } = await startPayroll(t);
    await finalized('before', {
      pay_date: '2026-07-03',
      period_start: '2026-06-15',
      period_end: '2026-06-28',
    });
    await put('r');
    await employ(db, 'emp-oak', { employer_id: 'oak' });
    await adopt(db);
    const tell = createOutdatedRuns(db);
    const outdated = ['run.outdated', { run_id: 'r', employer_id: EMPLOYER, pay_date: PAY_DATE }];
    const read = async () => t.equal((await get('/r/readiness')).status, 200);
    await deduct(db, 'evt-new', { id: 'ded-new', employee_id: 'emp-1' });
    await tell(NOW);
    t.strictSame(await told(db), [], 'the run was not read');
    await read();
    await deduct(db, 'evt-oak', { id: 'ded-oak', employee_id: 'emp-oak' });
    await tell(NOW);
    t.strictSame(await told(db), [], 'of another employer');
    await deduct(db, 'evt-3', { id: 'ded-3', employee_id: 'emp-2' });
    await createOutdatedRuns(db)(NOW);
    await deduct(db, 'evt-4', { id: 'ded-4', employee_id: 'emp-2' });
    await tell(NOW);
    t.strictSame(await told(db), [outdated]);
    await read();
    await tell(NOW);
    const lines = [{ employee_id: 'emp-1', amount: '1.00' }];
    t.equal((await post('/before/taken', { lines })).status, 200);
    await tell(NOW);
    t.strictSame(await told(db), [outdated, outdated]);
  },
);

onEitherEngine('a fact about an employee who was, is or may be in a run outdates it', async (t) => {
  const { db, put, get } = await startPayroll(t);
  await employ(db, 'emp-weekly', { pay_frequency: 'weekly' });
  await employ(db, 'emp-left', { termination_date: '2026-01-31' });
  await setSchedules(db, [schedule(), schedule({ pay_frequency: 'weekly' })]);
  t.equal((await put('r')).status, 201);
  t.equal((await put('off', { kind: 'off_cycle', employee_ids: ['emp-1'] })).status, 201);
  await adopt(db);
  let last = 0;
  const tell = createOutdatedRuns(db);
  const outdates = async (what: string, ...expected: string[]) => {
    await tell(NOW);
    const runs = (await told(db)).slice(last).map(([, data]) => (data as { run_id: string }).run_id);
    t.strictSame(runs.sort(), expected, what);
    last += runs.length;
    for (const run of ['r', 'off']) t.equal((await get(`/${run}/readiness`)).status, 200);
  };
  await outdates('runs that were not read');
  await deduct(db, 'evt-weekly', { id: 'ded-weekly', employee_id: 'emp-weekly' });
  await outdates('another pay frequency');
  await deduct(db, 'evt-left', { id: 'ded-left', employee_id: 'emp-left' });
  await outdates('an employee who left before the period');
  await deduct(db, 'evt-dental', { id: 'ded-2', employee_id: 'emp-2' });
  await outdates('an employee whom the off-cycle run does not name', 'r');
  await employ(db, 'emp-new', { hire_date: '2026-07-01' });
  await outdates('a hire', 'r');
  await employ(db, 'emp-unclear', { pay_frequency: null });
  await outdates('an employee without a pay frequency', 'r');
  await employ(db, 'emp-2', { pay_frequency: 'weekly' });
  await outdates('an employee who leaves the run', 'r');
  await deduct(db, 'evt-again', { id: 'ded-2', employee_id: 'emp-2' });
  await outdates('an employee who left the run');
  await deduct(db, 'evt-more', { id: 'ded-1', employee_id: 'emp-1' });
  await outdates('an employee of both', 'off', 'r');
});

onEitherEngine('facts outdate a run that is read again before they are told', async (t) => {
  const { db, put, get } = await startPayroll(t);
  await put('r');
  await adopt(db);
  const outdated = ['run.outdated', { run_id: 'r', employer_id: EMPLOYER, pay_date: PAY_DATE }];
  const read = async () => t.equal((await get('/r/readiness')).status, 200);
  const tell = async (...expected: unknown[]) => {
    await createOutdatedRuns(db)(NOW);
    t.strictSame(await told(db), expected);
  };
  await read();
  await deduct(db, 'evt-3', { id: 'ded-3', employee_id: 'emp-2' });
  await read();
  await tell(outdated);
  await tell(outdated);
  await deduct(db, 'evt-4', { id: 'ded-4', employee_id: 'emp-2' });
  await tell(outdated, outdated);
  await read();
  await deduct(db, 'evt-5', { id: 'ded-5', employee_id: 'emp-2' });
  await read();
  await deduct(db, 'evt-6', { id: 'ded-6', employee_id: 'emp-2' });
  await tell(outdated, outdated, outdated);
  await tell(outdated, outdated, outdated);
});

onEitherEngine('a fact since a slow read began outdates a run, although a faster read saw it', async (t) => {
  const { db, put } = await startPayroll(t);
  await put('r');
  await adopt(db);
  const stored = await storedRun(db, 'r');
  const slow = await beginRead(db, stored);
  await deduct(db, 'evt-3', { id: 'ded-3', employee_id: 'emp-2' });
  const fast = await beginRead(db, stored);
  if (slow === null || fast === null) throw new Error('outdated runs are not told');
  await noteReadinessRead(db, fast);
  await noteReadinessRead(db, slow);
  await createOutdatedRuns(db)(NOW);
  t.strictSame(await told(db), [['run.outdated', notifiedRun(stored)]]);
});

onPostgres('two sidecars that compare at once tell a change once', async (t) => {
  const { db } = await scratch(t);
  await sync(db, { state: 'waiting' });
  await adopt(db);
  await Promise.all([tellComputed(db, readiness(), NOW), tellComputed(db, readiness(), NOW)]);
  t.strictSame(await told(db), [changed(EMPLOYER, 'census-syncs')]);
});

t.test('one loop compares once a minute, only what is told, and an error delays nothing else', async (t) => {
  const { db } = await scratch(t);
  const types = ['events.silent', 'schedule.ending'];
  await adoptTypes(db, notifyConfig('http://127.0.0.1', { types }));
  const asked: string[] = [];
  const ofType = (type: Computed['type'], error?: Error): Computed => ({
    type,
    states: () => {
      asked.push(type);
      if (error) throw error;
      return none();
    },
  });
  let now = NOW.getTime();
  const loop = createCompareLoop({
    ...{ db, lease: createLease(db), log: silentLog, sharedNow: async () => new Date(now) },
    computed: [
      ofType('readiness.changed'),
      ofType('events.silent', new Error('a test')),
      ofType('schedule.ending'),
    ],
    eachSecond: async () => {
      asked.push('second');
    },
  });
  for (const at of [0, 59_000, 60_000]) {
    now = NOW.getTime() + at;
    await loop.runOnce();
  }
  const minute = ['second', ...types];
  t.strictSame(asked, [...minute, 'second', ...minute]);
});
