import type { SharedNow } from '../../../src/database/engine.ts';
import type { Db, Trx } from '../../../src/database/tables.ts';
import { transact } from '../../../src/database/transaction.ts';
import { finalizeRun } from '../../../src/payroll/lifecycle/finalize.ts';
import { viewRun } from '../../../src/payroll/lifecycle/results.ts';
import { bodyOf, findRun, putRun, type StoredRun } from '../../../src/payroll/records/runs.ts';
import { setApproval } from '../../../src/payroll/settings/approval.ts';
import type { PayDate } from '../../../src/payroll/settings/schedules.ts';
import { finalizeChecked, readinessOfRun } from '../../../src/readiness/run-report.ts';
import { tokenActor } from '../../../src/security/audit.ts';
import { acting } from '../../support/audit.ts';
import { onEitherEngine } from '../../support/engine.ts';
import {
  BIWEEKLY,
  dateOf,
  deduct,
  EMPLOYER,
  employ,
  etagOf,
  finalizedOn,
  LATELY,
  NOW,
  QUESTION,
  READY,
  readyEmployer,
  runOn,
  schedule,
  setSchedules,
  voided,
} from '../../support/payroll.ts';

const PAYROLL = tokenActor({ tokenId: 'tok_1', name: 'payroll' }, 'ada');

const RUN_ID = 'acme-2026-07-17';
const REASON = 'the service confirmed both by telephone';

/** A ready employer with a run. */
async function start(t: Parameters<typeof readyEmployer>[0]): Promise<Db> {
  const db = await readyEmployer(t);
  await transact(db, (trx) => putRun(trx, RUN_ID, runOn('2026-07-17'), acting(LATELY)));
  return db;
}

const test = onEitherEngine.with(start);

type Asked = { accept?: string[]; ifMatch?: string; runId?: string };

const finalize = async (db: Db, { accept, ifMatch, runId = RUN_ID }: Asked = {}) =>
  finalizeChecked(db, runId, {
    actor: PAYROLL,
    ifMatch: ifMatch ?? (await etagOf(db, runId)),
    accept: accept === undefined ? null : { checks: accept, reason: REASON },
    sharedNow: async () => NOW,
    question: QUESTION,
  });

/** Accepts checks by the current readiness report. */
const accepting = async (db: Db, accept: string[], runId = RUN_ID) =>
  finalize(db, { accept, runId, ifMatch: (await report(db, runId)).etag });

const report = async (db: Db, runId = RUN_ID) =>
  readinessOfRun(db, bodyOf(await run(db, runId)), runId, QUESTION);

const run = async (db: Db, runId = RUN_ID) => (await findRun(db, runId)) as StoredRun;

const FINDINGS_CHANGED = { code: 'PRECONDITION_FAILED', message: /^To accept findings/ };

/** Two deductions of `emp-1` for one line of coverage. */
const overlap = (db: Db) => deduct(db, 'evt-3', { id: 'ded-3', employee_id: 'emp-1' });

test('a warning does not stop finalizing, and an unneeded reason is not stored', async (t, db) => {
  await setSchedules(db, []);
  t.match(await finalize(db, { accept: ['overlap'] }), { outcome: 'finalized' });
  t.match(await run(db), { accept_reason: null });
});

test('only the failures of the report whose ETag is sent are accepted', async (t, db) => {
  await overlap(db);
  const { etag } = await viewRun(db, await run(db));
  await t.rejects(finalize(db, { accept: ['overlap'] }), FINDINGS_CHANGED, 'no ETag');
  const byLines = finalize(db, { accept: ['overlap'], ifMatch: etag });
  await t.rejects(byLines, FINDINGS_CHANGED, 'the ETag of the lines');
  const reviewed = (await report(db)).etag;
  await deduct(db, 'evt-5', { id: 'ded-5', employee_id: 'emp-2', line_of_coverage: 'dental' });
  const another = finalize(db, { accept: ['overlap'], ifMatch: reviewed });
  await t.rejects(another, FINDINGS_CHANGED, 'another overlap since');
  t.match(await accepting(db, ['overlap']), { outcome: 'finalized' });
});

test('a warning with ids can be accepted by name, and is then remembered', async (t, db) => {
  const elect = (id: string, employee_id: string, starts: string, amount: string, sent: string) =>
    deduct(
      db,
      `${id}-${sent}`,
      {
        ...{ id, employee_id, line_of_coverage: 'vision', employer_contribution: '0' },
        ...{ effective_start: starts, member_contribution: amount },
      },
      `${sent}T00:00:00Z`,
    );
  const move = async (id: string, employeeId: string) => {
    await elect(id, employeeId, '2026-07-01', '10.00', '2026-06-01');
    await elect(id, employeeId, '2026-08-01', '20.00', '2026-06-20');
  };
  await move('ded-3', 'emp-1');
  const moved = async () =>
    (await readinessOfRun(db, runOn('2026-07-31'), null, QUESTION)).checks.find(
      ({ id }) => id === 'start-moved',
    );
  t.match(await moved(), { result: 'warn', count: 1 });
  const accept = ['start-moved'];
  await t.rejects(finalize(db, { accept }), FINDINGS_CHANGED, 'no ETag');
  const { etag } = await report(db);
  await move('ded-4', 'emp-2');
  const since = finalize(db, { accept, ifMatch: etag });
  await t.rejects(since, FINDINGS_CHANGED, 'another one since');
  t.match(await accepting(db, accept), { outcome: 'finalized', stored: { accept_reason: REASON } });
  t.match(await moved(), { result: 'accepted', count: 0, accepted: [{ text: /^emp-1: / }, {}] });
  await elect('ded-3', 'emp-1', '2026-08-01', '30.00', '2026-06-25');
  t.match(await moved(), { result: 'warn', count: 1, accepted: [{ text: /^emp-2: / }] }, 'a new version');
  await transact(db, (trx) => putRun(trx, 'next', runOn('2026-07-31'), acting(LATELY)));
  t.match(await finalize(db, { runId: 'next' }), { outcome: 'finalized' });
});

test('an accepted event stays accepted when its employee becomes known', async (t, db) => {
  await deduct(db, 'evt-3', { employer_id: EMPLOYER, employee_id: 'emp-9', period: 'daily' });
  const quarantined = async (runId = RUN_ID) =>
    (await report(db, runId)).checks.find(({ id }) => id === 'events-quarantined');
  t.match(await quarantined(), { result: 'fail', findings: [{ text: 'evt-3', event_id: 'evt-3' }] });
  await accepting(db, ['events-quarantined']);
  await employ(db, 'emp-9');
  await transact(db, (trx) => putRun(trx, 'next', runOn('2026-07-31'), acting(LATELY)));
  const accepted = [{ text: 'evt-3: emp-9, medical', employee_id: 'emp-9', reason: REASON }];
  t.match(await quarantined('next'), { result: 'accepted', findings: [], accepted });
});

test('two deductions of a line of coverage are accepted once, whatever their amounts', async (t, db) => {
  await overlap(db);
  const found = async () =>
    (await readinessOfRun(db, runOn('2026-07-31'), null, QUESTION)).checks.find(({ id }) => id === 'overlap');
  t.match(await found(), { result: 'fail', count: 1 });
  t.match(await accepting(db, ['overlap']), { outcome: 'finalized' });
  await deduct(
    db,
    'evt-4',
    { id: 'ded-3', employee_id: 'emp-1', member_contribution: '7' },
    '2026-02-01T00:00:00Z',
  );
  t.match(await found(), { result: 'accepted', count: 0 }, 'another amount');
  await deduct(db, 'evt-5', { id: 'ded-5', employee_id: 'emp-1', taxability: 'post_tax' });
  t.match(
    await found(),
    { result: 'fail', count: 2 },
    'a third deduction makes two new pairs, also a post-tax one',
  );
});

test('findings about employees are remembered until another deduction is concerned', async (t, db) => {
  await employ(db, 'emp-1', { absent: 1 });
  await employ(db, 'emp-2', { termination_date: '2026-07-01' });
  await employ(db, 'emp-2');
  await employ(db, 'emp-3', { pay_frequency: 'monthly' });
  await deduct(db, 'evt-3', { id: 'ded-3', employee_id: 'emp-3' });
  const checks = ['employees-not-scheduled', 'termination-contradicted', 'absent-from-census'];
  t.match(await accepting(db, checks), { outcome: 'finalized' });
  const results = async () => {
    const { checks: all } = await readinessOfRun(db, runOn('2026-07-31'), null, QUESTION);
    return all.filter(({ id }) => checks.includes(id)).map(({ result }) => result);
  };
  t.strictSame(await results(), ['accepted', 'accepted', 'accepted']);
  await deduct(db, 'evt-4', { id: 'ded-4', employee_id: 'emp-3', line_of_coverage: 'dental' });
  t.strictSame(await results(), ['fail', 'accepted', 'accepted']);
});

test('a share of the year that differs is accepted for its frequency, group and year', async (t, db) => {
  await finalizedOn(db, '2026-07-03');
  const setDates = (pay_dates: PayDate[]) => setSchedules(db, [schedule({ pay_dates })]);
  await setDates([...BIWEEKLY, dateOf('2026-12-31', 13)]);
  t.match(await accepting(db, ['calendar-differs']), { outcome: 'finalized' });
  await voided(db, RUN_ID);
  const again = async () =>
    (await readinessOfRun(db, runOn('2026-07-17'), null, QUESTION)).checks.find(
      ({ id }) => id === 'calendar-differs',
    );
  t.match(await again(), { result: 'accepted', count: 0 });
  await setDates(BIWEEKLY.slice(0, 25));
  // 1,800.00 − 14 × 69.23 = 830.78 are left for 11 checks.
  t.match(await again(), {
    result: 'fail',
    findings: [{ text: '69.23 until now; 830.78 left of 1,800.00, on 11 checks; 75.52' }],
  });
});

test('a year in fewer checks is accepted once', async (t, db) => {
  await setSchedules(db, [schedule({ pay_dates: BIWEEKLY.slice(0, 20), year_in_fewer_checks: true })]);
  t.match(await accepting(db, ['short-year']), { outcome: 'finalized' });
  const { ready, checks } = await readinessOfRun(db, runOn('2026-07-31'), null, QUESTION);
  t.match(
    checks.find(({ id }) => id === 'short-year'),
    { result: 'accepted', count: 0 },
  );
  t.equal(ready, true);
});

test('a run is not final if a second approval is required since its review', async (t, db) => {
  const required = { required: true, reason: 'a test', person: 'ann' };
  let isReviewed = false;
  const review = async () => {
    isReviewed = true;
    return READY;
  };
  // The transaction that makes the run final reads the time first.
  const sharedNow: SharedNow = async (trx) => {
    if (isReviewed && trx.isTransaction) {
      isReviewed = false;
      await setApproval(trx as Trx, EMPLOYER, required, acting(LATELY));
    }
    return NOW;
  };
  const ifMatch = await etagOf(db, RUN_ID);
  const request = { ifMatch, accept: null, actor: PAYROLL, sharedNow };
  await t.rejects(finalizeRun(db, RUN_ID, request, review), { code: 'APPROVAL_MISSING' });
});
