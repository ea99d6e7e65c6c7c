import t from 'tap';
import type { Db } from '../../src/database/tables.ts';
import { transact } from '../../src/database/transaction.ts';
import { AppError } from '../../src/errors.ts';
import { acceptLosses } from '../../src/inbox/data-loss.ts';
import { dismissEvent } from '../../src/inbox/events.ts';
import { pauseSending } from '../../src/outbox/circuit-breaker.ts';
import { enqueue } from '../../src/outbox/queue.ts';
import { record } from '../../src/security/audit.ts';
import { createReceivingCounts } from '../../src/telemetry/counts.ts';
import { acting } from '../support/audit.ts';
import { onEitherEngine } from '../support/engine.ts';
import { employ } from '../support/payroll.ts';
import { read } from '../support/scrape.ts';
import { onlyReceived } from '../telemetry/still.ts';
import { deductionOf, deliver, eventOf, receive } from './deliver.ts';
import { NOW, type Running, start } from './start.ts';

const test = onEitherEngine.with(start);

test('pending work and open problems are counted, and dismissed ones are not', async (t, { call, db }) => {
  await deliver(db, [deductionOf('e1', {}), deductionOf('e2', {}, '2026-01-11T00:00:00Z')]);
  await deliver(db, [eventOf('q1', 'employee.deduction-updated', {})], '2026-01-16T00:00:00.000Z');
  await deliver(db, [eventOf('q2', 'employee.deduction-updated', {})], '2026-01-17T00:00:00.000Z');
  await receive(db, [eventOf('e1', 'x', {}), eventOf('e2', 'x', {}), eventOf('e2', 'y', {})]);
  await receive(db, [deductionOf('p1', {})], '2026-01-18T00:00:00.000Z');
  await receive(db, [deductionOf('p2', {})], '2026-01-19T00:00:00.000Z');
  await requests(db);
  await transact(db, (trx) => pauseSending(trx, 'the service responded with 401', NOW));
  const { events, requests: owed, circuit_breaker, position } = (await call({ url: '/v1/activity' })).json;
  t.strictSame(events, {
    pending: 2,
    oldest_pending_at: '2026-01-18T00:00:00.000Z',
    quarantined: 2,
    conflicts: 2,
    last_received_at: '2026-01-19T00:00:00.000Z',
  });
  const expected = {
    pending: 1,
    sending: 1,
    held: 1,
    rejected: 1,
    oldest_unfinished_at: '2026-01-20T00:00:00.000Z',
  };
  t.strictSame(owed, expected);
  const paused = { state: 'paused', reason: 'the service responded with 401', paused_at: NOW.toISOString() };
  t.strictSame(circuit_breaker, paused);
  t.equal(position, 2);

  const dismiss = (id: string) => transact(db, (trx) => dismissEvent(trx, id, 'seen', acting(NOW)));
  await dismiss('q1');
  await dismiss('e2');
  t.match((await call({ url: '/v1/activity' })).json.events, { quarantined: 1, conflicts: 1 });
});

/** One row of each state. */
async function requests(db: Db): Promise<void> {
  const states = ['delivered', 'pending', 'sending', 'rejected', 'canceled'] as const;
  await transact(db, async (trx) => {
    for (const [index, state] of states.entries()) {
      const subject = { subject_type: 'employee', subject_id: String(index) } as const;
      const request = { requestId: `r-${state}`, kind: 'termination', ...subject, encrypted: null } as const;
      await enqueue(trx, [request], `2026-01-${19 + index}T00:00:00.000Z`);
      const finished_at = state === 'pending' || state === 'sending' ? null : NOW.toISOString();
      const changed = {
        ...({ state, finished_at, is_next: finished_at === null ? 1 : 0 } as const),
        ...(state === 'pending' && { status: 404, refusals: 1 }),
        ...(state === 'sending' && { claimed_by: 'me', lease_expires_at: NOW.toISOString() }),
      };
      const row = trx.updateTable('outbox').where('request_id', '=', request.requestId);
      await row.set(changed).execute();
    }
  });
}

onEitherEngine('the counts per minute come from the receiver thread', async (t) => {
  const counts = createReceivingCounts(() => NOW, []);
  for (const tookMs of [2, 2, 20]) counts.acknowledged(tookMs);
  const { call } = await start(t, { receiving: async () => onlyReceived(counts.read()) });
  const { minutes } = (await call({ url: '/v1/activity' })).json;
  t.match(minutes.at(-1), { at: NOW.toISOString(), acknowledged: 3, slowest_ms: 20 });
});

async function scraped({ call }: Running) {
  const { status, text, headers } = await call({ url: '/metrics' });
  if (status !== 200) throw new Error(`${status}: ${text}`);
  return { headers, ...read(text) };
}

test('requests are counted by declared route, never by id', async (t, running) => {
  const { call } = running;
  for (const id of ['d1', 'd2', 'd3']) await call({ url: `/v1/deductions/${id}` });
  await call({ url: '/v1/secret-of-someone' });
  await call({ url: '/v1/events', token: null });
  const metrics = await scraped(running);
  t.equal(metrics.headers['content-type'], 'text/plain; version=0.0.4; charset=utf-8');
  t.equal(metrics.of('api_request_seconds_count{route="GET /v1/deductions/:deduction_id"}'), 3);
  t.equal(metrics.of('api_request_seconds_count{route="none"}'), 1, 'unknown routes are counted together');
  t.equal(metrics.of('api_responses_total{status="4xx"}'), 5);
  t.notMatch(metrics.text, /d1|secret-of-someone/);
});

test('work on runs is counted by kind', async (t, running) => {
  const period = { period_start: '2026-01-01', period_end: '2026-01-07' };
  const body = { employer_id: 'e1', pay_frequency: 'weekly', ...period };
  await employ(running.db, 'emp-1', { employer_id: 'e1' });
  const preview = (more: object) =>
    running.call({ url: '/v1/payroll-runs/preview', method: 'POST', body: { ...body, ...more } });
  t.equal((await preview({ pay_date: '2026-01-09' })).status, 200);
  t.equal((await preview({})).status, 422);
  const metrics = await scraped(running);
  t.equal(metrics.of('payroll_run_seconds_count{work="preview"}'), 1, 'answered requests are counted');
  t.equal(metrics.of('payroll_run_seconds_bucket{work="preview",le="60"}'), 1);
});

onEitherEngine('a scrape fails while the receiver thread does not respond', async (t) => {
  const silent = new AppError('THREAD_SILENT', 'A thread of this process did not respond within 2000 ms.');
  const { call } = await start(t, { receiving: () => Promise.reject(silent) });
  for (const url of ['/metrics', '/v1/activity']) {
    const { status, json } = await call({ url });
    t.equal(status, 503);
    t.match(json.detail, /^A thread of this process did not respond/);
  }
});

onEitherEngine('a process that cannot commit reports it with its counts', async (t) => {
  const running = await start(t, { whyNotReady: async () => 'disk-full' });
  t.equal((await scraped(running)).of('ready'), 0);
  const { status, json } = await running.call({ url: '/readyz', token: null });
  t.equal(status, 503);
  t.match(
    json.detail,
    /^the disk of the database is full: free some space\. Wait 1 second \(Retry-After\), then /,
  );
});

test('while the database does not respond, the other metrics are exported', async (t, running) => {
  const db = new Proxy(running.db, {
    get: (target, name) => {
      if (name === 'selectFrom') throw new AppError('CONNECTION_LOST', 'gone');
      return Reflect.get(target, name);
    },
  });
  const lost = await start(t, { db });
  const metrics = await scraped(lost);
  t.equal(metrics.of('webhooks_received_total'), 0);
  t.equal(metrics.of('events_pending'), undefined);
});

test('a data loss is reported until it is accepted', async (t, running) => {
  const open = async () => (await scraped(running)).of('data_loss');
  t.equal(await open(), 0);
  const found_at = '2026-02-01T00:00:00.000Z';
  const lost = {
    ...{ found_at, position: 1, seq: 1, received_at: null },
    ...{ saved_position: 2, saved_seq: 2, saved_received_at: null },
    ...{ accepted_at: null, accepted_reason: null },
  };
  await transact(running.db, (trx) => trx.insertInto('data_losses').values(lost).execute());
  t.equal(await open(), 1);
  await transact(running.db, (trx) => acceptLosses(trx, 'replayed', acting(found_at)));
  t.equal(await open(), 0);
});

const SSN = '123-45-6789';

t.test('an unavailable database is 503 and states when and how to send the request again', async (t) => {
  const full = Object.assign(new Error('database or disk is full'), { code: 'SQLITE_FULL' });
  for (const error of [new AppError('LOCK_TIMEOUT', 'locked'), full]) {
    const { call, logged } = await start(t, { whyNotReady: () => Promise.reject(error) });
    const { status, headers, json } = await call({ url: '/readyz' });
    t.equal(status, 503);
    t.equal(headers['retry-after'], '5');
    t.equal(
      json.detail,
      'Nothing was changed. Wait 5 seconds (Retry-After), then send the request again, with the same Idempotency-Key if the operation takes one.',
    );
    t.match(headers['content-type'], 'application/problem+json');
    t.equal(json.type, 'urn:benefits-sidecar:problem:unavailable');
    t.match(logged, [{ level: 'error', fields: { route: 'GET /readyz', status: 503 } }]);
  }
});

t.test('an unknown error is 500; the log has its class and place, not its message', async (t) => {
  const { call, logged } = await start(t, { whyNotReady: () => Promise.reject(new RangeError(`of ${SSN}`)) });
  const { status, json, text } = await call({ url: '/readyz' });
  t.equal(status, 500);
  t.strictSame(Object.keys(json).sort(), ['status', 'title', 'type']);
  const cause = /^RangeError at .*monitoring\.test\.ts:\d+$/;
  t.match(logged, [{ level: 'error', fields: { status: 500, code: 'INTERNAL', cause } }]);
  t.notMatch(text + JSON.stringify(logged), SSN);
});

t.test('a permanent storage failure ends the process', async (t) => {
  const fatal: unknown[] = [];
  const corrupt = Object.assign(new Error('disk image is malformed'), { code: 'SQLITE_CORRUPT' });
  const whyNotReady = () => Promise.reject(corrupt);
  const { call } = await start(t, { whyNotReady, onFatal: (error) => fatal.push(error) });
  t.equal((await call({ url: '/readyz' })).status, 503);
  t.strictSame(fatal, [corrupt]);
});

t.test('not ready is 503, and logged once for each cause', async (t) => {
  let why: 'locked' | 'disk-full' | null = 'locked';
  const { call, logged } = await start(t, { whyNotReady: async () => why });
  const ready = async () => (await call({ url: '/readyz' })).status;
  t.equal(await ready(), 503);
  t.equal(await ready(), 503);
  t.equal((await call({ url: '/livez' })).status, 200);
  t.match(logged, [{ level: 'warn', fields: { reason: /holds the write lock/ } }]);
  t.equal(logged.length, 1);
  why = 'disk-full';
  t.equal(await ready(), 503);
  why = null;
  t.equal(await ready(), 200);
  t.equal(await ready(), 200);
  t.equal(logged.map(({ level }) => level).join(), 'warn,warn,info');
});

t.test('damaged stored JSON is 500; the log names its place, never its content', async (t) => {
  const { call, db, logged } = await start(t);
  await transact(db, async (trx) => {
    const record_id = await record(trx, acting(NOW), { action: 'schedule.put', resource: 'acme' });
    const damaged = { employer_id: 'acme', version: 1, schedules: `[{"pay_group":"${SSN}"}]`, record_id };
    await trx.insertInto('pay_schedules').values(damaged).execute();
  });
  const { status, text } = await call({ url: '/v1/employers/acme/pay-schedules' });
  t.equal(status, 500);
  const reason = /^pay_schedules\.schedules of acme is damaged/;
  t.match(logged, [{ fields: { code: 'STORED_JSON_DAMAGED', reason } }]);
  t.notMatch(text + JSON.stringify(logged), SSN);
});
