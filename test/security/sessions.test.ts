import type { Db } from '../../src/database/tables.ts';
import { transact } from '../../src/database/transaction.ts';
import { personActor, SYSTEM } from '../../src/security/audit.ts';
import { readClaims } from '../../src/security/claims.ts';
import {
  beginSession,
  endSession,
  forgeryToken,
  isEndedBySettings,
  isForgeryToken,
  noteUse,
  SESSION_IDLE_MS,
  SESSION_MS,
  SESSIONS_MAX,
  sessionCaller,
  signIn,
} from '../../src/security/sessions.ts';
import { createToken, revokeToken } from '../../src/security/tokens.ts';
import type { ProviderConfig, SignInConfig } from '../../src/sign-in-config.ts';
import { scratch } from '../database/scratch.ts';
import { acting } from '../support/audit.ts';
import { at } from '../support/clocks.ts';
import { bytesByTable, onEachEngine } from '../support/engine.ts';

const test = onEachEngine.with(scratch);

const NOW = new Date('2026-02-01T08:00:00.000Z');
const after = (ms: number) => new Date(NOW.getTime() + ms);

async function tokenOf(db: Db, expiresAt: Date | null = null): Promise<string> {
  const wish = { name: 'someone', scopes: ['ledger:read'], expiresAt, now: NOW, actor: SYSTEM };
  return (await transact(db, (trx) => createToken(trx, wish))).token;
}

const WITH_TOKENS = { withToken: true, provider: null, isHttps: false };
/** Returns whose session it is `ms` after NOW. */
const callerOf = (db: Db, secret: string, ms = 0, firstToken: string | null = null) =>
  sessionCaller(db, secret, at(after(ms)), { firstToken, signIn: WITH_TOKENS });

const begin = (db: Db, token: string, now = NOW) => transact(db, (trx) => beginSession(trx, token, now));

test('a session has its token’s scopes, for twelve hours', async (t, { db }) => {
  const secret = await begin(db, await tokenOf(db));
  for (let ms = 0; ms < SESSION_MS; ms += SESSION_IDLE_MS / 2) await noteUse(db, secret, at(after(ms)));
  t.match(await callerOf(db, secret, SESSION_MS - 1), { name: 'someone', scopes: ['ledger:read'] });
  t.equal(await callerOf(db, secret, SESSION_MS), null);
  await transact(db, (trx) => revokeToken(trx, 'someone', acting(NOW)));
  t.equal(await callerOf(db, secret, 1), null, 'revoked');
});

test('a session ends with its token', async (t, { db }) => {
  const secret = await begin(db, await tokenOf(db, after(60_000)));
  t.match(await callerOf(db, secret, 59_999), { name: 'someone' });
  t.equal(await callerOf(db, secret, 60_000), null);
});

test('a session of the first token ends when the configuration has another', async (t, { db }) => {
  const first = 'first-token-of-a-container-0123456789';
  const secret = await begin(db, first);
  t.match(await callerOf(db, secret, 0, first), { name: 'API_TOKEN', scopes: ['all'] });
  t.equal(await callerOf(db, secret, 0, `${first}-other`), null);
  t.equal(await callerOf(db, secret), null);
});

test('signing out ends this session and no other', async (t, { db }) => {
  const token = await tokenOf(db);
  const [one, other] = [await begin(db, token), await begin(db, token)];
  await transact(db, (trx) => endSession(trx, one, acting(NOW)));
  t.equal(await callerOf(db, one), null);
  t.match(await callerOf(db, other), { name: 'someone' });
});

test('expired and idle sessions are deleted when the next one starts', async (t, { db }) => {
  const token = await tokenOf(db);
  await begin(db, token);
  await begin(db, token, after(SESSION_IDLE_MS));
  t.equal((await db.selectFrom('sessions').select('created_at').execute()).length, 1);
});

test('a token has at most 20 sessions, and the next sign-in ends the oldest', async (t, { db }) => {
  const token = await tokenOf(db);
  const first = 'first-token-of-a-container-0123456789';
  const apart = await begin(db, first);
  const secrets: string[] = [];
  for (let count = 0; count < SESSIONS_MAX; count += 1) secrets.push(await begin(db, token, after(count)));
  const now = after(SESSIONS_MAX);
  t.equal(SESSIONS_MAX, 20);
  const isValid = async (secret: string) => (await callerOf(db, secret, SESSIONS_MAX)) !== null;
  const valid = () => Promise.all(secrets.map(isValid));
  t.notOk((await valid()).includes(false));
  // At once, as a program would.
  const more = await Promise.all([begin(db, token, now), begin(db, token, now), begin(db, token, now)]);
  t.strictSame((await valid()).slice(0, 4), [false, false, false, true]);
  for (const secret of more) t.ok(await isValid(secret));
  t.ok(await callerOf(db, apart, SESSIONS_MAX, first), 'the sessions of the second token stay');
});

test('the database contains neither cookie values nor tokens', async (t, { db }) => {
  const token = await tokenOf(db);
  const secret = await begin(db, token);
  for (const { name, bytes } of await bytesByTable(db)) {
    for (const canary of [token, secret, forgeryToken(secret)]) t.notOk(bytes.includes(canary), name);
  }
});

test('an unknown cookie has no session; a CSRF token is valid for its session', async (t, { db }) => {
  for (const secret of ['', 'a', 'A'.repeat(43), '\0'.repeat(43), 'ä'.repeat(43)])
    t.equal(await callerOf(db, secret), null);
  const [one, other] = ['A'.repeat(43), 'B'.repeat(43)];
  t.equal(isForgeryToken(one, forgeryToken(one)), true);
  for (const given of [forgeryToken(other), one, '', undefined, null, ['x'], 'ä'.repeat(43)])
    t.equal(isForgeryToken(one, given), false);
});

test('a session ends 30 minutes after its last use, which is recorded once a minute', async (t, { db }) => {
  const secret = await begin(db, await tokenOf(db));
  await noteUse(db, secret, at(after(59_999)));
  t.equal(await callerOf(db, secret, SESSION_IDLE_MS), null, 'a use within a minute is not recorded');
  await noteUse(db, secret, at(after(60_000)));
  t.match(await callerOf(db, secret, SESSION_IDLE_MS + 59_999), { name: 'someone' });
  t.equal(await callerOf(db, secret, SESSION_IDLE_MS + 60_000), null);
});

const PROVIDER: ProviderConfig = {
  ...{ issuer: 'https://login.example', clientId: 'sidecar', clientSecret: null, scopes: 'openid' },
  ...{ consoleUrl: 'https://sidecar.example', roleClaim: 'groups', employerClaim: null },
  roles: new Map([
    ['payroll', ['payroll-specialist', 'auditor']],
    ['audit', ['auditor']],
  ]),
};

test('a session of a person lasts while the settings that decided it stay the same', async (t, { db }) => {
  const claims = { sub: 'ann', name: 'Ann', groups: ['payroll'], employers: ['acme', 'beta'] };
  const ann = readClaims(claims, { ...PROVIDER, employerClaim: 'employers' });
  const all = readClaims(claims, PROVIDER);
  if ('cause' in ann || 'cause' in all) throw new Error('Ann has a role');
  const asPerson = { actor: personActor(ann, ann.name, null), now: NOW, earlier: null };
  const secret = await transact(db, (trx) => signIn(trx, all, asPerson));
  const limited = await transact(db, (trx) => signIn(trx, ann, asPerson));
  const settingsOf = (provider: Partial<ProviderConfig> | null, withToken = false): SignInConfig => ({
    ...{ withToken, isHttps: false, provider: provider && { ...PROVIDER, ...provider } },
  });
  const callerIf = (settings: SignInConfig, ofSession = secret) =>
    sessionCaller(db, ofSession, at(NOW), { firstToken: null, signIn: settings });
  t.strictSame(await callerIf(settingsOf({ employerClaim: 'employers' }), limited), {
    ...{ tokenId: null, identity: { issuer: PROVIDER.issuer, subject: 'ann' } },
    ...{ person: 'https://login.example ann', name: 'Ann', employers: ['acme', 'beta'], scopes: ann.scopes },
  });
  const roles = [...PROVIDER.roles];
  for (const [name, settings] of [
    [
      'another secret, address and scopes',
      { clientSecret: 'x', consoleUrl: 'https://x', scopes: 'openid x' },
    ],
    [
      'roles in another order',
      {
        roles: new Map(roles.map(([value, names]) => [value, names.toReversed()]).reverse() as typeof roles),
      },
    ],
  ] as const) {
    t.match(await callerIf(settingsOf(settings)), { name: 'Ann', employers: null }, name);
    t.equal(await isEndedBySettings(db, secret, at(NOW), settingsOf(settings)), false, name);
  }
  for (const [name, settings] of [
    ['an employer claim', { employerClaim: 'employers' }],
    ['a role less', { roles: new Map([['payroll', ['auditor']], ...roles.slice(1)]) }],
    ['a value less', { roles: new Map(roles.slice(0, 1)) }],
    ['another role claim', { roleClaim: 'roles' }],
    ['another issuer', { issuer: 'https://another.example' }],
    ['another client', { clientId: 'another' }],
    ['no provider', null],
  ] as const) {
    t.equal(await callerIf(settingsOf(settings, true)), null, name);
    t.equal(await isEndedBySettings(db, secret, at(NOW), settingsOf(settings)), true, name);
  }
  t.match(
    await callerIf(settingsOf({})),
    { name: 'Ann' },
    'it lasts at a sidecar that has the settings still',
  );
  const record = await db.selectFrom('audit_records').selectAll().limit(1).executeTakeFirstOrThrow();
  t.match(record, { action: 'session.begin', actor_kind: 'person', actor_id: 'ann' });
});

test('a session of a token ends when tokens no longer sign in, and with no other setting', async (t, {
  db,
}) => {
  const token = await tokenOf(db);
  const secret = await begin(db, token);
  const settings = { withToken: true, provider: PROVIDER, isHttps: true };
  const rules = { firstToken: null, signIn: settings };
  t.match(await sessionCaller(db, secret, at(NOW), rules), { name: 'someone' });
  const off = { ...settings, withToken: false };
  t.equal(await sessionCaller(db, secret, at(NOW), { ...rules, signIn: off }), null, 'tokens are off');
  t.equal(await isEndedBySettings(db, secret, at(NOW), off), true);
  await transact(db, (trx) => revokeToken(trx, 'someone', acting(NOW)));
  t.equal(await isEndedBySettings(db, secret, at(NOW), settings), false, 'a revoked token is no setting');
  t.equal(
    await isEndedBySettings(db, secret, at(after(SESSION_IDLE_MS)), off),
    false,
    'nor is an idle session',
  );
});
