import type { Test } from 'tap';
import { transact } from '../../src/database/transaction.ts';
import { allPages } from '../../src/formats/cursor.ts';
import { listConflicts } from '../../src/inbox/conflicts.ts';
import {
  dismissEvent,
  type EventFilter,
  getEvent,
  listEvents,
  reprocessEvent,
  reprocessEvents,
} from '../../src/inbox/events.ts';
import { readReadiness } from '../../src/readiness/report.ts';
import { ACTING, acting } from '../support/audit.ts';
import { onEitherEngine } from '../support/engine.ts';
import { type Applying, type Body, NOW, startApplying } from './applying.ts';
import { deduction, deductionBody } from './bodies.ts';

const DISMISSED_AT = '2026-03-02T09:00:00.000Z';

/** Six events, one or two of each state, and a conflict. */
async function filled(t: Test): Promise<Applying> {
  const applying = await startApplying(t);
  const tie = (name: string, amount: string): Body => [
    name,
    deductionBody({ id: 'tied', member_contribution: amount }),
  ];
  await applying.store(
    ['quarantined-1', 'x'],
    ['applied', deductionBody()],
    ['ignored', deductionBody({ period: 'x' }, { event_type: 'x' })],
    ['quarantined-2', deductionBody({ id: 1 })],
    tie('tie-first', '1'),
    tie('tie-second', '2'),
  );
  await applying.loop.runOnce();
  await applying.store(['applied', 'another body'], ['pending', deductionBody({ id: 'ded-2' })]);
  return applying;
}

const test = onEitherEngine.with(filled);

function ids(events: { event_id: string }[]): string[] {
  return events.map((event) => event.event_id);
}

test('events are listed newest first, page by page, each once', async (t, { db }) => {
  const seen: string[] = [];
  for await (const events of allPages((cursor) => listEvents(db, {}, { cursor, limit: 3 })))
    seen.push(ids(events).join(' '));
  t.strictSame(seen, ['pending tie-second tie-first', 'quarantined-2 ignored applied', 'quarantined-1']);
  const exact = await listEvents(db, {}, { limit: 7 });
  t.equal(exact.next_cursor, null, 'no empty page after the last');
});

test('a list of events applies all its filters', async (t, { db }) => {
  const at = NOW.toISOString();
  const updated = 'employee.deduction-updated';
  const filters: [filter: EventFilter, expected: string[]][] = [
    [{ state: 'quarantined' }, ['quarantined-2', 'quarantined-1']],
    [{ state: 'pending' }, ['pending']],
    [{ state: 'ignored' }, ['ignored']],
    [{ eventType: 'x' }, ['ignored']],
    [{ eventType: updated, state: 'applied' }, ['tie-second', 'tie-first', 'applied']],
    [{ eventType: updated, state: 'ignored' }, []],
    [{ state: 'quarantined', from: at }, ['quarantined-2', 'quarantined-1']],
    [{ state: 'quarantined', until: at }, []],
    [
      { state: 'quarantined', from: at, until: '2026-03-01T12:00:00.001Z' },
      ['quarantined-2', 'quarantined-1'],
    ],
    [{ from: '2026-03-01T12:00:00.001Z' }, []],
  ];
  for (const [filter, expected] of filters) {
    const { data: events } = await listEvents(db, filter, { limit: 10 });
    t.strictSame(ids(events), expected, JSON.stringify(filter));
  }
});

test('an event in any state can be reprocessed, which clears its previous result', async (t, world) => {
  const { db, loop, states } = world;
  await transact(db, (trx) => dismissEvent(trx, 'quarantined-1', 'known', acting(DISMISSED_AT)));
  const before = await states();
  for (const eventId of ['applied', 'ignored', 'quarantined-1', 'quarantined-1', 'pending'])
    await transact(db, (trx) => reprocessEvent(trx, eventId, ACTING));
  const unknown = transact(db, (trx) => reprocessEvent(trx, 'unknown', ACTING));
  await t.rejects(unknown, { code: 'NOT_FOUND' });
  const { data: events } = await listEvents(db, { state: 'pending' }, { limit: 10 });
  t.strictSame(
    events.map(({ event_id, reprocessed, reason, finished_at, dismissed_at }) => [
      event_id,
      reprocessed,
      reason ?? finished_at ?? dismissed_at,
    ]),
    [
      ['pending', 0, null],
      ['ignored', 1, null],
      ['applied', 1, null],
      ['quarantined-1', 1, null],
    ],
  );
  loop.wake();
  await loop.runOnce();
  t.strictSame(await states(), [...before.slice(0, -1), 'pending: applied'], 'each ends in its former state');
});

test('many events are reprocessed in batches, each once', async (t, { db }) => {
  const step = (filter: EventFilter, after: number, limit: number) =>
    transact(db, (trx) => reprocessEvents(trx, filter, { after, limit }, ACTING));
  const filter = { eventType: 'employee.deduction-updated' };
  const first = await step(filter, 0, 3);
  t.equal(first.reprocessed, 3);
  t.strictSame(await step(filter, first.next as number, 3), { reprocessed: 1, withoutBody: 0, next: null });
  t.strictSame(
    await step({}, 0, 100),
    { reprocessed: 2, withoutBody: 0, next: null },
    'the events that are not pending yet',
  );
  t.strictSame(await step({}, 0, 100), { reprocessed: 0, withoutBody: 0, next: null });
  const { data: events } = await listEvents(db, { state: 'pending' }, { limit: 10 });
  t.equal(events.length, 7);
});

test('only quarantined, conflicting and future-dated events can be dismissed', async (t, { db }) => {
  const dismiss = (eventId: string, reason = 'seen', at = DISMISSED_AT) =>
    transact(db, (trx) => dismissEvent(trx, eventId, reason, acting(at)));
  for (const eventId of ['quarantined-1', 'applied', 'tie-second'])
    t.equal(await dismiss(eventId), true, eventId);
  for (const eventId of ['tie-first', 'ignored', 'pending'])
    await t.rejects(dismiss(eventId), { code: 'CONFLICT' }, eventId);
  await t.rejects(dismiss('unknown'), { code: 'NOT_FOUND' });

  for (const eventId of ['quarantined-1', 'applied'])
    t.equal(await dismiss(eventId, 'again', NOW.toISOString()), false, 'nothing changes');
  const marks = { dismissed_at: DISMISSED_AT, dismissed_reason: 'seen' };
  t.match((await getEvent(db, 'quarantined-1'))?.event, { state: 'quarantined', ...marks });
  t.match((await getEvent(db, 'tie-second'))?.event, marks);
  const conflicted = await getEvent(db, 'applied');
  t.match(conflicted?.conflicts, marks);
  t.match((await listConflicts(db, 'applied', { limit: 10 })).data, [marks]);
  t.match(conflicted?.event, { dismissed_at: null }, 'the event itself needed no attention');
  for (const [dismissed, expected] of [
    [false, ['quarantined-2']],
    [true, ['quarantined-1']],
  ] as const) {
    const { data: events } = await listEvents(db, { state: 'quarantined', dismissed }, { limit: 10 });
    t.strictSame(ids(events), expected, `dismissed: ${dismissed}`);
  }
});

onEitherEngine('a future-dated event fails readiness until it is dismissed', async (t) => {
  const { db, store, loop } = await startApplying(t);
  await store(
    ['ahead', deductionBody({}, { created_at: '9999-12-31T00:00:00Z' })],
    ['late', deductionBody()],
  );
  await loop.runOnce();
  const check = async () => {
    const { checks } = await readReadiness(db, {
      now: NOW,
      clockWarning: null,
      overdueMs: 0,
      silentAfterMs: null,
    });
    return checks.find(({ id }) => id === 'events-future-dated');
  };
  t.match(await check(), { result: 'fail', count: 1, findings: [{ text: 'ahead' }] });
  const dismiss = (eventId: string) =>
    transact(db, (trx) => dismissEvent(trx, eventId, 'corrected', acting(DISMISSED_AT)));
  await t.rejects(dismiss('late'), { code: 'CONFLICT' });
  t.equal(await dismiss('ahead'), true);
  t.match(await check(), { result: 'pass', count: 0, findings: [] });
});

onEitherEngine('a reprocessed event has no second effect in the ledger', async (t) => {
  const { store, loop, states, ledger, db } = await startApplying(t);
  await store(
    deduction('a'),
    ['a-later', deductionBody({ id: 'ded-a', member_contribution: '1' })],
    deduction('b'),
  );
  await loop.runOnce();
  const tables = () =>
    Promise.all([
      db.selectFrom('deduction_versions').selectAll().orderBy('position').execute(),
      db.selectFrom('deductions').selectAll().orderBy('deduction_id').execute(),
    ]);
  const before = await tables();
  for (const eventId of ['a', 'b', 'a']) {
    await transact(db, (trx) => reprocessEvent(trx, eventId, ACTING));
    t.ok((await states()).includes(`${eventId}: pending`));
    loop.wake();
    t.match(await loop.runOnce(), { applied: 1 });
  }
  await transact(db, (trx) => reprocessEvent(trx, 'a', ACTING));
  await store(deduction('new'));
  loop.wake();
  t.match(await loop.runOnce(), { applied: 2 }, 'together with a new one');
  t.strictSame(await states(), ['a: applied', 'a-later: applied', 'b: applied', 'new: applied']);
  const [versions, deductions] = await tables();
  t.strictSame(versions.slice(0, 3), before[0]);
  const others = deductions.filter(({ deduction_id }) => deduction_id !== 'ded-new');
  t.strictSame(others, before[1]);
  t.strictSame(await ledger(), ['a', 'a-later', 'b', 'new']);
});
