import t from 'tap';
import { transact } from '../../src/database/transaction.ts';
import { AppError } from '../../src/errors.ts';
import { start } from './start.ts';

const SSN = '123-45-6789';

t.test('an unavailable database is 503 with Retry-After', async (t) => {
  const full = Object.assign(new Error('database or disk is full'), { code: 'SQLITE_FULL' });
  for (const error of [new AppError('LOCK_TIMEOUT', 'locked'), full]) {
    const { call, logged } = await start(t, { whyNotReady: () => Promise.reject(error) });
    const { status, headers, json } = await call({ url: '/readyz' });
    t.equal(status, 503);
    t.equal(headers['retry-after'], '5');
    t.match(headers['content-type'], 'application/problem+json');
    t.equal(json.type, 'urn:benefits-sidecar:problem:unavailable');
    t.match(logged, [{ level: 'error', fields: { route: 'GET /readyz', status: 503 } }]);
  }
});

t.test(
  'an unknown error is 500 without detail; the log has its class and place, not its message',
  async (t) => {
    const { call, logged } = await start(t, {
      whyNotReady: () => Promise.reject(new RangeError(`of ${SSN}`)),
    });
    const { status, json, text } = await call({ url: '/readyz' });
    t.equal(status, 500);
    t.strictSame(Object.keys(json).sort(), ['status', 'title', 'type']);
    t.match(logged, [
      {
        level: 'error',
        fields: { status: 500, code: 'INTERNAL', cause: /^RangeError at .*failure\.test\.ts:\d+$/ },
      },
    ]);
    t.notMatch(text + JSON.stringify(logged), SSN);
  },
);

t.test('a thrown value that is not an Error is also 500', async (t) => {
  const { call, logged } = await start(t, { whyNotReady: () => Promise.reject({ ssn: SSN }) });
  t.equal((await call({ url: '/readyz' })).status, 500);
  t.notMatch(JSON.stringify(logged), SSN);
});

t.test('a permanent storage failure ends the process', async (t) => {
  const fatal: unknown[] = [];
  const corrupt = Object.assign(new Error('disk image is malformed'), { code: 'SQLITE_CORRUPT' });
  const { call } = await start(t, {
    whyNotReady: () => Promise.reject(corrupt),
    onFatal: (error) => fatal.push(error),
  });
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
  t.strictSame(
    logged.map(({ level }) => level),
    ['warn', 'warn', 'info'],
  );
});

t.test(
  'damaged stored JSON is 500; the log names its table, column and row, never its content',
  async (t) => {
    const { call, db, logged } = await start(t);
    const damaged = { employer_id: 'acme', schedules: `[{"pay_group":"${SSN}"}]`, updated_at: 'now' };
    await transact(db, (trx) => trx.insertInto('pay_schedules').values(damaged).execute());
    const { status, text } = await call({ url: '/v1/employers/acme/pay-schedule' });
    t.equal(status, 500);
    t.match(logged, [
      { fields: { code: 'STORED_JSON_DAMAGED', reason: /^pay_schedules\.schedules of acme is damaged/ } },
    ]);
    t.notMatch(text + JSON.stringify(logged), SSN);
  },
);
