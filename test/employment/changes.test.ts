import type { Test } from 'tap';
import type { Db } from '../../src/database/tables.ts';
import { transact } from '../../src/database/transaction.ts';
import {
  actOnChange,
  type ChangeFilter,
  findChange,
  listChanges,
  undeliveredChanges,
} from '../../src/employment/changes.ts';
import { allPages } from '../../src/formats/cursor.ts';
import { recordFacts } from '../../src/ledger/roster.ts';
import { cancelManually, retryManually } from '../../src/outbox/manual.ts';
import { SENDING_OFF, startPilot } from '../../src/outbox/pilot.ts';
import type { Action } from '../../src/security/audit.ts';
import { scratch } from '../database/scratch.ts';
import { START } from '../outbox/parts.ts';
import { acting } from '../support/audit.ts';
import { onEitherEngine } from '../support/engine.ts';
import { EMPLOYER, employment, learn } from '../support/payroll.ts';
import { oweCensus, report, service } from './stage.ts';

const NOW = START.toISOString();

const idsOf = async (db: Db, filter: ChangeFilter = {}) =>
  (await listChanges(db, filter, { limit: 100 })).data.map((change) => change.id);

const retryChange = (db: Db, id: string, options: Parameters<typeof retryManually>[2]) =>
  actOnChange(db, id, (trx) => retryManually(trx, id, options));

const cancelChange = (db: Db, id: string, options: Parameters<typeof cancelManually>[2]) =>
  actOnChange(db, id, (trx) => cancelManually(trx, id, options));

const found = async (db: Db, id: string) => {
  const whole = await findChange(db, id);
  if (whole === null) throw new Error(`no change ${id}`);
  return whole;
};

async function staged(t: Test) {
  const { db } = await scratch(t);
  return { db, ...(await service(t, db)) };
}

onEitherEngine('changes are listed newest first, in pages, without census uploads', async (t) => {
  const { db } = await staged(t);
  const ids: string[] = [];
  for (let index = 0; index < 5; index += 1) ids.push(await report(db, 'demographic', `e-${index}`));
  await oweCensus(db);
  const seen: string[] = [];
  for await (const changes of allPages((cursor) => listChanges(db, {}, { cursor, limit: 2 })))
    seen.push(...changes.map((change) => change.id));
  t.strictSame(seen, ids.toReversed());
  t.equal(await findChange(db, 'no-such-change'), null);
});

onEitherEngine('changes that the service lacks are counted and listed by employer', async (t) => {
  const { db, answers, send } = await staged(t);
  const source = { source: 'census', source_id: 'before' } as const;
  const before = employment('moved', { employer_id: 'other' });
  await transact(db, (trx) => recordFacts(trx, [before], source, '2026-01-01T00:00:00.000Z'));
  const rejected = await report(db, 'demographic', 'a');
  await report(db, 'demographic', 'c');
  answers.set(rejected, 422);
  await send();
  const waiting = [await report(db, 'demographic', 'b'), await report(db, 'termination', 'b')];
  const ofMoved = await report(db, 'demographic', 'moved');
  await oweCensus(db);
  await learn(
    db,
    ...['a', 'b'].map((id) => employment(id)),
    employment('c', { employer_id: 'other' }),
    employment('moved', { employer_id: 'other', termination_date: '2026-02-28' }),
    employment('moved', { hire_date: '2026-03-01' }),
  );
  const ownCounts = { waiting: 2, rejected: 1 };
  const counts = Object.fromEntries(await undeliveredChanges(db, null));
  t.strictSame(counts, { [EMPLOYER]: ownCounts, other: { waiting: 1, rejected: 0 } }, 'c was delivered');
  t.strictSame(await undeliveredChanges(db, [EMPLOYER]), new Map([[EMPLOYER, ownCounts]]));
  t.strictSame(await idsOf(db, { employerId: EMPLOYER }), [...waiting.toReversed(), rejected]);
  t.strictSame(await idsOf(db, { employerId: EMPLOYER, state: 'rejected' }), [rejected]);
  t.strictSame(await idsOf(db, { employerId: 'other', state: 'pending' }), [ofMoved]);
});

onEitherEngine('filters narrow the list by state, employee, kind and time, combined with and', async (t) => {
  const { db, answers, clock, send } = await staged(t);
  const hire = await report(db, 'new-hire', 'a/1', { clock });
  clock.advance(1_000);
  const move = await report(db, 'demographic', 'a/1', { clock });
  clock.advance(1_000);
  const raise = await report(db, 'compensation-change', 'b', { clock });
  answers.set(raise, 422);
  await send();
  const later = await report(db, 'demographic', 'b', { clock });
  const gone = await report(db, 'termination', 'c', { clock });
  await cancelChange(db, gone, { reason: 'a typo', ...acting(NOW) });
  t.strictSame(await idsOf(db, { employeeId: 'a/1' }), [move, hire]);
  t.strictSame(await idsOf(db, { kind: 'demographic' }), [later, move]);
  t.strictSame(await idsOf(db, { state: 'pending' }), [later]);
  t.strictSame(await idsOf(db, { state: 'sending' }), []);
  t.strictSame(await idsOf(db, { state: 'delivered' }), [move, hire]);
  t.strictSame(await idsOf(db, { state: 'rejected' }), [raise]);
  t.strictSame(await idsOf(db, { state: 'canceled' }), [gone]);
  const second = new Date(START.getTime() + 1_000).toISOString();
  t.strictSame(await idsOf(db, { until: second }), [hire]);
  t.strictSame(await idsOf(db, { from: second }), [gone, later, raise, move]);
  t.strictSame(await idsOf(db, { from: second, state: 'delivered', kind: 'demographic' }), [move]);
  t.strictSame(await idsOf(db, { employeeId: 'nobody' }), []);
});

onEitherEngine('a change shows its attempts, the newest first, with status and reason', async (t) => {
  const { db, answers, clock, send } = await staged(t);
  const id = await report(db, 'demographic', 'e');
  answers.set(id, 500);
  await send();
  t.match(await found(db, id), {
    state: 'pending',
    attempts: 1,
    status: 500,
    reason: 'the service responded with 500',
    finished_at: null,
    may_have_been_applied: true,
  });
  answers.set(id, 200);
  clock.advance(60_000);
  await send();
  const { last_attempts: attempts, ...change } = await found(db, id);
  t.match(change, {
    state: 'delivered',
    attempts: 2,
    status: 200,
    due_at: null,
    may_have_been_applied: false,
  });
  t.match(attempts, [
    { attempt: 2, status: 200, started_at: '2026-01-31T09:31:00.000Z', finished_at: String },
    { attempt: 1, status: 500, reason: 'the service responded with 500', started_at: NOW },
  ]);
});

onEitherEngine('a change shows which one of the employee is sent first', async (t) => {
  const { db, answers, send } = await staged(t);
  const [first, second, third] = [
    await report(db, 'demographic', 'e'),
    await report(db, 'compensation-change', 'e'),
    await report(db, 'demographic', 'e'),
  ];
  const behind = async (id: string) => (await found(db, id)).earlier_change_id;
  t.strictSame([await behind(first), await behind(second), await behind(third)], [null, first, second]);
  answers.set(first, 500);
  await send();
  t.strictSame([await behind(first), await behind(second)], [null, first], 'even while it is retried');
});

onEitherEngine('a rejected manual action names the reason and an alternative', async (t) => {
  const { db, answers, send } = await staged(t);
  const old = await report(db, 'demographic', 'e');
  answers.set(old, 422);
  const due = { state: 'pending', due_at: NOW };
  t.match(await retryChange(db, old, { force: false, ...acting(NOW) }), due);
  await report(db, 'demographic', 'e');
  await send();
  const refused = (message: RegExp) => ({ code: 'CONFLICT', message });
  await t.rejects(retryChange(db, old, { force: false, ...acting(NOW) }), refused(/newer change/));
  answers.clear();
  t.match(await retryChange(db, old, { force: true, ...acting(NOW) }), { state: 'pending' });
  await send();
  const delivered = refused(/is delivered\. To send it again, report/);
  await t.rejects(retryChange(db, old, { force: true, ...acting(NOW) }), delivered);
  await t.rejects(cancelChange(db, old, { reason: 'x', ...acting(NOW) }), refused(/nothing to cancel/));
});

onEitherEngine(
  'a pilot cancels the changes that wait or were rejected, at each of their employers',
  async (t) => {
    const { db, answers, send } = await staged(t);
    await learn(db, employment('a'), employment('b'), employment('b', { employer_id: 'other' }));
    const rejected = await report(db, 'demographic', 'a');
    answers.set(rejected, 422);
    await send();
    const ids = [rejected, await report(db, 'demographic', 'b'), await report(db, 'termination', 'b')];
    t.ok(await transact(db, (trx) => startPilot(trx, acting(NOW))));
    for (const id of ids)
      t.match(await found(db, id), { state: 'canceled', reason: SENDING_OFF, finished_at: NOW });
    const recorded = (action: Action) =>
      db
        .selectFrom('audit_records')
        .select(['resource_id', 'employer_id', 'employee_id'])
        .where('action', '=', action)
        .orderBy('record_id')
        .execute();
    const reported = await recorded('change.report');
    t.strictSame(
      reported.map(({ employer_id }) => employer_id),
      [EMPLOYER, EMPLOYER, 'other', EMPLOYER, 'other'],
    );
    t.strictSame(await recorded('change.cancel'), reported);
  },
);

onEitherEngine('a change canceled after a lost response shows that it may have been applied', async (t) => {
  const { db, answers, send } = await staged(t);
  const id = await report(db, 'demographic', 'e');
  answers.set(id, null);
  await send();
  await cancelChange(db, id, { reason: 'entered by hand', ...acting(NOW) });
  t.match(await found(db, id), { state: 'canceled', reason: 'entered by hand', may_have_been_applied: true });
});

onEitherEngine('a change’s view contains nothing of its body', async (t) => {
  const { db, answers, says, send } = await staged(t);
  const marker = 'Marker-7f3a';
  const fields = { first_name: marker, ssn: '987-65-4321', email: `${marker}@example.org` };
  const id = await report(db, 'new-hire', 'e', { fields });
  answers.set(id, 422);
  says.error = `${marker} 987-65-4321`;
  await send();
  const { data: changes } = await listChanges(db, {}, { limit: 9 });
  t.notMatch(JSON.stringify([changes, await found(db, id)]), /Marker|4321/);
});
