/** Sign-in with OpenID Connect. The provider is on another site (localhost), so browsers send it no `Strict` cookie back. */
import t, { type Test } from 'tap';
import { eventually } from '../support/eventually.ts';
import { startProvider } from '../support/openid-provider.ts';
import { lastingPort } from '../support/settings.ts';
import { assertGood, openConsole } from './stage.ts';

async function openWithProvider(t: Test, { withToken = true } = {}) {
  const port = await lastingPort();
  const provider = await startProvider(t, `http://127.0.0.1:${port}`);
  const now = () => new Date();
  const stage = await openConsole(
    t,
    { signIn: { withToken, provider: provider.config, isHttps: false }, now },
    port,
  );
  return { ...stage, provider };
}

t.test('a person signs in at the provider, opens the requested page, and signs out of both', async (t) => {
  const { visit, provider, db, logged } = await openWithProvider(t);
  const page = await visit({ elsewhere: provider.issuer, refusals: true });
  await page.goto('/runs?state=open');
  await assertGood(t, page, 'the sign-in page');
  await page.getByRole('link', { name: 'Sign in with your organization' }).click();
  await page.waitForURL('**/runs?state=open');
  t.equal(await page.title(), 'Payroll runs · benefits-sidecar');
  t.match(await page.getByRole('link', { name: 'Ann Example' }).textContent(), 'Ann Example');
  const runs = page.locator('nav').getByRole('link', { name: 'Runs' });
  t.equal(await runs.count(), 1, 'the role permits it');
  const cookies = await page.context().cookies(provider.config.consoleUrl);
  t.equal(cookies.length, 1, 'the sign-in cookie is gone');
  t.match(cookies, [{ name: /^benefits_sidecar_session_\d+$/, sameSite: 'Strict', httpOnly: true }]);

  await page.goto('/sessions');
  t.match(await page.getByRole('main').textContent(), 'Payroll specialist');
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByRole('button', { name: 'Yes, sign me out' }).click();
  await page.waitForURL('**/sign-in?next=%2F');
  await page.goto('/runs');
  t.match(page.url(), /\/sign-in/, 'the session has ended');
  const records = await db.selectFrom('audit_records').selectAll().orderBy('record_id').execute();
  const actor = { actor_kind: 'person', actor_issuer: provider.issuer, actor_id: 'ann' };
  t.match(records, [
    { ...actor, action: 'session.begin', details: /"employers":\["acme"\]/ },
    { ...actor, action: 'session.end', resource_id: records[0]?.resource_id },
  ]);
  const signedIn = logged.find(({ message }) => message === 'a user signed in');
  t.strictSame(signedIn?.fields, { route: 'GET /sign-in/callback', session: records[0]?.resource_id });
  t.notMatch(JSON.stringify(logged), /Ann|eyJ|canary/, 'the log has no name, token or secret');
});

t.test('a refused sign-in is explained, and leaves no session and no secret in the log', async (t) => {
  const { visit, provider, db, logged, base } = await openWithProvider(t, { withToken: false });
  const page = await visit({ elsewhere: provider.issuer, refusals: true });
  await page.goto('/');
  t.equal(await page.getByLabel('API token').count(), 0, 'tokens are off');
  t.equal((await fetch(`${base}/sign-in`, { method: 'POST' })).status, 405);
  const signIn = page.getByRole('link', { name: /^Sign in (with your organization|again)$/ });
  const isRefused = async (text: RegExp, name: string) => {
    await page.getByRole('heading', { name: 'Sign-in failed' }).waitFor();
    t.match(await page.getByRole('alert').last().textContent(), text, name);
  };
  const groups = provider.account.groups;
  provider.account.groups = ['canteen'];
  await signIn.click();
  await isRefused(/no role in this sidecar/, 'no role');
  provider.account.groups = groups;
  provider.falsify = () => 'eyJhbGciOiJub25lIn0.eyJzdWIiOiJhbm4ifQ.';
  await signIn.click();
  await isRefused(/not valid/, 'no signature');
  provider.falsify = null;
  provider.broken.add('/token');
  await signIn.click();
  await isRefused(/does not respond/, 'the provider breaks off');
  provider.broken.clear();
  const callback = page.url();
  await page.goto(callback);
  await isRefused(/already completed, has expired/, 'the same callback without its cookie');
  t.strictSame(await db.selectFrom('sessions').selectAll().execute(), []);
  const causes = async () =>
    logged.flatMap(({ message, fields }) => (message === 'a sign-in was refused' ? [fields.cause] : []));
  const expected = ['no-role', 'invalid', 'unavailable', 'stale'];
  await eventually('each refusal is logged', causes, { length: expected.length });
  t.strictSame(await causes(), expected);
  t.notMatch(JSON.stringify(logged), /Ann|eyJ|canary|code=/);
  await signIn.click();
  await page.waitForURL(`${base}/`);
  t.match(await page.getByRole('link', { name: 'Ann Example' }).textContent(), 'Ann Example');
});

t.test('a sign-in sets Secure cookies, and never opens another site', async (t) => {
  const { config } = await startProvider(t, 'https://sidecar.example');
  const { app } = await openConsole(t, { signIn: { withToken: true, provider: config, isHttps: true } });
  const headers = { host: 'sidecar.example' };
  const begun = await app.inject({ url: '/sign-in/provider?next=//evil.example', headers });
  const [cookie = ''] = [begun.headers['set-cookie']].flat();
  const attempt = '__Host-benefits_sidecar_session_default_attempt';
  t.match(cookie, new RegExp(`^${attempt}=.*; Path=/; HttpOnly; Secure; SameSite=Lax$`));
  const { next } = JSON.parse(Buffer.from(cookie.split(/[=;]/)[1] ?? '', 'base64url').toString());
  t.equal(next, '/');
});

t.test('another site cannot start a sign-in: it gets the page to sign in', async (t) => {
  const { config } = await startProvider(t, 'https://sidecar.example');
  const { app } = await openConsole(t, { signIn: { withToken: false, provider: config, isHttps: true } });
  for (const [from, status] of [
    [{ 'sec-fetch-site': 'cross-site' }, 200],
    [{ 'sec-fetch-site': 'same-site' }, 200],
    [{ 'sec-fetch-site': 'same-origin' }, 303],
    [{ 'sec-fetch-site': 'none' }, 303],
    [{ origin: 'null' }, 200],
    [{ referer: 'https://evil.example/' }, 200],
    [{ referer: 'https://sidecar.example/sign-in' }, 303],
  ] as const) {
    const headers = { host: 'sidecar.example', ...from };
    const response = await app.inject({ url: '/sign-in/provider?next=/runs', headers });
    const name = JSON.stringify(from);
    t.equal(response.statusCode, status, name);
    t.equal(response.headers['set-cookie'] !== undefined, status === 303, name);
    if (status === 200) t.match(response.body, 'https://sidecar.example/sign-in/provider?next=%2Fruns');
  }
});
