import { RUN_ROUTES } from '../../src/api/server.ts';
import { transact } from '../../src/database/transaction.ts';
import { AppError } from '../../src/errors.ts';
import { acceptLosses } from '../../src/inbox/data-loss.ts';
import { onEitherEngine } from '../support/engine.ts';
import { read } from '../support/scrape.ts';
import { type Running, start } from './start.ts';

async function scraped({ call }: Running) {
  const { status, text, headers } = await call({ url: '/metrics' });
  if (status !== 200) throw new Error(`${status}: ${text}`);
  return { headers, ...read(text) };
}

onEitherEngine('requests are counted by declared route, never by id', async (t) => {
  const running = await start(t);
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

onEitherEngine('work on runs is counted by kind, and each kind is a declared route', async (t) => {
  const running = await start(t);
  const routes = running.app.routeTable.routes.flatMap(({ methods, url }) =>
    methods.map((one) => `${one} ${url}`),
  );
  t.strictSame(
    Object.keys(RUN_ROUTES).filter((route) => !routes.includes(route)),
    [],
  );
  const body = {
    employer_id: 'e1',
    pay_frequency: 'weekly',
    period_start: '2026-01-01',
    period_end: '2026-01-07',
  };
  await running.call({ url: '/v1/employers/e1/payroll-codes', method: 'PUT', body: { codes: [] } });
  const preview = (more: object) =>
    running.call({ url: '/v1/payroll-runs/preview', method: 'POST', body: { ...body, ...more } });
  t.equal((await preview({ pay_date: '2026-01-09' })).status, 200);
  t.equal((await preview({})).status, 422);
  const metrics = await scraped(running);
  t.equal(metrics.of('payroll_run_seconds_count{work="preview"}'), 1, 'answered requests are counted');
  t.equal(metrics.of('payroll_run_seconds_bucket{work="preview",le="60"}'), 1);
});

onEitherEngine(
  'a scrape fails when the receiver thread does not respond, instead of leaving its counts out',
  async (t) => {
    const silent = new AppError('THREAD_SILENT', 'A thread of this process did not respond within 2000 ms.');
    const { call } = await start(t, { receiving: () => Promise.reject(silent) });
    for (const url of ['/metrics', '/v1/activity']) {
      const { status, json } = await call({ url });
      t.equal(status, 503);
      t.match(json.detail, /^A thread of this process did not respond/);
    }
  },
);

onEitherEngine('a process that cannot commit reports it with its counts', async (t) => {
  const running = await start(t, { whyNotReady: async () => 'disk-full' });
  t.equal((await scraped(running)).of('ready'), 0);
  const { status, json } = await running.call({ url: '/readyz', token: null });
  t.equal(status, 503);
  t.match(json.detail, 'the disk of the database is full');
});

onEitherEngine('while the database does not respond, the other metrics are exported', async (t) => {
  const running = await start(t);
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

onEitherEngine('a data loss is reported until it is accepted', async (t) => {
  const running = await start(t);
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
  await transact(running.db, (trx) => acceptLosses(trx, 'replayed', found_at));
  t.equal(await open(), 0);
});
