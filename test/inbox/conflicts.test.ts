import type { Test } from 'tap';
import type { Db } from '../../src/database/tables.ts';
import { transact } from '../../src/database/transaction.ts';
import { conflictsOf, listConflicts } from '../../src/inbox/conflicts.ts';
import { dismissEvent } from '../../src/inbox/events.ts';
import { storeBatch } from '../../src/inbox/inbox.ts';
import { readReadiness } from '../../src/readiness/report.ts';
import { open, scratch } from '../database/scratch.ts';
import { acting } from '../support/audit.ts';
import { onEachEngine, onEitherEngine } from '../support/engine.ts';

const FIRST_AT = '2026-03-01T12:00:00.000Z';
const AT = '2026-03-02T12:00:00.000Z';
const LATER_AT = '2026-03-03T12:00:00.000Z';
const STORED = 20;

/** The bodies `from` to `until`. The event itself has number 0. */
function bodies(from: number, until: number, eventId = 'msg_1') {
  return Array.from({ length: until - from }, (_, index) => {
    return { eventId, body: Buffer.from(`body ${from + index}`) };
  });
}

/** A database with an event and so many other bodies. */
async function withConflicts(t: Test, others: number): Promise<Db> {
  const { db } = await scratch(t);
  await storeBatch(db, bodies(0, 1), FIRST_AT);
  await storeBatch(db, bodies(1, 1 + others), AT);
  return db;
}

async function stored(db: Db, eventId = 'msg_1'): Promise<string[]> {
  const { data: conflicts } = await listConflicts(db, eventId, { limit: 1_000 });
  return conflicts.map(({ body }) => String(body));
}

const names = (from: number, until: number) => bodies(from, until).map(({ body }) => String(body));

onEachEngine('the first 20 other bodies of an event are stored, and later ones counted', async (t) => {
  const db = await withConflicts(t, 18);
  const { conflicts, ...others } = await storeBatch(db, bodies(15, 30), LATER_AT);
  t.equal(conflicts, 11, 'new in this batch');
  t.strictSame(others, { accepted: 0, duplicates: 15, newest: null });
  t.strictSame(await stored(db), names(1, 1 + STORED), 'in order of arrival');
  const counted = { stored_count: STORED, unstored_count: 9, last_unstored_at: LATER_AT };
  t.match(await conflictsOf(db, 'msg_1'), counted);

  await storeBatch(db, bodies(0, 1 + STORED), '2026-03-04T12:00:00.000Z');
  t.match(await conflictsOf(db, 'msg_1'), counted, 'a stored body is a duplicate');
  t.equal(await conflictsOf(db, 'msg_2'), null);
});

onEachEngine('the bound holds in one batch of many bodies of several events', async (t) => {
  const { db } = await scratch(t);
  const ids = ['msg_2', 'msg_1'];
  const arrivals = bodies(0, 60).flatMap(({ body }) => ids.map((eventId) => ({ eventId, body })));
  const { accepted, conflicts } = await storeBatch(db, arrivals, AT);
  t.strictSame({ accepted, conflicts }, { accepted: 2, conflicts: 2 * 59 });
  for (const id of ids) {
    t.strictSame(await stored(db, id), names(1, 1 + STORED));
    t.match(await conflictsOf(db, id), { stored_count: STORED, unstored_count: 39, last_unstored_at: AT });
  }
});

onEachEngine('the bound holds for sidecars that store bodies of the same events at once', async (t) => {
  const { db, url } = await scratch(t);
  const ids = ['msg_1', 'msg_2', 'msg_3'];
  const others = ids.flatMap((id) => bodies(0, 1, id));
  await storeBatch(db, others, FIRST_AT);
  const sidecars = [db, open(t, url), open(t, url), open(t, url)];
  await Promise.all(
    sidecars.flatMap((sidecar, nth) => [
      ...ids.flatMap((id) => storeBatch(sidecar, bodies(1 + nth * 10, 16 + nth * 10, id), AT)),
      // In another order, in which locks of single rows would deadlock.
      storeBatch(
        sidecar,
        (nth % 2 === 0 ? ids : ids.toReversed()).flatMap((id) => bodies(100, 110, id)),
        AT,
      ),
    ]),
  );
  for (const id of ids) {
    t.equal((await stored(db, id)).length, STORED, id);
    t.match(await conflictsOf(db, id), { stored_count: STORED });
  }
});

onEitherEngine('a body after a dismissal fails readiness again, also if it is only counted', async (t) => {
  const result = async (db: Db) => {
    const { checks } = await readReadiness(db, {
      now: new Date(AT),
      overdueMs: 0,
      silentAfterMs: null,
      clockWarning: null,
    });
    return checks.find(({ id }) => id === 'events-in-conflict')?.result;
  };
  const dismiss = (db: Db) => transact(db, (trx) => dismissEvent(trx, 'msg_1', 'seen', acting(LATER_AT)));
  for (const others of [1, STORED]) {
    const db = await withConflicts(t, others);
    t.equal(await result(db), 'fail');
    t.equal(await dismiss(db), true);
    t.match(await conflictsOf(db, 'msg_1'), { dismissed_at: LATER_AT, dismissed_reason: 'seen' });
    t.equal(await result(db), 'pass');
    await storeBatch(db, bodies(0, 1 + others), LATER_AT);
    t.equal(await result(db), 'pass', 'all of these were dismissed');
    await storeBatch(db, bodies(1 + others, 2 + others), LATER_AT);
    t.equal(await result(db), 'fail', `after ${others} others`);
    t.match(await conflictsOf(db, 'msg_1'), { dismissed_at: null, dismissed_reason: null });
    t.equal(await dismiss(db), true);
    t.equal(await result(db), 'pass');
  }
});
