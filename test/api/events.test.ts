import { dropDue } from '../../src/operations/retention.ts';
import { onEitherEngine } from '../support/engine.ts';
import { apply, type Delivery, deductionOf, deliver, eventOf, receive } from './deliver.ts';
import { NOW, type Running, start } from './start.ts';

const list = async ({ call }: Running, query: string) =>
  (await call({ url: `/v1/events?${query}` })).json.data.map((event: { id: string }) => event.id);

/** One event of each state: a1 is applied, i1 ignored, q1 quarantined, p1 pending. */
async function oneOfEach({ db }: Running): Promise<void> {
  await deliver(db, [deductionOf('a1', { id: 'd1' })], '2026-01-10T00:00:00.000Z');
  await deliver(db, [eventOf('i1', 'moon.landed', {})], '2026-01-11T00:00:00.000Z');
  await deliver(db, [deductionOf('q1', { member_contribution: 12.5 })], '2026-01-12T00:00:00.000Z');
  await receive(db, [deductionOf('p1', { id: 'd2' })], '2026-01-13T00:00:00.000Z');
}

onEitherEngine('events are listed newest first, by state, type and time, without their bodies', async (t) => {
  const running = await start(t);
  await oneOfEach(running);
  t.strictSame(await list(running, ''), ['p1', 'q1', 'i1', 'a1']);
  t.strictSame(await list(running, 'state=quarantined'), ['q1']);
  t.strictSame(await list(running, 'event_type=moon.landed'), ['i1']);
  t.strictSame(await list(running, 'from=2026-01-11T00:00:00Z&until=2026-01-12T00:00:00Z'), ['i1']);
  t.strictSame(await list(running, 'from=2026-01-11T02:00:00%2B02:00&state=pending'), ['p1']);
  const { json } = await running.call({ url: '/v1/events?state=quarantined' });
  t.strictSame(json.data, [
    {
      id: 'q1',
      envelope_id: 'env_q1',
      event_type: 'employee.deduction-updated',
      state: 'quarantined',
      reason: json.data[0].reason,
      source: 'webhook',
      received_at: '2026-01-12T00:00:00.000Z',
      finished_at: '2026-01-12T00:00:00.000Z',
      dismissed_at: null,
      dismissed_reason: null,
    },
  ]);
  t.match(json.data[0].reason, /member_contribution/);
});

onEitherEngine('each page of events continues the previous one, even while events arrive', async (t) => {
  const running = await start(t);
  const many = Array.from({ length: 25 }, (_, index) => eventOf(`e${index}`, 'x', {}));
  await deliver(running.db, many);
  const seen: string[] = [];
  let cursor = '';
  do {
    const { json } = await running.call({ url: `/v1/events?limit=10${cursor}` });
    seen.push(...json.data.map((event: { id: string }) => event.id));
    cursor = json.next_cursor === null ? '' : `&cursor=${json.next_cursor}`;
    await receive(running.db, [eventOf(`later${seen.length}`, 'x', {})]);
  } while (cursor !== '');
  t.strictSame(seen, many.map(({ eventId }) => eventId).reverse());
});

onEitherEngine('one event has its exact body, and other bodies received under its id', async (t) => {
  const { call, db } = await start(t);
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
  t.strictSame(conflicts.json, {
    data: [
      {
        id: '1',
        received_at: '2026-01-11T00:00:00.000Z',
        body: 'not even JSON',
        body_absent: null,
        ...notDismissed,
      },
    ],
    has_more: false,
    next_cursor: null,
  });
  for (const url of ['/v1/events/none', '/v1/events/none/conflicts'])
    t.equal((await call({ url })).status, 404, url);
});

onEitherEngine(
  'the other bodies of an event are listed in pages of 5, and those not stored are counted',
  async (t) => {
    const { call, db } = await start(t);
    const bodies = Array.from({ length: 24 }, (_, index) => `body ${index}`);
    for (const body of bodies) await receive(db, [{ eventId: 'e', body: Buffer.from(body) }]);
    t.match((await call({ url: '/v1/events/e' })).json.conflicts, { open: true, stored: 20, not_stored: 3 });
    const seen: string[][] = [];
    let cursor = '';
    do {
      const { json } = await call({ url: `/v1/events/e/conflicts?${cursor}` });
      seen.push(json.data.map(({ body }: { body: string }) => body));
      cursor = json.next_cursor === null ? '' : `cursor=${json.next_cursor}`;
    } while (cursor !== '');
    t.strictSame(
      seen,
      [1, 6, 11, 16].map((from) => bodies.slice(from, from + 5)),
    );
    t.equal((await call({ url: '/v1/events/e/conflicts?limit=20' })).json.data.length, 20);
    t.equal((await call({ url: '/v1/events/e/conflicts?limit=21' })).status, 400);
  },
);

onEitherEngine('events with another body under their id are listed until that is dismissed', async (t) => {
  const running = await start(t);
  await deliver(running.db, [deductionOf('a', { id: 'd1' }), deductionOf('b', { id: 'd2' })]);
  await deliver(running.db, [deductionOf('a', { id: 'd3' })]);
  t.strictSame(await list(running, 'conflict=true'), ['a']);
  t.strictSame(await list(running, 'conflict=false'), ['b']);
  const body = { reason: 'seen' };
  await running.call({ method: 'POST', url: '/v1/events/a/dismiss', body });
  t.strictSame(await list(running, 'conflict=true'), []);
});

onEitherEngine(
  'an event shows its result: the version it added or the census sync it requested',
  async (t) => {
    const { call, db } = await start(t);
    const at = '2026-01-20T00:00:00.000Z';
    await deliver(
      db,
      [
        deductionOf('new', { id: 'd1' }, '2026-01-12T00:00:00Z'),
        deductionOf('old', { id: 'd1' }, '2026-01-11T00:00:00Z'),
        deductionOf('tie', { id: 'd1', member_contribution: '9.99' }, '2026-01-12T00:00:00Z'),
        deductionOf('soon', { id: 'd2' }, '2027-01-12T00:00:00Z'),
        eventOf('sync', 'employee-census.sync-request', { employer_id: 'acme' }),
      ],
      at,
    );
    const version = async (eventId: string) =>
      (await call({ url: `/v1/events/${eventId}` })).json.effects.deduction_version;
    const first = {
      id: '1',
      deduction_id: 'd1',
      version: 1,
      position: 1,
      late: false,
      tie_changed: false,
      future_dated: false,
    };
    t.strictSame(await version('new'), first);
    t.strictSame(await version('old'), { ...first, id: '2', version: 2, position: 2, late: true });
    t.strictSame(await version('tie'), { ...first, id: '3', version: 3, position: 3, tie_changed: true });
    t.strictSame(await version('soon'), {
      ...first,
      id: '4',
      deduction_id: 'd2',
      position: 4,
      future_dated: true,
    });
    const { json } = await call({ url: '/v1/events/sync' });
    const [sync] = (await call({ url: '/v1/census-syncs' })).json.data;
    t.strictSame(json.effects, {
      deduction_version: null,
      census_sync: { id: sync.id, employer_id: 'acme' },
    });
  },
);

onEitherEngine('events are found by time, also if a clock is slightly behind', async (t) => {
  const running = await start(t);
  const begin = Date.parse('2026-01-10T00:00:00Z');
  // Every fourth arrives at a receiver whose clock is half a minute behind.
  const times = Array.from(
    { length: 40 },
    (_, count) => begin + count * 20_000 - (count % 4 === 0 ? 30_000 : 0),
  );
  const text = (time: number) => new Date(time).toISOString();
  for (const [count, time] of times.entries()) {
    await receive(running.db, [eventOf(`e${count}`, 'x', {})], text(time));
  }
  const all = (query: string) => list(running, `limit=100&${query}`);
  for (const [count, time] of times.entries()) {
    t.strictSame(await all(`from=${text(time)}&until=${text(time + 1)}`), [`e${count}`]);
  }
  t.strictSame(await all(`from=${text(begin + 60_000)}&until=${text(begin + 101_000)}`), ['e5', 'e3']);
  t.strictSame(await all(`from=${text(begin + 100_000)}&until=${text(begin)}`), []);
  t.equal((await all('from=0001-01-01T00:00:00Z&until=9999-12-31T23:59:59.999Z')).length, 40);
  t.equal((await all('from=9999-12-31T23:59:59.999Z')).length, 0);
  t.equal((await all('until=0001-01-01T00:00:00Z')).length, 0);
});

onEitherEngine(
  'reprocessing sets an event to pending, wakes the apply loop, and has no second effect',
  async (t) => {
    const running = await start(t);
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
  },
);

onEitherEngine('many are reprocessed by state, type and time', async (t) => {
  const running = await start(t);
  const { call, woken } = running;
  await oneOfEach(running);
  const reprocess = async (body: object) =>
    (await call({ method: 'POST', url: '/v1/events/reprocess', body })).json.reprocessed;
  t.equal(await reprocess({ event_type: 'none' }), 0);
  t.equal(woken.apply, 0);
  t.equal(await reprocess({ state: 'quarantined' }), 1);
  t.equal(
    await reprocess({ event_type: 'moon.landed', until: '2026-01-11T00:00:00Z' }),
    0,
    'until is exclusive',
  );
  t.equal(await reprocess({ from: '2026-01-10T00:00:00Z', until: '2026-01-12T00:00:00Z' }), 2);
  t.strictSame(await list(running, 'state=pending'), ['p1', 'q1', 'i1', 'a1']);
  t.equal(woken.apply, 2);
});

onEitherEngine(
  'several batches of events are reprocessed, but none received after the request',
  async (t) => {
    const running = await start(t);
    const many = Array.from({ length: 1_201 }, (_, index) => eventOf(`e${index}`, 'x', {}));
    await deliver(running.db, many);
    await deliver(running.db, [eventOf('later', 'x', {})], new Date(NOW.getTime() + 1).toISOString());
    const { json } = await running.call({
      method: 'POST',
      url: '/v1/events/reprocess',
      body: { state: 'ignored' },
    });
    t.strictSame(json, { reprocessed: 1_201, without_body: 0 });
    t.strictSame(await list(running, 'state=ignored'), ['later']);
  },
);

onEitherEngine(
  'a dismissal keeps its reason and leaves the event in the list; bulk reprocessing skips it',
  async (t) => {
    const running = await start(t);
    const { call } = running;
    await oneOfEach(running);
    const dismiss = (id: string) =>
      call({ method: 'POST', url: `/v1/events/${id}/dismiss`, body: { reason: 'a test of the service' } });
    const { status, json } = await dismiss('q1');
    t.equal(status, 200);
    t.match(json, {
      state: 'quarantined',
      dismissed_at: NOW.toISOString(),
      dismissed_reason: 'a test of the service',
    });
    t.strictSame(await list(running, 'state=quarantined'), ['q1']);
    t.strictSame(await list(running, 'state=quarantined&dismissed=false'), []);
    t.strictSame(await list(running, 'dismissed=true'), ['q1']);
    const all = await call({ method: 'POST', url: '/v1/events/reprocess', body: { state: 'quarantined' } });
    t.strictSame(all.json, { reprocessed: 0, without_body: 0 });
    const one = await call({ method: 'POST', url: '/v1/events/q1/reprocess' });
    t.match(one.json, { state: 'pending', dismissed_at: null }, 'it is reprocessed by its id');
  },
);

onEitherEngine('an event that needs no decision cannot be dismissed', async (t) => {
  const running = await start(t);
  await oneOfEach(running);
  const dismiss = async (id: string) =>
    (await running.call({ method: 'POST', url: `/v1/events/${id}/dismiss`, body: { reason: 'x' } })).status;
  t.equal(await dismiss('a1'), 409);
  t.equal(await dismiss('p1'), 409);
  t.equal(await dismiss('none'), 404);
});

onEitherEngine('a conflict is dismissed with its event', async (t) => {
  const { call, db } = await start(t);
  await deliver(db, [eventOf('e1', 'x', {})]);
  await deliver(db, [eventOf('e1', 'y', {})]);
  const check = async () =>
    (await call({ url: '/v1/readiness' })).json.checks.find(
      ({ id }: { id: string }) => id === 'events-in-conflict',
    ).result;
  t.equal(await check(), 'fail');
  const answer = await call({ method: 'POST', url: '/v1/events/e1/dismiss', body: { reason: 'seen' } });
  t.equal(answer.status, 200);
  t.match((await call({ url: '/v1/events/e1' })).json.conflicts, { open: false, dismissed_reason: 'seen' });
  t.equal(await check(), 'pass');
});

onEitherEngine('an event without its body has the reason, and is not reprocessed', async (t) => {
  const { call, db, url } = await start(t);
  await deliver(db, [deductionOf('old', { id: 'd1' })], '2025-01-10T00:00:00.000Z');
  await deliver(db, [deductionOf('new', { id: 'd2' })]);
  const retention = { eventsMs: 100 * 86_400_000, requestsMs: null };
  await dropDue(
    { db, databaseUrl: url, retention, sharedNow: async () => NOW, clockWarning: async () => null },
    new AbortController().signal,
  );
  const { json } = await call({ url: '/v1/events/old' });
  t.match(json, { body: null, body_absent: /RETENTION_EVENTS\. Its SHA-256 was [0-9a-f]{64}\.$/ });
  const refused = await call({ method: 'POST', url: '/v1/events/old/reprocess' });
  t.equal(refused.status, 409);
  t.match(refused.json, { type: /conflict$/, detail: /deleted after RETENTION_EVENTS/ });
  const all = await call({ method: 'POST', url: '/v1/events/reprocess', body: { state: 'applied' } });
  t.strictSame(all.json, { reprocessed: 1, without_body: 1 });
});
