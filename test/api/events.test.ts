import { onEitherEngine } from '../support/engine.ts';
import { apply, type Delivery, deductionOf, deliver, eventOf, receive } from './deliver.ts';
import { type Running, start } from './start.ts';

const test = onEitherEngine.with(start);

const list = async ({ call }: Running, query: string) =>
  (await call({ url: `/v1/events?${query}` })).json.data.map((event: { id: string }) => event.id);

/** One event of each state: a1 is applied, i1 ignored, q1 quarantined, p1 pending. */
async function oneOfEach({ db }: Running): Promise<void> {
  await deliver(db, [deductionOf('a1', { id: 'd1' })], '2026-01-10T00:00:00.000Z');
  await deliver(db, [eventOf('i1', 'moon.landed', {})], '2026-01-11T00:00:00.000Z');
  await deliver(db, [deductionOf('q1', { member_contribution: 12.5 })], '2026-01-12T00:00:00.000Z');
  await receive(db, [deductionOf('p1', { id: 'd2' })], '2026-01-13T00:00:00.000Z');
}

test('one event has its exact body, and other bodies received under its id', async (t, { call, db }) => {
  const first: Delivery = {
    eventId: 'e/1 ü',
    body: Buffer.from('{ "event_type" : "x", "data":{} , "id":"🙂" }\n'),
  };
  const second: Delivery = { eventId: 'e/1 ü', body: Buffer.from('not even JSON') };
  await deliver(db, [first], '2026-01-10T00:00:00.000Z');
  await deliver(db, [second], '2026-01-11T00:00:00.000Z');
  const { json } = await call({ url: `/v1/events/${encodeURIComponent('e/1 ü')}` });
  t.equal(json.body, first.body.toString());
  t.equal(json.envelope_id, '🙂');
  t.strictSame(json.effects, { deduction_version: null, census_sync: null });
  const notDismissed = { dismissed_at: null, dismissed_reason: null };
  const counts = { open: true, stored: 1, not_stored: 0, last_not_stored_at: null };
  t.strictSame(json.conflicts, { ...counts, ...notDismissed });
  const conflicts = await call({ url: `/v1/events/${encodeURIComponent('e/1 ü')}/conflicts` });
  const other = {
    ...{ id: '1', received_at: '2026-01-11T00:00:00.000Z' },
    ...{ body: 'not even JSON', body_absent: null, ...notDismissed },
  };
  t.strictSame(conflicts.json, { data: [other], has_more: false, next_cursor: null });
  for (const url of ['/v1/events/none', '/v1/events/none/conflicts'])
    t.equal((await call({ url })).status, 404, url);
});

test('an event shows the version it added, or the census sync it requested', async (t, { call, db }) => {
  const sync = eventOf('sync', 'employee-census.sync-request', { employer_id: 'acme' });
  await deliver(db, [
    deductionOf('new', { id: 'd1' }, '2026-01-12T00:00:00Z'),
    deductionOf('old', { id: 'd1' }, '2026-01-11T00:00:00Z'),
    deductionOf('tie', { id: 'd1', member_contribution: '9.99' }, '2026-01-12T00:00:00Z'),
    deductionOf('soon', { id: 'd2' }, '2027-01-12T00:00:00Z'),
    sync,
  ]);
  const effects = async (id: string) => (await call({ url: `/v1/events/${id}` })).json.effects;
  const [d1, flags] = [{ deduction_id: 'd1' }, { late: false, tie_changed: false, future_dated: false }];
  for (const [id, shown] of [
    ['new', { ...d1, id: '1', version: 1, position: 1, ...flags }],
    ['old', { ...d1, id: '2', version: 2, position: 2, ...flags, late: true }],
    ['tie', { ...d1, id: '3', version: 3, position: 3, ...flags, tie_changed: true }],
    ['soon', { deduction_id: 'd2', id: '4', version: 1, position: 4, ...flags, future_dated: true }],
  ] as const)
    t.strictSame(await effects(id), { deduction_version: shown, census_sync: null });
  const [{ id }] = (await call({ url: '/v1/census-syncs' })).json.data;
  const requested = { deduction_version: null, census_sync: { id, employer_id: 'acme' } };
  t.strictSame(await effects('sync'), requested);
});

test('events are found by time, also if a clock is slightly behind', async (t, running) => {
  const begin = Date.parse('2026-01-10T00:00:00Z');
  // Every fourth arrives at a receiver whose clock is half a minute behind.
  const times = Array.from(
    { length: 40 },
    (_, count) => begin + count * 20_000 - (count % 4 === 0 ? 30_000 : 0),
  );
  const text = (time: number) => new Date(time).toISOString();
  for (const [count, time] of times.entries())
    await receive(running.db, [eventOf(`e${count}`, 'x', {})], text(time));
  const all = (query: string) => list(running, `limit=100&${query}`);
  for (const [count, time] of times.entries())
    t.strictSame(await all(`from=${text(time)}&until=${text(time + 1)}`), [`e${count}`]);
  t.strictSame(await all(`from=${text(begin + 60_000)}&until=${text(begin + 101_000)}`), ['e5', 'e3']);
  t.strictSame(await all(`from=${text(begin + 100_000)}&until=${text(begin)}`), []);
  t.equal((await all('from=0001-01-01T00:00:00Z&until=9999-12-31T23:59:59.999Z')).length, 40);
  t.equal((await all('from=9999-12-31T23:59:59.999Z')).length, 0);
  t.equal((await all('until=0001-01-01T00:00:00Z')).length, 0);
});

test('a reprocessed event wakes the apply loop, and has no second effect', async (t, running) => {
  const { call, db, woken, logged } = running;
  await oneOfEach(running);
  const { status, json } = await call({ method: 'POST', url: '/v1/events/a1/reprocess' });
  t.equal(status, 202);
  t.match(json, { id: 'a1', state: 'pending', finished_at: null });
  t.equal(woken.apply, 1);
  t.match(logged, [{ level: 'info', fields: { event_id: 'a1', token: 'API_TOKEN' } }]);
  await apply(db);
  t.equal((await call({ url: '/v1/deductions/d1/versions' })).json.data.length, 1);
  t.equal((await call({ method: 'POST', url: '/v1/events/none/reprocess' })).status, 404);
});
