import { randomUUID } from 'node:crypto';
import { piecesOf } from '../../src/database/bulk.ts';
import type { Db } from '../../src/database/tables.ts';
import { transact } from '../../src/database/transaction.ts';
import { activeTwice } from '../../src/ledger/checks.ts';
import { createEmployeeSets, KEPT_MAX } from '../../src/ledger/employee-sets.ts';
import { lockLedger, transactOnLedger } from '../../src/ledger/position.ts';
import {
  deductionsKnownAt,
  employeesOf,
  type NewFact,
  recordFacts,
  rosterOf,
} from '../../src/ledger/roster.ts';
import { deductionOf, deliver } from '../api/deliver.ts';
import { censusOf, person, stage } from '../census/parts.ts';
import { scratch } from '../database/scratch.ts';
import { report } from '../employment/stage.ts';
import { startApplying } from '../inbox/applying.ts';
import { deduction } from '../inbox/bodies.ts';
import { setClock } from '../outbox/parts.ts';
import { cpuTime } from '../support/cpu-time.ts';
import { liftTimeLimits, lockWaits, onEitherEngine, onPostgres } from '../support/engine.ts';
import { eventually } from '../support/eventually.ts';
import { employment } from '../support/payroll.ts';
import { countingReads } from '../support/reads.ts';

const test = onEitherEngine.with(scratch);

const T1 = '2026-01-01T00:00:00.000Z';
const T2 = '2026-02-01T00:00:00.000Z';
const T3 = '2026-03-01T00:00:00.000Z';

const fact = (employee_id: string, employer_id: string, fields: Partial<NewFact> = {}): NewFact =>
  employment(employee_id, { employer_id, ...fields });

const record = (db: Db, facts: NewFact[], now = T1, asOf = now) =>
  transact(db, (trx) => recordFacts(trx, facts, { source: 'census', source_id: randomUUID(), asOf }, now));

const position = (db: Db) => transact(db, (trx) => lockLedger(trx));

test('a census report without changes is not stored and takes no position', async (t, { db }) => {
  t.equal(await record(db, [fact('e-1', 'a'), fact('e-2', 'a')]), 2);
  t.equal(await record(db, [fact('e-1', 'a'), fact('e-2', 'a')], T2), 0);
  t.equal(await position(db), 2);
  t.equal(await record(db, [fact('e-1', 'a'), fact('e-2', 'a', { pay_group: 'x' })], T2), 1);
  t.equal(await position(db), 3);
  t.match((await rosterOf(db, ['e-2'])).get('e-2'), [{ position: 2 }, { position: 3, pay_group: 'x' }]);
  t.equal(await record(db, [], T2), 0);
});

test('each changed attribute makes a census report new', async (t, { db }) => {
  await record(db, [fact('e-1', 'a')]);
  const changes: Partial<NewFact>[] = [
    { hire_date: '2021-01-01' },
    { termination_date: '2026-12-31' },
    { employment_status: 'part_time' },
    { pay_frequency: 'weekly' },
    { pay_group: 'x' },
    { absent: 1 },
    { effective_on: '2026-02-01' },
  ];
  for (const change of changes)
    t.equal(await record(db, [fact('e-1', 'a', change)], T2), 1, Object.keys(change).join());
});

test('a report received after a census is not undone by it', async (t, { db }) => {
  await record(db, [fact('e-1', 'a')]);
  const changed = [
    { employee_id: 'e-1', employer_id: 'a', termination_date: '2026-01-31' },
    { employee_id: 'e-1', employer_id: 'a', pay_frequency: 'weekly' },
  ];
  await transact(db, (trx) => recordFacts(trx, changed, { source: 'termination', source_id: 't-1' }, T3));
  t.equal(await record(db, [fact('e-1', 'a', { pay_group: 'x' })], T3, T2), 1);
  const [, , , census] = (await rosterOf(db, ['e-1'])).get('e-1') ?? [];
  t.match(census, { hire_date: null, absent: null, pay_frequency: null, pay_group: 'x', recorded_at: T2 });
});

test('the roster can be read as known at a position', async (t, { db }) => {
  await record(db, [fact('e-1', 'a')], T1);
  await record(db, [fact('e-1', 'a', { absent: 1 }), fact('e-1', 'b')], T3);
  t.strictSame((await rosterOf(db, ['e-1'], 0)).get('e-1'), undefined);
  t.match((await rosterOf(db, ['e-1'], 1)).get('e-1'), [{ employer_id: 'a', absent: 0 }]);
  t.strictSame(await rosterOf(db, ['e-1'], 3), await rosterOf(db, ['e-1']));
});

test('employees active with two employers at once are listed', async (t, { db }) => {
  const ids = ['e-1', 'e-2', 'e-3', 'e-4', 'e-5'];
  const facts = ids.flatMap((id) => [fact(id, 'a'), fact(id, 'b')]);
  await record(db, facts);
  const again = [fact('e-2', 'a', { absent: 1 }), fact('e-4', 'b', { termination_date: '2026-01-31' })];
  await record(db, again, T2);
  t.strictSame(await activeTwice(db, '2026-01-31', 10), ids, 'absent from February 1');
  t.strictSame(await activeTwice(db, '2026-02-01', 10), ['e-1', 'e-3', 'e-5']);
  t.strictSame(await activeTwice(db, '2026-02-01', 2), ['e-1', 'e-3']);
  t.strictSame(await activeTwice(db, '2019-12-31', 10), [], 'not hired yet');
  await record(db, [
    fact('e-6', 'a', { termination_date: '2026-05-04' }),
    fact('e-6', 'b', { hire_date: '2026-05-04' }),
    fact('e-7', 'a', { termination_date: '2026-05-05' }),
    fact('e-7', 'b', { hire_date: '2026-05-04' }),
    fact('e-8', 'a', { termination_date: '2026-05-04' }),
    fact('e-8', 'b', { hire_date: '2026-05-04', termination_date: '2026-05-04' }),
  ]);
  for (const id of ['e-6', 'e-8'])
    t.notOk((await activeTwice(db, '2026-05-04', 10)).includes(id), 'one common day is a transfer');
  t.ok((await activeTwice(db, '2026-05-04', 10)).includes('e-7'), 'two common days');
});

test('shared employees are found even if there are too many to keep', async (t, { db }) => {
  const ids = Array.from({ length: KEPT_MAX + 5 }, (_, n) => `e-${String(n).padStart(5, '0')}`);
  for (const some of piecesOf(ids, 100)) {
    const facts = some.flatMap((id) => [fact(id, 'a'), fact(id, 'b')]);
    await record(db, facts);
  }
  t.strictSame(await activeTwice(db, '2026-02-01', ids.length), ids);
  t.strictSame(await activeTwice(db, '2026-02-01', 300), ids.slice(0, 300));
});

test("an employer's employees are read in pages", async (t, { db }) => {
  await record(db, [fact('e-3', 'a'), fact('e-1', 'a'), fact('e-2', 'b'), fact('e-4', 'a')]);
  const page = (after: string) => employeesOf(db, 'a', { after, limit: 2 });
  t.strictSame(await page(''), ['e-1', 'e-3']);
  t.strictSame(await page('e-3'), ['e-4']);
});

test('facts of 250 employees hold the write lock for less than 50 ms', async (t, { db }) => {
  const facts = (n: number) => Array.from({ length: 250 }, (_, index) => fact(`e-${n}-${index}`, 'a'));
  await record(db, facts(0));
  const times: number[] = [];
  for (let n = 1; n <= 9; n += 1) times.push((await cpuTime(() => record(db, facts(n)))).cpuMs);
  const median = times.sort((a, b) => a - b)[4] as number;
  t.ok(median < 50, `median ${median.toFixed(1)} ms`);
});

let events = 0;
/** Delivers deductions of these employees. */
const deduct = (db: Db, employees: readonly string[]) =>
  deliver(
    db,
    employees.map((employee_id) => {
      events += 1;
      return deductionOf(`e-${events}`, { id: `d-${events}`, employee_id });
    }),
  );

/** Stages a census with these employees. */
const name = (db: Db, employerId: string, employees: readonly string[]) =>
  record(
    db,
    employees.map((id) => fact(id, employerId)),
  );

test('the set of employees without a census follows new deductions and censuses', async (t, { db }) => {
  const { unmatched } = createEmployeeSets(db);
  t.strictSame(await unmatched(), []);
  await deduct(db, ['e-2', 'e-1', 'E-3']);
  t.strictSame(await unmatched(), ['E-3', 'e-1', 'e-2'], 'in byte order');
  await name(db, 'acme', ['e-1', 'e-9']);
  t.strictSame(await unmatched(), ['E-3', 'e-2']);
  await deduct(db, ['e-9', 'e-4']);
  await name(db, 'acme', ['E-3']);
  t.strictSame(await unmatched(), ['e-2', 'e-4']);
  await name(db, 'acme', ['e-2', 'e-4']);
  t.strictSame(await unmatched(), []);
});

test('a deduction known at an employer is read once per employee, however many versions it has', async (t, {
  db,
}) => {
  await name(db, 'acme', ['e-1', 'e-2']);
  const events = ['e-1', 'e-1', 'e-2', 'e-1'].map((employee_id, index) =>
    deductionOf(`known-${index}`, { id: 'ded-known', employee_id }),
  );
  await deliver(db, events);
  const { db: counted, reads } = countingReads(db);
  const known = await deductionsKnownAt(counted, 'acme', ['ded-known']);
  t.strictSame([...(known.get('ded-known') ?? [])].sort(), ['e-1', 'e-2']);
  t.strictSame(reads, { statements: 1, rows: 2 });
});

test('the set of employees with two employers follows new censuses', async (t, { db }) => {
  const { shared } = createEmployeeSets(db);
  await name(db, 'acme', ['e-1', 'e-2']);
  t.strictSame(await shared(), []);
  await name(db, 'birch', ['e-2', 'e-3']);
  t.strictSame(await shared(), ['e-2']);
  await name(db, 'cedar', ['e-1', 'e-2']);
  t.strictSame(await shared(), ['e-1', 'e-2']);
});

test('a repeated call reads only what was added since', async (t, { db }) => {
  const { unmatched } = createEmployeeSets(db);
  await name(db, 'acme', ['e-1']);
  await deduct(db, ['e-1', 'e-2']);
  await unmatched();
  // A read of the whole ledger would find this row.
  const version = await db.selectFrom('deduction_versions').selectAll().limit(1).executeTakeFirstOrThrow();
  const before = { position: 0, event_id: 'before', employee_id: 'e-0', deduction_id: 'd-0' };
  await transact(db, (trx) =>
    trx
      .insertInto('deduction_versions')
      .values({ ...version, ...before })
      .execute(),
  );
  await deduct(db, ['e-3']);
  t.strictSame(await unmatched(), ['e-2', 'e-3']);
});

test('a set beyond the limit is reported up to the limit until it shrinks', async (t, { db }) => {
  const { unmatched } = createEmployeeSets(db);
  const many = Array.from({ length: KEPT_MAX + 5 }, (_, at) => `e-${String(at).padStart(5, '0')}`);
  await deduct(db, many);
  t.strictSame(await unmatched(), many.slice(0, KEPT_MAX));
  for (let at = 0; at < many.length - 3; at += 250)
    await name(db, 'acme', many.slice(at, Math.min(at + 250, many.length - 3)));
  t.strictSame(await unmatched(), many.slice(-3));
  await name(db, 'acme', many.slice(-3));
  t.strictSame(await unmatched(), []);
});

/** Every writer reaches its lock within this time. */
const LOOKS = 30;

onPostgres('a process has at most one connection that waits for the ledger', async (t) => {
  const { db, loop, store } = await startApplying(t);
  await store(deduction('a'));
  const release = Promise.withResolvers<void>();
  const isLocked = Promise.withResolvers<void>();
  const holding = transact(db, async (trx) => {
    await liftTimeLimits(trx);
    await lockLedger(trx);
    isLocked.resolve();
    await release.promise;
  });
  await isLocked.promise;
  const writing = Promise.all([
    loop.runOnce(),
    report(db, 'termination', 'emp-1'),
    report(db, 'termination', 'emp-2'),
    stage(db, setClock(), censusOf([person('emp-3')])),
    transactOnLedger(db, async () => 'written'),
  ]);
  // The first writers also wait for each other's row in hash_keys.
  const waiting = () => lockWaits(db, 'ledger_head');
  await eventually('the first one waits', waiting, (count) => count > 0);
  for (let looks = 0; looks < LOOKS; looks += 1) t.equal(await waiting(), 1);
  release.resolve();
  await holding;
  t.match(await writing, [{ applied: 1 }, String, String, { ok: true }, 'written']);
});

onPostgres('a writer of the ledger waits for a limited time, and the next one still writes', async (t) => {
  const { db } = await scratch(t);
  const release = Promise.withResolvers<void>();
  const first = transactOnLedger(db, () => release.promise);
  const locking = transactOnLedger(db, async () => t.fail('it gave up'), 1);
  await t.rejects(locking, { code: 'LOCK_TIMEOUT' });
  const third = transactOnLedger(db, async () => 'written');
  release.resolve();
  await first;
  t.equal(await third, 'written');
});

onPostgres('a failed transaction does not block the next one', async (t) => {
  const { db } = await scratch(t);
  const failing = transactOnLedger(db, async () => {
    throw new Error('content');
  });
  const next = transactOnLedger(db, async () => 'written');
  await t.rejects(failing, /content/);
  t.equal(await next, 'written');
});
