import { transact } from '../../src/database/transaction.ts';
import { adoptTypes, notify } from '../../src/notifications/store.ts';
import { notifyConfig, RUN } from '../notifications/parts.ts';
import { onEitherEngine } from '../support/engine.ts';
import { PAY_DATE, startPayroll } from './payroll-stage.ts';
import { NOW, type Running, start } from './start.ts';

const CONFIG = notifyConfig('http://127.0.0.1/hooks');
const LIST = '/v1/notifications';

const test = onEitherEngine.with(start);

/** Stores a notification of a run, as `state`. */
async function stored(
  { db }: Running,
  run_id: string,
  state: 'pending' | 'delivered' | 'failed' = 'pending',
) {
  const id = await transact(db, (trx) => notify(trx, 'run.finalized', { ...RUN, run_id }, NOW.toISOString()));
  const finished = {
    state,
    is_next: 0,
    finished_at: NOW.toISOString(),
    attempts: 9,
    reason: 'down',
  } as const;
  if (state === 'pending') return String(id);
  const update = (trx: Parameters<Parameters<typeof transact>[1]>[0]) =>
    trx.updateTable('notifications').set(finished).where('notification_id', '=', String(id)).execute();
  await transact(db, update);
  return String(id);
}

onEitherEngine('a finalized run is told in the transaction that finalizes it', async (t) => {
  const { db, put, finalize, call } = await startPayroll(t);
  await adoptTypes(db, CONFIG);
  await put('r');
  t.strictSame((await call({ url: LIST })).json.data, []);
  t.equal((await finalize('r')).status, 200);
  await finalize('r');
  const { data } = (await call({ url: LIST })).json;
  t.equal(data.length, 1, 'a repeated request is told once');
  t.match(data[0], { type: 'run.finalized', state: 'pending', data: { run_id: 'r', pay_date: PAY_DATE } });
});

test('notifications are listed newest first, by state and type, page by page', async (t, running) => {
  const { call, db } = running;
  await adoptTypes(db, CONFIG);
  await stored(running, 'r-1', 'failed');
  await stored(running, 'r-2');
  t.equal((await call({ method: 'POST', url: `${LIST}/test` })).status, 202);
  const typesAt = async (query: string) =>
    (await call({ url: `${LIST}${query}` })).json.data.map(
      ({ type, data }: { type: string; data: { run_id?: string } }) => data.run_id ?? type,
    );
  t.strictSame(await typesAt(''), ['notification.test', 'r-2', 'r-1']);
  t.strictSame(await typesAt('?state=failed'), ['r-1']);
  t.strictSame(await typesAt('?type=run.finalized&state=pending'), ['r-2']);
  const { next_cursor } = (await call({ url: `${LIST}?limit=2` })).json;
  t.strictSame(await typesAt(`?cursor=${next_cursor}`), ['r-1']);
  t.equal((await call({ url: `${LIST}?type=run.begun` })).status, 400);
});

test('a failed notification is sent again in its subject, a delivered one is 409', async (t, running) => {
  const { call, db } = running;
  await adoptTypes(db, CONFIG);
  const retry = (id: string) => call({ method: 'POST', url: `${LIST}/${id}/retry` });
  const failed = await stored(running, 'r-1', 'failed');
  const waiting = await stored(running, 'r-1');
  const next = NOW.toISOString();
  const again = { state: 'pending', attempts: 0, reason: null, finished_at: null };
  t.match(await retry(failed), { status: 202, json: { ...again, next_attempt_at: null } }, 'after the other');
  t.match(await retry(waiting), { status: 202, json: { state: 'pending', next_attempt_at: next } });
  t.match(await retry(await stored(running, 'r-2', 'failed')), { json: { ...again, next_attempt_at: next } });
  t.equal((await retry(await stored(running, 'r-3', 'delivered'))).status, 409);
  t.equal((await retry('none')).status, 404);
});

test('a test without an address is 409, and says what to set', async (t, { call }) => {
  const { status, json } = await call({ method: 'POST', url: `${LIST}/test` });
  t.equal(status, 409);
  t.match(json.detail, /NOTIFY_URL and NOTIFY_SECRETS/);
});

test('notifications need their scopes, and a token without a limit to employers', async (t, running) => {
  const { call, tokenWith, tokenFor } = running;
  for (const [method, url, scope, other] of [
    ['GET', LIST, 'metrics:read', 'events:write'],
    ['POST', `${LIST}/test`, 'events:write', 'metrics:read'],
    ['POST', `${LIST}/none/retry`, 'events:write', 'metrics:read'],
  ] as const) {
    t.not((await call({ method, url, token: await tokenWith(scope) })).status, 403, `${url} with ${scope}`);
    t.equal((await call({ method, url, token: await tokenWith(other) })).status, 403, `${url} with ${other}`);
    t.equal(
      (await call({ method, url, token: await tokenFor(['acme'], 'all') })).status,
      403,
      `${url} limited`,
    );
  }
});
