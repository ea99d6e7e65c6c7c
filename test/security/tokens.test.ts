import { createHash } from 'node:crypto';
import t from 'tap';
import type { Db } from '../../src/database/tables.ts';
import { transact } from '../../src/database/transaction.ts';
import { SYSTEM } from '../../src/security/audit.ts';
import { allows, ROLES, roleOf, SCOPES, type Scope } from '../../src/security/scopes.ts';
import {
  authenticate,
  createFailedAttempts,
  createToken,
  isSamePerson,
  listTokens,
  type NewToken,
  revokeToken,
} from '../../src/security/tokens.ts';
import { scratch } from '../database/scratch.ts';
import { acting } from '../support/audit.ts';
import { at } from '../support/clocks.ts';
import { onEachEngine, rawBytes } from '../support/engine.ts';

const test = onEachEngine.with(scratch);

const NOW = new Date('2026-01-31T09:30:00.000Z');
const LATER = new Date('2026-02-28T09:30:00.000Z');
const FIRST_TOKEN = 'first-token-of-a-container-0123456789';

/** Returns whom a text authenticates, by default with tokens of the database only. */
const caller = (db: Db, text: string, now = NOW, firstToken: string | null = null) =>
  authenticate(db, text, at(now), firstToken);

function create(db: Db, wish: Partial<NewToken> = {}): Promise<{ tokenId: string; token: string }> {
  const token = { name: 'payroll', scopes: ['ledger:read'], expiresAt: null, now: NOW, actor: SYSTEM };
  return transact(db, (trx) => createToken(trx, { ...token, ...wish }));
}

test('a token is bsc_ and 256 random bits, different each time', async (t, { db }) => {
  const [one, two] = [await create(db), await create(db)];
  for (const { token, tokenId } of [one, two]) {
    t.match(token, /^bsc_[A-Za-z0-9_-]{43}$/);
    t.equal(Buffer.from(token.slice(4), 'base64url').length, 32);
    t.match(tokenId, /^tok_[0-9a-f]{12}$/);
  }
  t.not(one.token, two.token);
  t.not(one.tokenId, two.tokenId);
});

test('only the SHA-256 of a token is stored', async (t, { db, url }) => {
  const { token } = await create(db);
  const { token_hash: hash } = await db.selectFrom('tokens').select('token_hash').executeTakeFirstOrThrow();
  t.ok(hash.equals(createHash('sha256').update(token).digest()));
  const bytes = await rawBytes(db, url);
  t.ok(bytes.includes(hash), 'the hash is in the database');
  t.notOk(bytes.includes(token.slice(4)), 'the token is not in the database');
  t.notOk(JSON.stringify(await listTokens(db)).includes(token.slice(4)), 'the token is not in the list');
});

test('a token authenticates with its name and scopes', async (t, { db }) => {
  await create(db, { name: 'other', scopes: ['all'] });
  const { token, tokenId } = await create(db, { scopes: ['runs:write', 'ledger:read', 'runs:write'] });
  const nobody = { identity: null, person: null, employers: null };
  const expected = { tokenId, name: 'payroll', scopes: ['ledger:read', 'runs:write'], ...nobody };
  t.strictSame(await caller(db, token), expected);
});

test("a person's token authenticates as the person", async (t, { db }) => {
  const person = 'https://login.example.com 248289761001';
  const { token } = await create(db, { person });
  t.equal((await caller(db, token))?.person, person);
});

t.test('a role is recognized by its scopes, and none can read personal data', async (t) => {
  for (const [role, scopes] of Object.entries(ROLES)) {
    t.equal(roleOf(scopes), role);
    t.equal(roleOf([...scopes, 'pii:read']), null);
    t.notOk(allows(scopes, 'pii:read'));
  }
});

test('other texts do not authenticate', async (t, { db }) => {
  const { token, tokenId } = await create(db);
  const { token_hash: hash } = await db.selectFrom('tokens').select('token_hash').executeTakeFirstOrThrow();
  const wrong = token.endsWith('A') ? 'B' : 'A';
  const others = {
    nothing: '',
    'another last character': token.slice(0, -1) + wrong,
    'cut short': token.slice(0, -1),
    'with a space': `${token} `,
    'in capitals': token.toUpperCase(),
    'without its prefix': token.slice(4),
    'its scheme too': `Bearer ${token}`,
    'its id': tokenId,
    'its hash': hash.toString('hex'),
    'the word null': 'null',
  };
  for (const [name, text] of Object.entries(others)) t.equal(await caller(db, text), null, name);
});

test('a token is rejected from its expiry on', async (t, { db }) => {
  const { token } = await create(db, { expiresAt: LATER });
  t.ok(await caller(db, token, new Date(LATER.getTime() - 1)), 'a millisecond before');
  t.equal(await caller(db, token, LATER), null, 'at the instant');
});

test('a revoked token is rejected immediately, and others are not', async (t, { db }) => {
  const [one, two] = [await create(db), await create(db)];
  t.equal(await transact(db, (trx) => revokeToken(trx, one.tokenId, acting(LATER))), 1);
  t.equal(await caller(db, one.token), null);
  t.ok(await caller(db, two.token));
});

test('revoking by a name that several valid tokens share revokes none', async (t, { db }) => {
  const revoke = (idOrName: string) => transact(db, (trx) => revokeToken(trx, idOrName, acting(LATER)));
  const old = await create(db);
  const renewed = await create(db);
  await t.rejects(revoke('payroll'), { code: 'TOKEN_REFUSED', message: new RegExp(`${old.tokenId}.* or `) });
  t.ok(await caller(db, renewed.token));
  t.equal(await revoke(old.tokenId), 1);
  t.equal(await revoke('payroll'), 1, 'one valid token is left');
  t.equal(await revoke('payroll'), 0, 'it is revoked already');
  t.equal(await revoke('nobody'), 0);
});

test('the list shows everything but the token, including expired and revoked ones', async (t, { db }) => {
  t.strictSame(await listTokens(db), []);
  const { tokenId } = await create(db, { expiresAt: LATER });
  await create(db, { name: 'console', scopes: ['all'], now: LATER });
  await transact(db, (trx) => revokeToken(trx, tokenId, acting(LATER)));
  const [createdAt, later] = [NOW.toISOString(), LATER.toISOString()];
  const payroll = { tokenId, name: 'payroll', scopes: ['ledger:read'], createdAt };
  const console = { name: 'console', scopes: ['all'], createdAt: later, expiresAt: null, revokedAt: null };
  t.match(await listTokens(db), [{ ...payroll, expiresAt: later, revokedAt: later }, console]);
});

test('the configured API_TOKEN has all scopes, and only if it is set', async (t, { db }) => {
  const { token } = await create(db);
  const first = { tokenId: 'API_TOKEN', name: 'API_TOKEN', scopes: ['all'], person: null, employers: null };
  const configured = (text: string) => caller(db, text, NOW, FIRST_TOKEN);
  t.strictSame(await configured(FIRST_TOKEN), { ...first, identity: null });
  t.equal(await caller(db, FIRST_TOKEN), null);
  for (const other of ['', `${FIRST_TOKEN}0`]) t.equal(await configured(other), null);
  t.match(await configured(token), { name: 'payroll' }, 'other tokens still work');
  const revoked = await transact(db, (trx) => revokeToken(trx, 'API_TOKEN', acting(NOW)));
  t.equal(revoked, 0, 'only the environment revokes it');
});

onEachEngine(
  'a scope allows itself and nothing else, but personal data names; all allows each',
  async (t) => {
    const wider: Partial<Record<Scope, readonly Scope[]>> = {
      all: SCOPES,
      'pii:read': ['names:read', 'pii:read'],
    };
    for (const scope of SCOPES) {
      const allowed = SCOPES.filter((asked) => allows([scope], asked));
      t.strictSame(allowed, wider[scope] ?? [scope], scope);
    }
    t.notOk(allows([], 'ledger:read'));
  },
);

test('a scope stored by a later release is ignored', async (t, { db }) => {
  const { token } = await create(db);
  await transact(db, (trx) => trx.updateTable('tokens').set({ scopes: 'ledger:read moon:fly' }).execute());
  t.strictSame((await caller(db, token))?.scopes, ['ledger:read']);
  t.strictSame((await listTokens(db))[0]?.scopes, ['ledger:read']);
});

test('an invalid token request is rejected and creates no token', async (t, { db }) => {
  const refusals: Record<string, [Partial<NewToken>, RegExp]> = {
    'an unknown scope': [
      { scopes: ['ledger:read', 'ledger:write'] },
      /unknown scope ledger:write: .*runs:write.* all$/,
    ],
    'no scope': [{ scopes: [] }, /needs a scope: .*ledger:read/],
    'two scopes in one': [{ scopes: ['ledger:read runs:read'] }, /unknown scope/],
    'an expiry that has passed': [{ expiresAt: NOW }, /2026-01-31T09:30:00.000Z/],
    'no name': [{ name: '' }, /name/],
    'a name of two lines': [{ name: 'a\nb' }, /name/],
    'a name that looks like an id': [{ name: 'tok_0123456789ab' }, /name/],
    'a person of two lines': [{ person: 'a\nb' }, /person/],
    'a person who looks like another one': [{ person: 'jo ' }, /person/],
    'the name of the first token': [{ name: 'API_TOKEN' }, /name/],
  };
  for (const [name, [wish, message]] of Object.entries(refusals))
    await t.rejects(create(db, wish), { code: 'TOKEN_REFUSED', message }, name);
  t.strictSame(await listTokens(db), []);
});

t.test('after 20 failed attempts in a minute an address waits until the minute is over', async (t) => {
  let at = 0;
  const attempts = createFailedAttempts({ now: () => at });
  for (let count = 0; count < 20; count += 1) t.equal(attempts.failed('10.0.0.1'), null);
  at += 15_000;
  t.equal(attempts.failed('10.0.0.1'), 45);
  t.equal(attempts.failed('10.0.0.2'), null, 'other addresses are not affected');
  at += 45_000;
  t.equal(attempts.failed('10.0.0.1'), null, 'the next minute starts over');
});

t.test('1,000 addresses are remembered, and the oldest is forgotten first', async (t) => {
  const attempts = createFailedAttempts({ now: () => 0 });
  const exhaust = (address: string) => {
    for (let count = 0; count < 20; count += 1) attempts.failed(address);
  };
  exhaust('first');
  for (let count = 0; count < 998; count += 1) attempts.failed(`address ${count}`);
  exhaust('last');
  attempts.failed('one more');
  t.equal(attempts.failed('last'), 60);
  t.equal(attempts.failed('first'), null);
});

t.test('persons without an issuer compare without case, and issuer and subject are exact', async (t) => {
  for (const [left, right, isSame] of [
    ['Dana@Example.com', 'dana@example.com', true],
    ['Dana Doe', 'dana doe', true],
    ['dana', 'dan', false],
    ['https://login.example.com Abc', 'https://login.example.com abc', false],
    ['https://login.example.com Abc', 'https://login.example.com Abc', true],
    ['https://Login.example.com abc', 'https://login.example.com abc', false],
    ['HTTPS://login.example.com Abc', 'HTTPS://login.example.com abc', false],
  ] as const)
    t.equal(isSamePerson(left, right), isSame, `${left}, ${right}`);
});
