import t from 'tap';
import type { Db } from '../../src/database/tables.ts';
import { transact } from '../../src/database/transaction.ts';
import { lockLedger } from '../../src/ledger/position.ts';
import {
  activeTwice,
  employerOf,
  type NewFact,
  recordFacts,
  rosterOf,
  rosterOfEmployer,
} from '../../src/ledger/roster.ts';
import { scratch } from '../database/scratch.ts';
import { cpuTime } from '../support/cpu-time.ts';

const T1 = '2026-01-01T00:00:00.000Z';
const T2 = '2026-02-01T00:00:00.000Z';
const T3 = '2026-03-01T00:00:00.000Z';

const fact = (employee_id: string, employer_id: string, fields: Partial<NewFact> = {}): NewFact => ({
  employee_id,
  employer_id,
  hire_date: '2020-01-01',
  termination_date: null,
  employment_status: 'full_time',
  pay_frequency: 'monthly',
  pay_group: null,
  absent: 0,
  ...fields,
});

const record = (db: Db, facts: NewFact[], now = T1, asOf = now) =>
  transact(db, (trx) => recordFacts(trx, facts, { source: 'census', source_id: 'c-1', asOf }, now));

const position = (db: Db) => transact(db, (trx) => lockLedger(trx));

t.test('a fact is written when it is new or differs, on the next position', async (t) => {
  const { db } = await scratch(t);
  t.equal(await record(db, [fact('e-1', 'a'), fact('e-2', 'a')]), 2);
  t.equal(await record(db, [fact('e-1', 'a'), fact('e-2', 'a')], T2), 0, 'nothing differs');
  t.equal(await position(db), 2);
  t.equal(await record(db, [fact('e-1', 'a'), fact('e-2', 'a', { pay_group: 'x' })], T2), 1);
  t.equal(await position(db), 3);
  t.match((await rosterOf(db, ['e-2'])).get('e-2'), [{ position: 3, pay_group: 'x' }]);
  t.equal(await record(db, [], T2), 0);
});

t.test('each field of a fact counts as a difference', async (t) => {
  const { db } = await scratch(t);
  await record(db, [fact('e-1', 'a')]);
  const changes: Partial<NewFact>[] = [
    { hire_date: '2021-01-01' },
    { termination_date: '2026-12-31' },
    { employment_status: 'part_time' },
    { pay_frequency: null },
    { pay_group: 'x' },
    { absent: 1 },
  ];
  for (const change of changes)
    t.equal(await record(db, [fact('e-1', 'a', change)], T2), 1, Object.keys(change).join());
});

t.test('a fact that was recorded after what the source speaks of stands', async (t) => {
  const { db } = await scratch(t);
  await record(db, [fact('e-1', 'a', { termination_date: '2026-02-28' })], T2);
  t.equal(await record(db, [fact('e-1', 'a')], T3, T1), 0);
  t.equal(await record(db, [fact('e-1', 'a')], T3), 1);
});

t.test('the roster as it was known at an instant', async (t) => {
  const { db } = await scratch(t);
  await record(db, [fact('e-1', 'a')], T1);
  await record(db, [fact('e-1', 'a', { absent: 1 }), fact('e-1', 'b')], T3);
  const at = async (instant?: string) => (await rosterOf(db, ['e-1'], instant)).get('e-1') ?? [];
  t.strictSame(await at('2025-12-31T00:00:00.000Z'), []);
  t.match(await at(T2), [{ employer_id: 'a', absent: 0 }]);
  t.match(await at(T3), [
    { employer_id: 'a', absent: 1 },
    { employer_id: 'b', absent: 0 },
  ]);
  t.strictSame(await at(), await at(T3));
});

t.test('hired again, moved, absent and back: whose an employee is follows the facts', async (t) => {
  const { db } = await scratch(t);
  const on = async (day: string) => employerOf((await rosterOf(db, ['e-1'])).get('e-1') ?? [], day);
  await record(db, [fact('e-1', 'a', { termination_date: '2025-06-30' })]);
  t.equal(await on('2025-07-01'), 'a', 'gone, and nobody else has the employee');
  await record(db, [fact('e-1', 'b', { hire_date: '2025-08-01' })], T2);
  t.equal(await on('2025-09-01'), 'b', 'moved');
  await record(db, [fact('e-1', 'a', { hire_date: '2026-01-01' })], T2);
  t.equal(await on('2026-01-15'), null, 'hired again by the first while with the second');
  await record(db, [fact('e-1', 'b', { hire_date: '2025-08-01', absent: 1 })], T3);
  t.equal(await on('2026-01-15'), 'a', 'absent from the second');
  await record(db, [fact('e-1', 'b', { hire_date: '2025-08-01' })], T3);
  t.equal(await on('2026-01-15'), null, 'back again');
});

t.test('employees active with two employers at once are listed by page', async (t) => {
  const { db } = await scratch(t);
  const ids = ['e-1', 'e-2', 'e-3', 'e-4', 'e-5'];
  await record(
    db,
    ids.flatMap((id) => [fact(id, 'a'), fact(id, 'b')]),
  );
  await record(
    db,
    [fact('e-2', 'a', { absent: 1 }), fact('e-4', 'b', { termination_date: '2026-01-31' })],
    T2,
  );
  const list = async (day: string, after = '', limit = 10) =>
    (await activeTwice(db, day, { after, limit })).map(({ employee_id }) => employee_id);
  t.strictSame(await list('2026-01-31'), ['e-1', 'e-3', 'e-4', 'e-5']);
  t.strictSame(await list('2026-02-01'), ['e-1', 'e-3', 'e-5']);
  t.strictSame(await list('2026-02-01', 'e-1', 1), ['e-3']);
  t.strictSame(await list('2019-12-31'), [], 'not hired yet');
});

t.test("an employer's roster is read in pages", async (t) => {
  const { db } = await scratch(t);
  await record(db, [fact('e-3', 'a'), fact('e-1', 'a'), fact('e-2', 'b'), fact('e-4', 'a')]);
  const page = async (after: string) =>
    (await rosterOfEmployer(db, 'a', { after, limit: 2 })).map(({ employee_id }) => employee_id);
  t.strictSame(await page(''), ['e-1', 'e-3']);
  t.strictSame(await page('e-3'), ['e-4']);
});

t.test('facts of 250 employees hold the write lock for less than 50 ms', async (t) => {
  const { db } = await scratch(t);
  const facts = (n: number) => Array.from({ length: 250 }, (_, index) => fact(`e-${n}-${index}`, 'a'));
  await record(db, facts(0));
  const times: number[] = [];
  for (let n = 1; n <= 9; n += 1) {
    times.push((await cpuTime(() => record(db, facts(n)))).cpuMs);
  }
  const median = times.sort((a, b) => a - b)[4] as number;
  t.ok(median < 50, `median ${median.toFixed(1)} ms`);
});
