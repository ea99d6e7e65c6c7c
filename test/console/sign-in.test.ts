import { connect } from 'node:net';
import t from 'tap';
import { transact } from '../../src/database/transaction.ts';
import { FIRST_TOKEN, NOW } from '../api/start.ts';
import { eventually } from '../support/eventually.ts';
import { assertGood, csrfOf, openConsole } from './stage.ts';

t.test('a user signs in with a token, returns to the requested page, and signs out', async (t) => {
  const { visit, base, db } = await openConsole(t);
  const page = await visit();
  await page.goto('/?employer=acme');
  t.match(page.url(), /\/sign-in\?next=/);
  await page.getByLabel('API token').fill(FIRST_TOKEN);
  await page.keyboard.press('Enter');
  await page.waitForURL('**/?employer=acme');
  t.equal(await page.title(), 'Payrolls · benefits-sidecar');
  const [cookie, ...others] = await page.context().cookies();
  t.match(cookie, { httpOnly: true, sameSite: 'Strict', path: '/' });
  t.strictSame(others, []);
  const kept = { headers: { cookie: `${cookie?.name}=${cookie?.value}` }, redirect: 'manual' as const };
  t.equal((await fetch(`${base}/`, kept)).status, 200);
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.waitForURL('**/sign-in');
  t.equal((await fetch(`${base}/`, kept)).status, 303, 'its cookie no longer works');
  const records = await db.selectFrom('audit_records').selectAll().orderBy('record_id').execute();
  const by = { actor_kind: 'token', actor_id: 'API_TOKEN', resource_id: /^[0-9a-f]{16}$/ };
  t.match(records, [
    { action: 'session.begin', ...by },
    { action: 'session.end', ...by, resource_id: records[0]?.resource_id },
  ]);
});

t.test('an unknown token is rejected with a message', async (t) => {
  const { visit } = await openConsole(t);
  const page = await visit({ refusals: true });
  await page.goto('/sign-in');
  await page.getByLabel('API token').fill('bsc_nobody');
  await page.getByRole('button', { name: 'Sign in' }).click();
  t.match(await page.getByRole('main').getByRole('alert').textContent(), 'unknown, expired or revoked');
  t.strictSame(await page.context().cookies(), []);
  await assertGood(t, page, 'the sign-in page');
});

t.test('a session needs the CSRF header to change anything; a token does not', async (t) => {
  const { base, cookie } = await openConsole(t);
  const session = await cookie();
  const headers = { cookie: session, 'content-type': 'application/json' };
  const body = JSON.stringify({ state: 'quarantined' });
  const reprocess = (more: object) =>
    fetch(`${base}/v1/events/reprocess`, { method: 'POST', headers: { ...headers, ...more }, body });
  t.equal((await reprocess({})).status, 403);
  t.equal((await reprocess({ 'x-csrf-token': 'A'.repeat(43) })).status, 403);
  t.equal((await reprocess(await csrfOf(base, session))).status, 200);
});

t.test('a sign-in never redirects to another site', async (t) => {
  const { base } = await openConsole(t);
  for (const next of [
    '/日本',
    '//evil.example',
    '/\\evil.example',
    'https://evil.example',
    '/\t/evil.example',
  ]) {
    const answer = await signInAt(base, {}, next);
    t.equal(answer.status, 303);
    t.equal(answer.headers.get('location'), '/', next);
  }
});

t.test('the cookie is Secure when the browser uses https', async (t) => {
  const { base, visit } = await openConsole(t);
  const cookieOf = async (origin: string) =>
    (await signInAt(base, { origin, 'sec-fetch-site': 'same-origin' })).headers.get('set-cookie') ?? '';
  t.match(await cookieOf('https://payroll.example'), /^__Host-.*; Path=\/; .*; Secure/);
  t.notMatch(await cookieOf(base), /Secure/);
  const { base: plain } = await openConsole(t, {
    signIn: { withToken: true, provider: null, isHttps: true },
  });
  const set = (await signInAt(plain, { origin: plain })).headers.get('set-cookie');
  t.match(set, /^__Host-.*Secure/, 'CONSOLE_URL is https');
  // A browser sends its origin only if the page's referrer policy allows it.
  const page = await visit();
  await page.goto('/sign-in');
  await page.getByLabel('API token').fill(FIRST_TOKEN);
  const sent = page.waitForRequest((request) => request.method() === 'POST');
  await page.keyboard.press('Enter');
  t.equal((await (await sent).allHeaders()).origin, base);
  await page.waitForURL('**/');
});

t.test('sidecars on two ports of one machine have separate sessions', async (t) => {
  const [one, other] = [await openConsole(t), await openConsole(t)];
  const page = await one.signedIn();
  await page.goto(`${other.base}/sign-in`);
  await page.getByLabel('API token').fill(FIRST_TOKEN);
  await page.keyboard.press('Enter');
  await page.waitForURL(`${other.base}/`);
  await page.goto(`${one.base}/`);
  t.equal(await page.title(), 'Payrolls · benefits-sidecar');
});

t.test('a token in the header takes precedence over the session', async (t) => {
  const { cookie, tokenWith, base } = await openConsole(t);
  const headers = { authorization: `Bearer ${await tokenWith('events:read')}`, cookie: await cookie() };
  const overview = await fetch(`${base}/`, { headers });
  t.equal(overview.status, 200);
  t.notMatch(await overview.text(), /checks passed/);
});

t.test('a sign-in form that arrives too slowly is dropped', async (t) => {
  const { base } = await openConsole(t);
  const { hostname, port } = new URL(base);
  const socket = connect(Number(port), hostname);
  t.teardown(() => socket.destroy());
  // A reset closes the socket too, and `once` of node:events would reject with its error.
  const { promise: closed, resolve } = Promise.withResolvers<void>();
  socket.on('error', () => {});
  socket.on('close', () => resolve());
  socket.write('POST /sign-in HTTP/1.1\r\nhost: x\r\ncontent-type: application/x-www-form-urlencoded\r\n');
  socket.write('content-length: 100\r\n\r\nt');
  const drip = setInterval(() => socket.write('o'), 200);
  t.teardown(() => clearInterval(drip));
  await closed;
  t.pass();
});

t.test('another site cannot sign a user in', async (t) => {
  const { base } = await openConsole(t);
  for (const headers of [
    { 'sec-fetch-site': 'cross-site', origin: base },
    { origin: 'http://evil.example' },
  ]) {
    const answer = await signInAt(base, headers);
    t.equal(answer.status, 401);
    t.equal(answer.headers.get('set-cookie'), null);
  }
});

t.test('an unknown path returns a page to users and a problem to programs', async (t) => {
  const { signedIn, base, call } = await openConsole(t);
  const page = await signedIn({ refusals: true });
  const answer = await page.goto('/ledgre');
  t.equal(answer?.status(), 404);
  await page.getByRole('heading', { name: 'Page not found' }).waitFor();
  t.equal(await page.getByRole('link', { name: 'Runs' }).count(), 1, 'with navigation');
  t.equal(answer?.headers()['cache-control'], 'no-store');
  t.match((await page.goto('/v1/nothing'))?.headers()['content-type'], 'json', 'API paths return JSON');
  const stranger = await fetch(`${base}/ledgre`, { headers: { accept: 'text/html' } });
  t.equal(stranger.status, 404);
  t.match(stranger.headers.get('content-type'), 'json', 'visitors without a session get JSON');
  t.match((await call({ url: '/ledgre' })).json, { status: 404 });
});

/** Posts the sign-in form without a browser. */
function signInAt(base: string, headers: Record<string, string> = {}, next = ''): Promise<Response> {
  const body = new URLSearchParams({ token: FIRST_TOKEN, next });
  return fetch(`${base}/sign-in`, { method: 'POST', redirect: 'manual', headers, body });
}

/** Signs in and returns the cookies that are set. */
async function cookiesOf(base: string, headers: Record<string, string>): Promise<string[]> {
  const response = await signInAt(base, headers);
  return response.headers.getSetCookie().map((cookie) => cookie.split(';')[0] as string);
}

t.test('X-Forwarded-Proto is believed only from a configured proxy', async (t) => {
  const headers = { 'x-forwarded-proto': 'https' };
  for (const [proxies, prefix] of [
    [[], 'benefits_'],
    [['10.0.0.0/8'], 'benefits_'],
    [['10.0.0.0/8', '127.0.0.0/8'], '__Host-benefits_'],
  ] as const) {
    const { base } = await openConsole(t, { proxies });
    const [cookie = ''] = await cookiesOf(base, headers);
    t.ok(cookie.startsWith(prefix), `${proxies}: ${cookie}`);
  }
});

t.test('signing in again ends the browser’s earlier session, and the log names the token', async (t) => {
  const { base, logged } = await openConsole(t, { proxies: ['127.0.0.1'] });
  const signIn = (headers: Record<string, string>) => cookiesOf(base, headers);
  const status = async (cookie: string) =>
    (await fetch(`${base}/`, { headers: { cookie }, redirect: 'manual' })).status;
  const [first = ''] = await signIn({});
  t.equal(await status(first), 200);
  const again = await signIn({ cookie: first, 'x-forwarded-proto': 'https' });
  const second = again.find((cookie) => cookie.startsWith('__Host-')) ?? '';
  t.equal(await status(second), 200);
  t.equal(await status(first), 303);
  const signIns = logged.filter(({ message }) => message === 'a user signed in');
  const fields = { route: 'POST /sign-in', token: 'API_TOKEN' };
  for (const line of signIns) t.strictSame(line.fields, fields);
  t.equal(signIns.length, 2);
});

t.test('a background refresh does not extend a session; a page view does', async (t) => {
  let now = NOW;
  const { base, cookie, db } = await openConsole(t, { now: () => now });
  const session = await cookie();
  const visit = async (headers: Record<string, string> = {}) =>
    (await fetch(base, { headers: { cookie: session, ...headers }, redirect: 'manual' })).status;
  const lastUse = async () =>
    (await db.selectFrom('sessions').select('last_used_at').executeTakeFirstOrThrow()).last_used_at;
  now = new Date(NOW.getTime() + 20 * 60_000);
  t.equal(await visit({ 'x-background': '1' }), 200);
  t.equal(await lastUse(), NOW.toISOString());
  t.equal(await visit(), 200);
  await eventually('the use is recorded', lastUse, now.toISOString());
  now = new Date(NOW.getTime() + 50 * 60_000);
  t.equal(await visit({ 'x-background': '1' }), 303, 'the session ends after 30 idle minutes');
});

t.test('a user sees their sessions, ends one, and ends all others', async (t) => {
  const { signedIn, tokenWith } = await openConsole(t);
  const token = await tokenWith('events:read');
  const page = await signedIn({ token });
  const ended = [
    await signedIn({ token, refusals: true }),
    await signedIn({ token }),
    await signedIn({ token }),
  ];
  await signedIn();
  await page.goto('/');
  await page.getByRole('link', { name: 'Sessions' }).click();
  await page.waitForURL('**/sessions');
  const rows = page.getByRole('table').locator('tbody tr');
  t.equal(await rows.count(), 4, 'sessions of the other token are not listed');
  t.strictSame(await page.getByRole('columnheader').allTextContents(), ['Signed in', 'Last used', 'Session']);
  t.equal(await page.getByText('This browser').count(), 1);

  await page.getByRole('button', { name: 'End session' }).first().click();
  // A click before the scripts of the new page have run does nothing.
  await page.waitForURL('**/sessions?ended=one');
  t.equal(await rows.count(), 3);
  t.equal(await page.getByRole('button', { name: 'End session' }).count(), 2);
  await page.getByRole('button', { name: 'End all other sessions' }).click();
  await rows.nth(1).waitFor({ state: 'detached' });
  t.equal(await page.getByText('This browser').count(), 1);
  t.equal(await page.getByRole('button', { name: 'End all other sessions' }).count(), 0);
  for (const other of ended) {
    await other.goto('/');
    t.match(other.url(), /\/sign-in/);
  }
});

t.test('a page that refreshes or listens does not extend a session, and its user does', async (t) => {
  const { base, cookie, db } = await openConsole(t);
  const session = await cookie();
  const earlier = new Date(NOW.getTime() - 10 * 60_000).toISOString();
  await transact(db, (trx) => trx.updateTable('sessions').set({ last_used_at: earlier }).execute());
  const lastUse = async () =>
    (await db.selectFrom('sessions').select('last_used_at').executeTakeFirstOrThrow()).last_used_at;
  const open = async (path: string, headers: Record<string, string>) => {
    const { status, body } = await fetch(base + path, { headers: { cookie: session, ...headers } });
    t.equal(status, 200, path);
    await body?.cancel();
  };
  for (const [path, headers] of [
    ['/live', { accept: 'text/event-stream' }],
    ['/', { 'x-background': 'refresh' }],
    ['/session', { 'x-background': 'refresh' }],
  ] as const)
    await open(path, headers);
  t.equal(await lastUse(), earlier);
  await open('/', {});
  await eventually('the use is noted', async () => ((await lastUse()) === earlier ? [] : ['noted']), {
    length: 1,
  });
});

t.test('a session that changed settings ended is explained on the sign-in page', async (t) => {
  const signIn = { withToken: true, provider: null, isHttps: false };
  const { base, cookie } = await openConsole(t, { signIn });
  const headers = { cookie: await cookie() };
  const open = async () => (await fetch(base, { headers })).text();
  const reason = 'The sign-in settings have changed';
  t.notMatch(await open(), reason);
  signIn.withToken = false;
  t.match(await open(), reason);
  headers.cookie = '';
  t.notMatch(await open(), reason, 'without a session');
});

t.test('an open page marks the requests that its user did not make', async (t) => {
  const page = await (await openConsole(t)).signedIn();
  // The home page computes payrolls when it loads, and refreshes when the stream sends its first news.
  const automatic = ['GET', 'POST'].map((method) =>
    page.waitForRequest((sent) => sent.method() === method && 'hx-request' in sent.headers()),
  );
  await page.goto('/');
  for (const sent of await Promise.all(automatic)) t.equal(sent.headers()['x-background'], '1', sent.url());
});
