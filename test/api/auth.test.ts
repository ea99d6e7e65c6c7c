import { mock } from 'node:test';
import type { FastifyContextConfig, FastifyRequest } from 'fastify';
import t from 'tap';
import { createRefusedCaller } from '../../src/api/refusal-log.ts';
import { createApi } from '../../src/api/server.ts';
import { transact } from '../../src/database/transaction.ts';
import { SYSTEM } from '../../src/security/audit.ts';
import { allows, SCOPES, type Scope } from '../../src/security/scopes.ts';
import { createToken, revokeToken } from '../../src/security/tokens.ts';
import { type LogFields, silentLog } from '../../src/telemetry/log.ts';
import { acting } from '../support/audit.ts';
import { onEitherEngine } from '../support/engine.ts';
import { NOW, type Running, start } from './start.ts';

/** Returns a URL of a route, with unknown ids and an existing file of the reference page. */
const addressOf = (url: string) => url.replace(/:[a-z_]+/g, 'unknown').replace('*', 'index.css');

/** The second scope of routes that need two. */
const ALSO_NEEDED: Readonly<Record<string, Scope>> = {
  'POST /v1/employers/:employer_id/export': 'runs:read',
};

onEitherEngine('a token gets 403 on every route without its scope, also for unknown ids', async (t) => {
  const { app, call, tokenWith } = await start(t);
  const routes = app.routeTable.routes.filter(({ scope }) => scope !== 'public');
  t.ok(routes.length >= 20, 'all routes are in the table');
  const wrong: unknown[] = [];
  for (const scope of SCOPES) {
    const token = await tokenWith(scope);
    for (const { methods, url, scope: needed } of routes) {
      for (const method of methods) {
        const request = { method: method as 'GET', url: addressOf(url), token };
        const { status, json, headers } = await call(request);
        const enough = [needed].flat() as Scope[];
        const also = ALSO_NEEDED[`${method} ${url}`];
        const { detail } = json ?? {};
        const challenge = headers['www-authenticate'];
        let isRight: boolean;
        if (also !== undefined && enough.includes(scope)) {
          isRight = status === 403 && detail.includes(also);
        } else if (needed === 'any' || needed === 'self' || enough.some((one) => allows([scope], one))) {
          isRight = ![401, 403].includes(status);
        } else {
          const required = `error="insufficient_scope", scope="${enough.join(' ')}"`;
          isRight =
            status === 403 && detail.includes(enough.join(' or ')) && String(challenge).includes(required);
        }
        if (!isRight) wrong.push({ scope, method, url, status, detail, challenge });
      }
    }
  }
  t.strictSame(wrong, []);
});

onEitherEngine('without a valid token only the public routes respond', async (t) => {
  let ms = 0;
  const elapsed = { now: () => ms, idle: () => 0 };
  const { app, call, db, tokenWith } = await start(t, { elapsed });
  const expired = await transact(db, (trx) =>
    createToken(trx, { name: 'old', scopes: ['all'], expiresAt: NOW, now: new Date(0), actor: SYSTEM }),
  );
  const revoked = await tokenWith('all');
  await transact(db, (trx) => revokeToken(trx, 'token 1', acting(NOW)));
  const given = {
    none: null,
    'an unknown one': `bsc_${'A'.repeat(43)}`,
    'an expired one': expired.token,
    'a revoked one': revoked,
  };
  const open = app.routeTable.routes.filter(({ scope }) => scope === 'public').map(({ url }) => url);
  t.strictSame(open.sort(), ['/livez', '/readyz']);
  for (const { methods, url, scope } of app.routeTable.routes) {
    // Within one minute, the attempts would be rejected with 429.
    ms += 60_000;
    for (const [name, token] of Object.entries(given)) {
      const { status, headers } = await call({ method: methods[0] as 'GET', url: addressOf(url), token });
      if (scope === 'public') {
        t.equal(status, 200, `${url} is public`);
        continue;
      }
      t.equal(status, 401, `${name}: ${methods[0]} ${url}`);
      t.match(headers['www-authenticate'], /^Bearer realm="benefits-sidecar"/);
      t.equal(/error="invalid_token"/.test(String(headers['www-authenticate'])), token !== null);
    }
  }
});

onEitherEngine('the scheme of a token is case-insensitive, and malformed headers are rejected', async (t) => {
  const { call, tokenWith } = await start(t);
  const token = await tokenWith('ledger:read');
  const status = async (authorization: string) =>
    (await call({ url: '/v1/deductions', token: null, headers: { authorization } })).status;
  for (const header of [`Bearer ${token}`, `bearer ${token}`, `BEARER  ${token} `])
    t.equal(await status(header), 200, header.replace(token, '…'));
  const basic = (pair: string) => `Basic ${Buffer.from(pair).toString('base64')}`;
  for (const header of [token, `Token ${token}`, `Bearer ${token} x`, 'Bearer', '', basic(`any:${token}`)])
    t.equal(await status(header), 401, header.replace(token, '…'));
});

onEitherEngine('only the reference also accepts the token as a Basic password, for browsers', async (t) => {
  const { app, call, tokenWith } = await start(t);
  const token = await tokenWith('events:read');
  const headers = { authorization: `Basic ${Buffer.from(`any:${token}`).toString('base64')}` };
  for (const { methods, url, scope } of app.routeTable.routes) {
    const method = methods[0] as 'GET';
    const { status, headers: answered } = await call({ method, url: addressOf(url), token: null, headers });
    if (scope === 'public') continue;
    t.equal(status === 401, scope !== 'any', `${url}: ${status}`);
    t.equal(/Basic/.test(String(answered['www-authenticate'])), false, 'no password is requested');
  }
  const wrong = { authorization: `Basic ${Buffer.from('any:wrong').toString('base64')}` };
  const asked = await call({ url: '/docs', token: null, headers: wrong });
  t.equal(asked.status, 401);
  t.match(asked.headers['www-authenticate'], /, Basic realm=/, 'a browser asks for the password');
});

onEitherEngine('a route without a declared scope, action or employer rule prevents the start', async (t) => {
  const { parts } = await start(t);
  const rejectsRoute = async (config: FastifyContextConfig, message: RegExp) => {
    const app = createApi(parts);
    t.teardown(() => app.close());
    app.register(async (more) => {
      more.post('/v1/forgotten', { config }, async () => 'open to all');
    });
    await t.rejects(async () => app.ready(), message);
  };
  await rejectsRoute({ action: 'none' }, /POST \/v1\/forgotten declares no scope/);
  await rejectsRoute({ scope: 'any' }, /POST \/v1\/forgotten declares no action/);
  await rejectsRoute({ scope: 'any', action: 'none' }, /POST \/v1\/forgotten declares no employer rule/);
});

const logsOf = (logged: Running['logged']) => logged.map(({ level, fields }) => ({ level, fields }));

onEitherEngine('a rejected request is logged immediately, with token name and source address', async (t) => {
  const route = 'GET /v1/deductions/:deduction_id';
  const address = '127.0.0.1';
  const first = await start(t);
  const token = await first.tokenWith('events:read');
  await first.call({ url: '/v1/deductions/d1', token });
  t.strictSame(logsOf(first.logged), [
    { level: 'warn', fields: { route, status: 403, token: 'token 1', address, count: 1 } },
  ]);
  const second = await start(t);
  await second.call({ url: '/v1/deductions/d1', token: `${token}x` });
  t.strictSame(logsOf(second.logged), [{ level: 'warn', fields: { route, status: 401, address, count: 1 } }]);
});

onEitherEngine('a HEAD request needs the same scope as GET', async (t) => {
  const { call, tokenWith } = await start(t);
  const token = await tokenWith('events:read');
  t.equal((await call({ method: 'HEAD', url: '/docs/static/index.css', token: null })).status, 401);
  t.equal((await call({ method: 'HEAD', url: '/docs/static/index.css', token })).status, 200);
  for (const url of ['/livez', '/readyz'])
    t.equal((await call({ method: 'HEAD', url, token: null })).status, 200, 'as on the public listener');
  const head = await call({ method: 'HEAD', url: '/v1/deductions', token });
  t.equal(head.status, 405, 'other routes have no HEAD');
});

onEitherEngine('too many failed attempts are 429, and a valid token is still served', async (t) => {
  let ms = 0;
  const { call } = await start(t, { elapsed: { now: () => ms, idle: () => 0 } });
  const failed = () => call({ url: '/v1/events', token: 'wrong' });
  for (let count = 0; count < 20; count += 1) t.equal((await failed()).status, 401);
  const without = await call({ url: '/v1/events', token: null });
  t.equal(without.status, 401, 'a request without a token does not count');
  const refused = await failed();
  t.equal(refused.status, 429);
  t.equal(refused.headers['retry-after'], '60');
  const problem = { type: 'urn:benefits-sidecar:problem:too-many-attempts', detail: /expired or revoked/ };
  t.match(refused.json, problem);
  t.equal((await call({ url: '/v1/events' })).status, 200, 'a valid token from the same address');
  ms = 60_000;
  t.equal((await failed()).status, 401, 'a minute later');
});

const requestFrom = (ip: string) =>
  ({
    method: 'GET',
    routeOptions: { url: '/v1/events' },
    caller: null,
    ip,
    socket: { remoteAddress: '10.9.9.9' },
  }) as unknown as FastifyRequest;

t.test('refusals from many addresses make at most eleven lines a second, and each is counted', async (t) => {
  mock.timers.enable({ apis: ['setTimeout'] });
  t.teardown(() => mock.timers.reset());
  const logged: LogFields[] = [];
  const refused = createRefusedCaller({ ...silentLog, warn: (fields) => logged.push(fields) });
  const line = { route: 'GET /v1/events', status: 401 };

  refused(requestFrom('10.0.0.1'), 401);
  t.strictSame(logged.splice(0), [{ ...line, address: '10.0.0.1', count: 1 }], 'immediately');
  for (let count = 0; count < 300; count += 1) refused(requestFrom(`10.0.0.${count % 100}`), 401);
  t.strictSame(logged, []);
  mock.timers.tick(1_000);
  t.strictSame(logged.splice(0), [
    ...Array.from({ length: 10 }, (_, count) => ({ ...line, address: `10.0.0.${count}`, count: 3 })),
    { count: 270 },
  ]);
  refused(requestFrom('made up'), 401);
  mock.timers.tick(1_000);
  t.strictSame(logged.splice(0), [{ ...line, address: '10.9.9.9', count: 1 }], 'a text that is no address');
});
