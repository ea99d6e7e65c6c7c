import t from 'tap';
import type { Db } from '../../src/database/tables.ts';
import { transact } from '../../src/database/transaction.ts';
import { finalizeChecked } from '../../src/payroll/runs/finalize-gate.ts';
import { findRun, frozenOf, putRun, type StoredRun, viewRun, voidRun } from '../../src/payroll/runs/store.ts';
import { deduct, LATELY, NOW, QUESTION, readyEmployer, runOn, schedules } from './ready.ts';

const RUN_ID = 'acme-2026-07-17';
const FORCE = { reason: 'the service confirmed both by telephone' };

/** A ready employer whose run is put. */
async function start(t: Parameters<typeof readyEmployer>[0]): Promise<Db> {
  const db = await readyEmployer(t);
  await transact(db, (trx) => putRun(trx, RUN_ID, runOn('2026-07-17'), LATELY));
  return db;
}

const finalize = (db: Db, asked: { force?: typeof FORCE; ifMatch?: string; runId?: string } = {}) =>
  finalizeChecked(db, asked.runId ?? RUN_ID, {
    ifMatch: asked.ifMatch ?? null,
    force: asked.force ?? null,
    question: QUESTION,
  });

const run = async (db: Db, runId = RUN_ID) => (await findRun(db, runId)) as StoredRun;

/** Lines that nobody stands for. */
async function leftBehind(db: Db): Promise<number> {
  const lines = await db.selectFrom('run_employees').selectAll().execute();
  const freezes = await db.selectFrom('run_freezes').selectAll().execute();
  return lines.length + freezes.length;
}

/** Two deductions of `emp-1` for one line of coverage. */
const overlap = (db: Db) => deduct(db, 'evt-3', { id: 'ded-3', employee_id: 'emp-1' });

t.test('a run that is ready is finalized, when it was asked', async (t) => {
  const db = await start(t);
  t.match(await finalize(db), { outcome: 'finalized', stored: { finalized_at: NOW.toISOString() } });
  t.match(await run(db), { state: 'finalized', force_reason: null });
  t.strictSame(frozenOf(await run(db)).failed_checks, []);
});

t.test('a warning stops nothing, and a reason that is not needed is not kept', async (t) => {
  const db = await start(t);
  await schedules(db, []);
  t.match(await finalize(db, { force: FORCE }), { outcome: 'finalized' });
  t.match(await run(db), { force_reason: null });
});

t.test('a failed check leaves the run open, with the report, and nothing half-done', async (t) => {
  const db = await start(t);
  await overlap(db);
  const refused = await finalize(db);
  t.match(refused, { outcome: 'not-ready', report: { ready: false, checked_at: NOW.toISOString() } });
  if (refused.outcome !== 'not-ready') return;
  t.match(
    refused.report.checks.filter(({ result }) => result === 'fail'),
    [{ id: 'overlap', count: 1, examples: ['emp-1'] }],
  );
  t.match(await run(db), { state: 'open', freeze_id: null, force_reason: null });
  t.equal(await leftBehind(db), 0);
});

t.test('with a reason it is finalized all the same; the reason and what failed are kept', async (t) => {
  const db = await start(t);
  await overlap(db);
  await deduct(db, 'evt-4', { period: 'daily' });
  t.match(await finalize(db, { force: FORCE }), { outcome: 'finalized' });
  t.match(await run(db), { state: 'finalized', force_reason: FORCE.reason });
  t.strictSame(frozenOf(await run(db)).failed_checks, ['events-quarantined', 'overlap']);
});

t.test('what is asked about is what is going to stand, not what was reviewed', async (t) => {
  const db = await start(t);
  const { etag } = await viewRun(db, await run(db));
  await overlap(db);
  t.match(
    await finalize(db, { ifMatch: etag }),
    { outcome: 'stale' },
    'the lines are others: that goes first',
  );
  const now = await viewRun(db, await run(db));
  t.match(await finalize(db, { ifMatch: now.etag }), { outcome: 'not-ready' });
  t.match(await finalize(db, { ifMatch: now.etag, force: FORCE }), { outcome: 'finalized' });
});

t.test('an overlap that was finalized with a reason needs none in the next run', async (t) => {
  const db = await start(t);
  await overlap(db);
  await finalize(db, { force: FORCE });
  await transact(db, (trx) => putRun(trx, 'next', runOn('2026-07-31'), LATELY));
  t.match(await finalize(db, { runId: 'next' }), { outcome: 'finalized' });
  for (const runId of ['next', RUN_ID]) {
    await transact(db, (trx) => voidRun(trx, runId, { reason: 'wrong', now: LATELY }));
  }
  await transact(db, (trx) => putRun(trx, 'again', runOn('2026-07-31'), LATELY));
  t.match(
    await finalize(db, { runId: 'again' }),
    { outcome: 'not-ready' },
    'a voided run has settled nothing',
  );
});

t.test('no reason finalizes what can not be', async (t) => {
  const db = await start(t);
  t.match(await finalize(db, { runId: 'none', force: FORCE }), { outcome: 'unknown' });
  await finalize(db);
  t.match(await finalize(db, { force: FORCE }), { outcome: 'not-open' });
  await transact(db, (trx) => putRun(trx, 'twin', runOn('2026-07-17'), LATELY));
  t.match(await finalize(db, { runId: 'twin', force: FORCE }), { outcome: 'date-taken', by: RUN_ID });
});
