import { CENSUS_SYNCS } from '../../src/census/checks.ts';
import { listSyncs } from '../../src/census/sync-list.ts';
import {
  awaitCensus,
  completeSyncs,
  dismissSync,
  failSyncs,
  moveSyncs,
  requestSyncManually,
  reviveSyncs,
  uploadDelivered,
  uploadNotTaken,
  uploadStarted,
  wantedSince,
} from '../../src/census/syncs.ts';
import type { Db, Trx } from '../../src/database/tables.ts';
import { transact } from '../../src/database/transaction.ts';
import { scratch } from '../database/scratch.ts';
import { type SetClock, setClock } from '../outbox/parts.ts';
import { acting } from '../support/audit.ts';
import { onEitherEngine } from '../support/engine.ts';
import { askSync, HOUR_MS, needOf } from './parts.ts';

const test = onEitherEngine.with(scratch);

const ask = (db: Db, clock: SetClock, employerId: string, eventId: string) =>
  askSync(db, employerId, eventId, clock().toISOString());

const list = (db: Db, clock: SetClock, filter = {}, page = {}) =>
  listSyncs(db, filter, { limit: 10, ...page }, { now: clock(), overdueMs: HOUR_MS });

test('a request opens a sync, and requests of one employer share its pending upload', async (t, { db }) => {
  const clock = setClock();
  await ask(db, clock, 'a', 'event-1');
  await ask(db, clock, 'a', 'event-2');
  await ask(db, clock, 'b', 'event-3');
  await transact(db, (trx) => requestSyncManually(trx, { employerId: 'b', ...acting(clock()) }));
  const { data: syncs } = await list(db, clock);
  t.equal(syncs.length, 4);
  const opened = { employer_id: 'a', event_id: 'event-1', state: 'requested', overdue: false, problems: [] };
  t.match(
    syncs.find(({ event_id }) => event_id === 'event-1'),
    opened,
  );
  const uploads = await db.selectFrom('outbox').selectAll().orderBy('seq').execute();
  const upload = { kind: 'census', state: 'pending' };
  t.match(uploads, [
    { ...upload, subject_id: 'a' },
    { ...upload, subject_id: 'b' },
  ]);
  t.equal(uploads.length, 2);
});

test('a manual request makes a waiting upload due now', async (t, { db }) => {
  const clock = setClock();
  await ask(db, clock, 'a', 'event-1');
  const later = new Date(clock().getTime() + HOUR_MS).toISOString();
  await transact(db, (trx) => trx.updateTable('outbox').set({ due_at: later }).execute());
  const syncId = await transact(db, (trx) =>
    requestSyncManually(trx, { employerId: 'a', ...acting(clock()) }),
  );
  t.match(await db.selectFrom('outbox').select('due_at').execute(), [{ due_at: clock().toISOString() }]);
  t.ok((await list(db, clock)).data.some(({ id }) => id === syncId));
});

test('a completion completes the syncs whose upload started before it was received', async (t, { db }) => {
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
  const complete = { employerId: 'a', eventId: 'done', receivedAt: at(0), now: at(5) };
  t.equal(await transact(db, (trx) => completeSyncs(trx, complete)), 1);
  t.equal(await transact(db, (trx) => completeSyncs(trx, complete)), 0, 'only once');
  const { data: syncs } = await list(db, clock, { state: 'completed' });
  t.match(syncs, [{ event_id: 'before', completed_at: at(5) }]);
});

test('syncs are listed newest first, in pages, by employer, state and delay', async (t, { db }) => {
  const clock = setClock();
  for (let n = 1; n <= 5; n += 1) {
    await ask(db, clock, n % 2 === 0 ? 'a' : 'b', `event-${n}`);
    if (n !== 3) clock.advance(60_000);
  }
  const ids = (page: Awaited<ReturnType<typeof list>>) => page.data.map(({ event_id }) => event_id);
  const all = ids(await list(db, clock));
  t.equal(all[0], 'event-5');
  t.equal(all[4], 'event-1');
  const first = await list(db, clock, {}, { limit: 2 });
  const second = await list(db, clock, {}, { limit: 2, cursor: String(first.next_cursor) });
  const third = await list(db, clock, {}, { limit: 2, cursor: String(second.next_cursor) });
  t.strictSame([...ids(first), ...ids(second), ...ids(third)], all);
  t.equal(third.next_cursor, null);
  t.strictSame(ids(await list(db, clock, { employerId: 'a' })), ['event-4', 'event-2']);
  t.strictSame(ids(await list(db, clock, { state: 'waiting' })), []);
  clock.advance(HOUR_MS - 2 * 60_000);
  t.strictSame(ids(await list(db, clock, { overdue: true })), ['event-2', 'event-1']);
  t.strictSame(ids(await list(db, clock, { overdue: false })).length, 3);
  const overdue = (await list(db, clock)).data.map(({ overdue }) => overdue);
  t.strictSame(overdue, [false, false, false, true, true]);
});

const MINUTE_MS = 60_000;
const dismiss = (db: Db, clock: SetClock, syncId: string, reason = 'left us') => {
  const overdueBefore = new Date(clock().getTime() - HOUR_MS).toISOString();
  return transact(db, (trx) => dismissSync(trx, syncId, { reason, overdueBefore, ...acting(clock()) }));
};

/** Opens syncs with a shared upload, which `act` then moves. Returns their id. */
async function openedBy(db: Db, clock: SetClock, act: (trx: Trx, requestId: string) => Promise<void>) {
  const sync = await ask(db, clock, 'a', 'event-1');
  await transact(db, (trx) => act(trx, String(sync.request_id)));
  return sync.sync_id;
}

const readinessOf = async (db: Db, clock: SetClock) =>
  (await CENSUS_SYNCS.find(db, { now: clock(), clockWarning: null, overdueMs: HOUR_MS, silentAfterMs: null }))
    .length;

const STALLED = {
  waiting: (trx: Trx, id: string) => awaitCensus(trx, id, needOf('no census is staged: stage one')),
  failed: (trx: Trx, id: string) => failSyncs(trx, id, needOf('status 422')),
};

for (const [state, act] of Object.entries(STALLED)) {
  onEitherEngine(`a ${state} sync can be dismissed, and readiness no longer fails for it`, async (t) => {
    const { db } = await scratch(t);
    const clock = setClock();
    const id = await openedBy(db, clock, act);
    t.equal(await readinessOf(db, clock), 1);
    t.equal(await dismiss(db, clock, id), true);
    t.equal(await readinessOf(db, clock), 0);
    const dismissed_at = clock().toISOString();
    clock.advance(2 * HOUR_MS);
    t.equal(await readinessOf(db, clock), 0, 'nor is it overdue');
    const { data: syncs } = await list(db, clock, { state: 'dismissed', overdue: false });
    t.match(syncs, [{ id, state: 'dismissed', overdue: false, dismissed_at, dismissed_reason: 'left us' }]);
    t.strictSame((await list(db, clock, { overdue: true })).data, []);
  });
}

test('only a sync that waits, failed or is overdue can be dismissed', async (t, { db }) => {
  const clock = setClock();
  const id = await openedBy(db, clock, async () => {});
  clock.advance(HOUR_MS);
  await t.rejects(dismiss(db, clock, id), { code: 'CONFLICT' });
  clock.advance(1);
  t.equal(await dismiss(db, clock, id), true);
  await t.rejects(dismiss(db, clock, 'unknown'), { code: 'NOT_FOUND' });
  clock.advance(HOUR_MS);
  t.equal(await dismiss(db, clock, id, 'again'), false);
  t.match((await list(db, clock)).data, [{ id, dismissed_reason: 'left us' }], 'the first reason stays');
});

test('a completion ends a sync whose first upload started before it', async (t, { db }) => {
  const clock = setClock();
  const start = (trx: Trx, requestId: string) => uploadStarted(trx, requestId, clock().toISOString());
  const id = await openedBy(db, clock, start);
  const receivedAt = clock().toISOString();
  clock.advance(MINUTE_MS);
  const now = clock().toISOString();
  await transact(db, async (trx) => {
    const { request_id } = await trx
      .selectFrom('census_syncs')
      .select('request_id')
      .executeTakeFirstOrThrow();
    await start(trx, String(request_id));
    await completeSyncs(trx, { employerId: 'a', eventId: 'done', receivedAt, now });
  });
  t.match((await list(db, clock)).data, [{ id, state: 'completed' }]);
});

test('a staged census continues no dismissed sync, and a new request starts another', async (t, { db }) => {
  const clock = setClock();
  const id = await openedBy(db, clock, STALLED.waiting);
  await dismiss(db, clock, id);
  const now = clock().toISOString();
  await transact(db, (trx) => reviveSyncs(trx, { employerId: 'a', uploading: null, now }));
  t.match((await list(db, clock)).data, [{ id, state: 'dismissed' }]);
  clock.advance(MINUTE_MS);
  await ask(db, clock, 'a', 'event-2');
  t.match((await list(db, clock)).data, [
    { event_id: 'event-2', state: 'requested' },
    { id, state: 'dismissed' },
  ]);
});

test('the upload of a dismissed sync is due at once, and no sync wants it', async (t, { db }) => {
  const clock = setClock();
  const id = await openedBy(db, clock, STALLED.failed);
  const later = new Date(clock().getTime() + HOUR_MS).toISOString();
  await transact(db, (trx) => trx.updateTable('outbox').set({ due_at: later }).execute());
  await dismiss(db, clock, id);
  const [upload] = await db.selectFrom('outbox').select(['request_id', 'due_at']).execute();
  t.equal(upload?.due_at, clock().toISOString());
  t.equal(await wantedSince(db, String(upload?.request_id)), null);
});

test('the service’s completion completes a dismissed sync whose upload it received', async (t, { db }) => {
  const clock = setClock();
  const id = await openedBy(db, clock, (trx, requestId) =>
    uploadStarted(trx, requestId, clock().toISOString()),
  );
  clock.advance(2 * HOUR_MS);
  await dismiss(db, clock, id);
  const now = clock().toISOString();
  t.equal(
    await transact(db, (trx) =>
      completeSyncs(trx, { employerId: 'a', eventId: 'done', receivedAt: now, now }),
    ),
    1,
  );
  t.match((await list(db, clock)).data, [{ id, state: 'completed', dismissed_reason: 'left us' }]);
});

test('nothing that happens to a sync changes those of other employers', async (t, { db }) => {
  const now = setClock()().toISOString();
  const at = { now, began: now, receivedAt: now };
  const syncOf = (trx: Trx, employerId: string) =>
    trx
      .selectFrom('census_syncs')
      .selectAll()
      .where('employer_id', '=', employerId)
      .executeTakeFirstOrThrow();
  const actions: Record<string, (trx: Trx, uploadId: string, employerId: string) => Promise<unknown>> = {
    requested: async () => {},
    ...STALLED,
    'not taken': uploadNotTaken,
    started: (trx, uploadId) => uploadStarted(trx, uploadId, now),
    delivered: (trx, uploadId) => uploadDelivered(trx, uploadId, at),
    async completed(trx, uploadId, employerId) {
      await uploadStarted(trx, uploadId, now);
      await completeSyncs(trx, { employerId, eventId: `done by ${employerId}`, ...at });
    },
    revived: (trx, uploadId, employerId) => reviveSyncs(trx, { employerId, uploading: uploadId, now }),
    async moved(trx, uploadId) {
      const { request_id } = await syncOf(trx, 'requested');
      await moveSyncs(trx, String(request_id), uploadId);
    },
    async dismissed(trx, _, employerId) {
      const { sync_id } = await syncOf(trx, employerId);
      await dismissSync(trx, sync_id, { reason: 'left us', overdueBefore: '9999', ...acting(now) });
    },
  };
  const happens = async (name: string, employerId: string) => {
    const { request_id } = await askSync(db, employerId, employerId, now);
    await transact(db, async (trx) => actions[name]?.(trx, String(request_id), employerId));
  };
  for (const name of Object.keys(actions)) await happens(name, name);
  for (const name of Object.keys(actions)) {
    const others = () =>
      db
        .selectFrom('census_syncs')
        .selectAll()
        .where('employer_id', '<>', `a: ${name}`)
        .orderBy('sync_id')
        .execute();
    const before = await others();
    await happens(name, `a: ${name}`);
    t.strictSame(await others(), before, name);
  }
});
