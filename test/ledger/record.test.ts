import { type Kysely, sql } from 'kysely';
import type { Db, Tables, Trx } from '../../src/database/tables.ts';
import { transact } from '../../src/database/transaction.ts';
import type { IncomingDeduction } from '../../src/ledger/fold.ts';
import { historyOf, versionsOfEmployees } from '../../src/ledger/history.ts';
import { eventsInLedger, recordDeductions } from '../../src/ledger/record.ts';
import { verifyDeductions } from '../../src/ledger/verify-ledger.ts';
import { scratch } from '../database/scratch.ts';
import { differencesOf } from '../support/differences.ts';
import { notUnique, onEachEngine } from '../support/engine.ts';
import { afterReads, countingReads } from '../support/reads.ts';
import { incoming, RECEIVED, record } from './incoming.ts';

const test = onEachEngine.with(scratch);

const TIME = '2026-03-01T12:00:00Z';
const LATER = '2026-03-01T13:00:00Z';

const versionsOf = (db: Db) => db.selectFrom('deduction_versions').selectAll().orderBy('position').execute();
const statesIn = (db: Db) => db.selectFrom('deductions').selectAll().orderBy('deduction_id').execute();

/** The amount of the latest state of the sample deduction. */
async function latest(db: Db): Promise<string | undefined> {
  const row = await db
    .selectFrom('deductions')
    .innerJoin('deduction_versions', 'deduction_versions.position', 'deductions.position')
    .select('member_contribution')
    .executeTakeFirst();
  return row?.member_contribution;
}

test('an older event never overwrites a newer one, in any transaction', async (t, { db }) => {
  await record(db, [incoming('new', LATER, { member_contribution: '2' })]);
  await record(db, [incoming('old', TIME, { member_contribution: '1', employee_id: 'emp-2' })]);
  t.equal(await latest(db), '2');
  t.match(await versionsOf(db), [
    { event_id: 'new', late: 0, version: 1, previous_position: null },
    { event_id: 'old', late: 1, version: 2, previous_position: 1 },
  ]);
  t.match(await statesIn(db), [
    { position: 1, employee_id: 'emp-1', version_count: 2, last_received_position: 2 },
  ]);
});

test('the upsert itself rejects an older event, even if the state was read too early', async (t, { db }) => {
  await record(db, [incoming('new', LATER, { employee_id: 'emp-new' })]);
  const [before] = await statesIn(db);
  /** A transaction that reads no deductions, as if another one had written them after the read. */
  const blind = (trx: Trx): Trx =>
    new Proxy(trx, {
      get: (target, name) => {
        if (name !== 'selectFrom') {
          const member: unknown = Reflect.get(target, name, target);
          return typeof member === 'function' ? member.bind(target) : member;
        }
        return (table: 'deductions') => {
          const query = (target as Kysely<Tables>).selectFrom(table);
          return table === 'deductions' ? query.where(sql<boolean>`false`) : query;
        };
      },
    });
  await transact(db, (trx) =>
    recordDeductions(blind(trx), [incoming('old', TIME, { employee_id: 'emp-old' })], RECEIVED),
  );
  t.match(
    await versionsOf(db),
    [{ event_id: 'new' }, { event_id: 'old', late: 0 }],
    'the fold treats it as the first version',
  );
  t.strictSame(await statesIn(db), [before]);
  await transact(db, (trx) => recordDeductions(blind(trx), [incoming('tie', LATER)], RECEIVED));
  t.match(await statesIn(db), [{ position: 3 }], 'at equal times the later received wins');
});

test('an event is recorded once, and versions are never changed or removed', async (t, { db }) => {
  await record(db, [incoming('e1', TIME)]);
  const kept = await versionsOf(db);
  await t.rejects(record(db, [incoming('e2', LATER), incoming('e1', TIME)]), notUnique(t));
  const changed = transact(db, (trx) => trx.updateTable('deduction_versions').set({ late: 1 }).execute());
  await t.rejects(changed, { message: /append-only/ });
  const removed = transact(db, (trx) => trx.deleteFrom('deduction_versions').execute());
  await t.rejects(removed, { message: /append-only/ });
  t.strictSame(await versionsOf(db), kept);
  t.match(await db.selectFrom('ledger_head').selectAll().execute(), [{ position: 1 }]);
  const known = await transact(db, (trx) => eventsInLedger(trx, ['e1', 'e2']));
  t.strictSame(known, new Set(['e1']));
  t.strictSame(await transact(db, (trx) => eventsInLedger(trx, [])), new Set());
});

test('late events read only versions at their times, in one statement per batch', async (t, { db }) => {
  const deductions = ['ded-1', 'ded-2', 'ded-3'];
  const lateAt = (id: string, index: number) =>
    incoming(`late-${id}-${index}`, `2026-03-01T12:00:${10 + index}Z`, { id, member_contribution: '2' });
  const newest = deductions.map((id) => incoming(`new-${id}`, LATER, { id }));
  const history = deductions.flatMap((id) =>
    Array.from({ length: 50 }, (_, index) =>
      incoming(`${id}-${index}`, `2026-03-01T12:00:${10 + index}Z`, { id }),
    ),
  );
  await record(db, [...history, ...newest]);
  const readBy = (events: IncomingDeduction[]) =>
    transact(db, async (trx) => {
      const counted = countingReads(trx);
      await recordDeductions(counted.db, events, RECEIVED);
      return counted.reads;
    });
  const one = await readBy([lateAt('ded-1', 0)]);
  const many = await readBy(deductions.flatMap((id) => [1, 2, 3, 4].map((index) => lateAt(id, index))));
  t.equal(one.rows, 3, 'the position, the latest state and the one version at its time');
  t.equal(many.rows, 1 + 3 + 12);
  t.equal(many.statements, one.statements);
  const late = (await versionsOf(db)).filter((version) => version.late === 1);
  const marks = new Set(late.map((version) => [version.ordered_by, version.tie_changed].join()));
  t.strictSame(marks, new Set(['tie,1']));
  t.equal(late.length, 13);
});

test('every employee whom a deduction ever named has its whole history, also from late events', async (t, {
  db,
}) => {
  await record(db, [incoming('e1', LATER), incoming('e2', LATER, { id: 'ded-2' })]);
  await record(db, [incoming('e3', TIME, { employee_id: 'emp-0' }), incoming('e4', LATER)]);
  const histories = await versionsOfEmployees(db, ['emp-0', 'emp-1']);
  const eventsOf = (id: string) =>
    histories.get(id)?.map((versions) => versions.map(({ event_id }) => event_id));
  t.strictSame(eventsOf('emp-0'), [['e1', 'e3', 'e4']]);
  t.strictSame(eventsOf('emp-1'), [['e1', 'e3', 'e4'], ['e2']]);
});

test('a history has every version of the requested deductions, and no other versions', async (t, { db }) => {
  const ids = ['ded-1', 'ded-2', 'ded-1', 'ded-3', 'ded-1', 'ded-2'];
  await record(
    db,
    ids.map((id, index) => incoming(`e${index + 1}`, index === 4 ? '2020-01-01T00:00:00Z' : TIME, { id })),
  );
  const positions = async (...asked: string[]) =>
    (await historyOf(db, asked)).map(({ position }) => position);
  t.strictSame(await positions('ded-1'), [1, 3, 5]);
  t.strictSame(await positions('ded-2', 'ded-3'), [2, 4, 6]);
  t.strictSame(await positions('unknown'), []);
  t.strictSame(await positions(), []);
});

test('a version that is recorded while latest states are verified is no difference', async (t, { db }) => {
  await record(db, [incoming('new', '2026-03-01T12:00:00Z'), incoming('late', '2026-03-01T11:00:00Z')]);
  let statements = 0;
  const recording = afterReads(db, async () => {
    statements += 1;
    if (statements === 1) await record(db, [incoming('newer', '2026-03-01T13:00:00Z')]);
  });
  t.strictSame(await differencesOf((on) => verifyDeductions(recording, on)), []);
  t.ok(statements > 1, 'the history was read after the latest states');
});
