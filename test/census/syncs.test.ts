import { listSyncs } from '../../src/census/sync-list.ts';
import { completeSyncs, requestSync, requestSyncManually } from '../../src/census/syncs.ts';
import type { Db } from '../../src/database/tables.ts';
import { transact } from '../../src/database/transaction.ts';
import { scratch } from '../database/scratch.ts';
import { type SetClock, setClock } from '../outbox/parts.ts';
import { onEitherEngine } from '../support/engine.ts';

const HOUR_MS = 3_600_000;

const ask = (db: Db, clock: SetClock, employerId: string, eventId: string) =>
  transact(db, (trx) => requestSync(trx, { employerId, eventId, now: clock().toISOString() }));

const list = (db: Db, clock: SetClock, filter = {}, page = {}) =>
  listSyncs(db, filter, { limit: 10, ...page }, { now: clock(), overdueMs: HOUR_MS });

onEitherEngine('the service’s request opens a sync and enqueues an upload', async (t) => {
  const { db } = await scratch(t);
  const clock = setClock();
  await ask(db, clock, 'a', 'event-1');
  const { syncs } = await list(db, clock);
  const [stored] = await db.selectFrom('census_syncs').select('request_id').execute();
  t.match(syncs, [
    {
      employer_id: 'a',
      event_id: 'event-1',
      state: 'requested',
      overdue: false,
      problems: [],
      problem_count: 0,
    },
  ]);
  const owed = await db.selectFrom('outbox').selectAll().execute();
  t.match(owed, [
    {
      request_id: stored?.request_id,
      kind: 'census',
      subject_type: 'employer',
      subject_id: 'a',
      state: 'pending',
    },
  ]);
});

onEitherEngine('the same event twice has no second effect', async (t) => {
  const { db } = await scratch(t);
  const clock = setClock();
  await ask(db, clock, 'a', 'event-1');
  await ask(db, clock, 'a', 'event-1');
  t.equal((await list(db, clock)).syncs.length, 1);
});

onEitherEngine('requests of one employer share the pending upload, those of another do not', async (t) => {
  const { db } = await scratch(t);
  const clock = setClock();
  await ask(db, clock, 'a', 'event-1');
  await ask(db, clock, 'a', 'event-2');
  await ask(db, clock, 'b', 'event-3');
  await transact(db, (trx) => requestSyncManually(trx, { employerId: 'b', now: clock().toISOString() }));
  t.equal((await list(db, clock)).syncs.length, 4);
  t.equal((await db.selectFrom('outbox').selectAll().execute()).length, 2);
});

onEitherEngine('a manual request makes a waiting upload due now', async (t) => {
  const { db } = await scratch(t);
  const clock = setClock();
  await ask(db, clock, 'a', 'event-1');
  const later = new Date(clock().getTime() + HOUR_MS).toISOString();
  await transact(db, (trx) => trx.updateTable('outbox').set({ due_at: later }).execute());
  const syncId = await transact(db, (trx) =>
    requestSyncManually(trx, { employerId: 'a', now: clock().toISOString() }),
  );
  t.match(await db.selectFrom('outbox').select('due_at').execute(), [{ due_at: clock().toISOString() }]);
  t.ok((await list(db, clock)).syncs.some(({ id }) => id === syncId));
});

onEitherEngine('a completion completes the syncs whose upload started before it was received', async (t) => {
  const { db } = await scratch(t);
  const clock = setClock();
  const at = (ms: number) => new Date(clock().getTime() + ms).toISOString();
  const states = { before: -1, after: 1 } as const;
  for (const id of ['before', 'after', 'never', 'other'])
    await ask(db, clock, id === 'other' ? 'b' : 'a', id);
  await transact(db, async (trx) => {
    for (const [id, ms] of Object.entries({ ...states, other: -1 })) {
      await trx
        .updateTable('census_syncs')
        .set({ upload_started_at: at(ms) })
        .where('event_id', '=', id)
        .execute();
    }
  });
  const complete = { employerId: 'a', receivedAt: at(0), now: at(5) };
  t.equal(await transact(db, (trx) => completeSyncs(trx, complete)), 1);
  t.equal(await transact(db, (trx) => completeSyncs(trx, complete)), 0, 'only once');
  const { syncs } = await list(db, clock, { state: 'completed' });
  t.match(syncs, [{ event_id: 'before', completed_at: at(5) }]);
});

onEitherEngine(
  'syncs are listed newest first, by page, by employer, state and whether they are overdue',
  async (t) => {
    const { db } = await scratch(t);
    const clock = setClock();
    for (let n = 1; n <= 5; n += 1) {
      await ask(db, clock, n % 2 === 0 ? 'a' : 'b', `event-${n}`);
      if (n !== 3) clock.advance(60_000);
    }
    const ids = (page: Awaited<ReturnType<typeof list>>) => page.syncs.map(({ event_id }) => event_id);
    const all = ids(await list(db, clock));
    t.equal(all[0], 'event-5');
    t.equal(all[4], 'event-1');
    const first = await list(db, clock, {}, { limit: 2 });
    const second = await list(db, clock, {}, { limit: 2, after: first.next });
    const third = await list(db, clock, {}, { limit: 2, after: second.next });
    t.strictSame([...ids(first), ...ids(second), ...ids(third)], all);
    t.equal(third.next, null);
    t.strictSame(ids(await list(db, clock, { employerId: 'a' })), ['event-4', 'event-2']);
    t.strictSame(ids(await list(db, clock, { state: 'waiting' })), []);
    clock.advance(HOUR_MS - 2 * 60_000);
    t.strictSame(ids(await list(db, clock, { overdue: true })), ['event-2', 'event-1']);
    t.strictSame(ids(await list(db, clock, { overdue: false })).length, 3);
    t.strictSame(
      (await list(db, clock)).syncs.map(({ overdue }) => overdue),
      [false, false, false, true, true],
    );
  },
);
