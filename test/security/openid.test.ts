import { generateKeyPairSync } from 'node:crypto';
import t, { type Test } from 'tap';
import { systemElapsed } from '../../src/clock.ts';
import { readConfig } from '../../src/config.ts';
import { createAgent } from '../../src/outgoing.ts';
import { NO_PROXY } from '../../src/proxy-config.ts';
import { createSidecar } from '../../src/runtime/sidecar.ts';
import { createOpenIdProvider, type SignedIn, type SignInRefusal } from '../../src/security/openid.ts';
import type { ProviderConfig } from '../../src/sign-in-config.ts';
import { silentLog } from '../../src/telemetry/log.ts';
import { REQUIRED } from '../config-samples.ts';
import { eventually } from '../support/eventually.ts';
import {
  type Account,
  signed,
  startProvider,
  type TestProvider,
  unsigned,
} from '../support/openid-provider.ts';

/** A busy machine takes long to respond. */
const PATIENCE_SECONDS = 20;

const clientOf = (config: ProviderConfig, seconds = PATIENCE_SECONDS) =>
  createOpenIdProvider(config, systemElapsed, { agent: createAgent(NO_PROXY), responseSeconds: seconds });

async function begun(client: ReturnType<typeof createOpenIdProvider>) {
  const begun = await client.begin();
  if ('cause' in begun) throw new Error(begun.code);
  return begun;
}

/** Signs in from start to end. */
async function attempt(provider: TestProvider, client = clientOf(provider.config)) {
  const { address, attempt } = await begun(client);
  return client.finish(await provider.signIn(address), attempt);
}

function assertRefused(
  t: Test,
  result: SignedIn | SignInRefusal,
  refusal: Partial<SignInRefusal>,
  name: string,
) {
  t.match(result, refusal, name);
  t.notMatch(JSON.stringify(result), /eyJ|canary/, `${name}: without a token or a secret`);
}

t.test('the claims of a person decide the name, the scopes and the employers', async (t) => {
  const provider = await startProvider(t);
  const client = clientOf(provider.config);
  t.strictSame(provider.requested, [], 'nothing is requested before the first sign-in');
  const employers = (count: number) => Array.from({ length: count }, (_, place) => `client-${place + 100}`);
  const base = { sub: 'ann', name: 'Ann Example', groups: ['payroll'], employers: ['acme'] };
  for (const [name, claims, expected] of [
    ['one role', {}, { name: 'Ann Example', employers: ['acme'] }],
    ['all employers', { employers: ['beta', '*'] }, { employers: null }],
    ['claims of one text', { groups: 'payroll', employers: 'beta' }, { employers: ['beta'] }],
    ['two roles', { groups: ['payroll', 'other', 'Audit, internal'] }, { scopes: /audit:read/ }],
    ['no name', { name: undefined }, { name: 'ann' }],
    ['a name with line breaks', { name: ' Ann\r\n\u0000Ex\u202eample ' }, { name: 'Ann Ex ample' }],
    ['no role', { groups: ['other', 7, null, ['payroll']] }, { cause: 'no-role' }],
    ['no groups', { groups: undefined }, { cause: 'no-role' }],
    ['no employer', { employers: [] }, { cause: 'no-employer' }],
    ['too many employers', { employers: employers(101) }, { cause: 'too-many-employers' }],
    ['as many employers as a token', { employers: employers(100) }, { employers: employers(100) }],
    ['a subject with control characters', { sub: 'an\u0001n' }, { cause: 'invalid', code: 'BAD_SUBJECT' }],
  ] as [string, Record<string, unknown>, Record<string, unknown>][]) {
    provider.account = { ...base, ...claims } as Account;
    const result = await attempt(provider, client);
    if ('cause' in expected || 'cause' in result) t.match(result, expected, name);
    else {
      const { person, idToken } = result;
      t.match({ ...person, scopes: person.scopes.join(' ') }, expected, name);
      t.match(person, { issuer: provider.issuer, subject: 'ann' });
      t.match(idToken, /^eyJ/);
    }
  }
});

t.test('a forged, replayed or mixed-up response is refused', async (t) => {
  const provider = await startProvider(t);
  const stranger = generateKeyPairSync('rsa', { modulusLength: 2_048 }).privateKey;
  const claiming =
    (changed: object): TestProvider['falsify'] =>
    (jwt, key) =>
      signed({ ...jwt, claims: { ...jwt.claims, ...changed } }, key);
  for (const [name, falsify] of [
    ['an unknown key', (jwt) => signed(jwt, stranger)],
    [
      'an unknown key with its own id',
      ({ header, claims }) => signed({ header: { ...header, kid: 'x' }, claims }, stranger),
    ],
    ['alg none', unsigned],
    ['alg none without a signature part', (jwt) => unsigned(jwt).slice(0, -1)],
    ['a wrong audience', claiming({ aud: 'another' })],
    ['a second audience', claiming({ aud: ['sidecar', 'another'], azp: 'another' })],
    ['a wrong issuer', claiming({ iss: 'http://localhost:1' })],
    ['another nonce', claiming({ nonce: 'x' })],
    ['no nonce', claiming({ nonce: undefined })],
    ['an expired token', claiming({ exp: 1_000 })],
    [
      'a changed subject',
      (jwt) => {
        const [header, , signature] = signed(jwt, stranger).split('.');
        return [header, Buffer.from('{"sub":"boss"}').toString('base64url'), signature].join('.');
      },
    ],
    ['no token', () => ''],
  ] as [string, NonNullable<TestProvider['falsify']>][]) {
    provider.falsify = falsify;
    assertRefused(t, await attempt(provider), { cause: 'invalid' }, name);
  }
  provider.falsify = (jwt, key) => signed(jwt, key);
  t.hasProp(await attempt(provider), 'person', 'the same token, signed by the provider, is accepted');
  provider.falsify = null;

  const client = clientOf(provider.config);
  const [first, second] = [await begun(client), await begun(client)];
  const search = await provider.signIn(first.address);
  assertRefused(t, await client.finish(search, second.attempt), { cause: 'stale' }, 'another state');
  const mixed = { ...second.attempt, state: first.attempt.state };
  assertRefused(t, await client.finish(search, mixed), { cause: 'stale' }, 'another verifier');
  const again = await begun(client);
  const used = await provider.signIn(again.address);
  t.hasProp(await client.finish(used, again.attempt), 'person');
  const replayed = await client.finish(used, again.attempt);
  assertRefused(t, replayed, { cause: 'stale', code: 'invalid_grant' }, 'a replay');
  const { attempt: third } = await begun(client);
  const denied = `?error=access_denied&error_description=canary&state=${third.state}&iss=${provider.issuer}`;
  assertRefused(t, await client.finish(denied, third), { cause: 'denied', code: 'access_denied' }, 'denied');
  const elsewhere = `?code=x&state=${third.state}&iss=http%3A%2F%2Flocalhost%3A1`;
  assertRefused(t, await client.finish(elsewhere, third), { cause: 'invalid' }, 'another issuer');
});

t.test('a provider that is down or slow is reported, and works once it is back', async (t) => {
  const provider = await startProvider(t);
  const client = clientOf(provider.config);
  const discovery = '/.well-known/openid-configuration';
  provider.silent.add(discovery);
  t.match(await clientOf(provider.config, 0.2).begin(), { cause: 'unavailable', code: 'OAUTH_TIMEOUT' });
  provider.silent.clear();
  provider.broken.add(discovery);
  provider.requested.length = 0;
  const both = await Promise.all([client.begin(), client.begin()]);
  t.match(both, Array(2).fill({ cause: 'unavailable' }));
  t.equal(provider.requested.length, 1, 'concurrent sign-ins wait for one discovery');
  provider.broken.clear();
  const { address, attempt } = await begun(client);
  const search = await provider.signIn(address);
  const hasty = clientOf(provider.config, 1);
  const isDiscovered = async () => !('cause' in (await hasty.begin()));
  await eventually('the provider is discovered within a second', isDiscovered, true);
  provider.silent.add('/token');
  const slow = { cause: 'unavailable', code: 'OAUTH_TIMEOUT' } as const;
  assertRefused(t, await hasty.finish(search, attempt), slow, 'slow tokens');
  provider.silent.clear();
  t.hasProp(await client.finish(search, attempt), 'person', 'the code is still valid');
  const down = { ...provider.config, issuer: 'http://localhost:1' };
  t.match(await clientOf(down).begin(), { cause: 'unavailable' });
  const wrong = { ...provider.config, issuer: `${provider.issuer}/other` };
  t.match(await clientOf(wrong).begin(), { cause: 'invalid' });
});

t.test('an unknown role stops the start', async (t) => {
  const roles = new Map([['payroll', ['payroll-boss']]]);
  const provider = { ...(await startProvider(t)).config, roles };
  const config = { ...readConfig(REQUIRED), signIn: { withToken: true, provider, isHttps: false } };
  const message = /unknown role payroll-boss: the roles are payroll-sp/;
  const refusal = { code: 'CONFIG', subject: 'OIDC_ROLES', message };
  await t.rejects(createSidecar(config, { log: silentLog }), refusal);
});
