import { readDataKeys } from '../../src/config.ts';
import { transact } from '../../src/database/transaction.ts';
import { createEncryptor } from '../../src/security/encryption.ts';
import { ROLES } from '../../src/security/scopes.ts';
import { beginSession } from '../../src/security/sessions.ts';
import { authenticate } from '../../src/security/tokens.ts';
import { at } from '../support/clocks.ts';
import { onEitherEngine } from '../support/engine.ts';
import { commandsWith, here, jsonOf, withDatabase } from './harness.ts';

const test = onEitherEngine.with(withDatabase);

onEitherEngine('a generated key is valid for DATA_KEYS and different each time', async (t) => {
  const { cli } = commandsWith(t, {});
  const [one, other] = [await cli('keys generate'), await cli('keys generate')];
  t.match(one, { code: 0, stderr: /^Set DATA_KEYS to it/ });
  t.notMatch(one.stderr, /older|rotate/);
  const next = await commandsWith(t, { DATA_KEYS: one.stdout }).cli('keys generate');
  t.match(next, { code: 0, stderr: /before the older keys/ });
  t.not(one.stdout, other.stdout);
  const keys = readDataKeys({ DATA_KEYS: `${one.stdout.trim()} ${other.stdout.trim()}` });
  t.equal(keys.length, 2);
  t.match(keys[0]?.id, /^k\d{8}-[0-9a-f]{4}$/);
});

test('a token has the scopes of its roles, added scopes, a person and employers', async (t, {
  cli,
  json,
}) => {
  const options = '--role auditor --scope pii:read --person jo@example.com --employer globex --employer acme';
  const made = await json(`token create --name jo ${options}`);
  t.strictSame(made.scopes.toSorted(), [...ROLES.auditor, 'pii:read'].sort());
  t.equal(made.person, 'jo@example.com');
  await cli('token create --name mo --role auditor');
  t.match((await json('token list')).data, [
    { name: 'jo', role: null, person: 'jo@example.com', employers: ['acme', 'globex'] },
    { name: 'mo', role: 'auditor', person: null, employers: null },
  ]);
});

test('only the token is on stdout, and it works until it is revoked', async (t, { cli, db }) => {
  const made = await cli('token create --name payroll --scope ledger:read events:read --expires 90d');
  t.match(made, { code: 0, stdout: /^bsc_[\w-]{43}\n$/, stderr: /cannot be shown again/ });
  const token = made.stdout.trim();
  const who = () => authenticate(db, token, at(new Date()), null);
  t.match(await who(), { name: 'payroll', scopes: ['ledger:read', 'events:read'] });

  const listed = await cli('token list --json');
  t.notMatch(listed.stdout, token);
  const [summary] = jsonOf(listed).data;
  t.match(summary, { name: 'payroll', state: 'valid', revoked_at: null });
  const days = (Date.parse(summary.expires_at) - Date.parse(summary.created_at)) / 86_400_000;
  t.equal(days, 90);

  t.match(await cli('token revoke', summary.id, '--yes'), { code: 0, stdout: 'Revoked 1 token\n' });
  t.equal(await who(), null);
  t.match((await cli('token list')).stdout, /payroll .* revoked/);
  const none = { code: 1, stderr: /no valid token has this id or name/ };
  t.match(await cli('token revoke payroll'), none);
});

test('an operator lists the console sessions and ends the sessions of a person', async (t, world) => {
  const { cli, json, db } = world;
  const ann = {
    issuer: 'https://login.example',
    subject: 'ann',
    name: 'Ann',
    scopes: [],
    employers: null,
    rules: '',
  };
  for (const owner of [ann, ann, { ...ann, subject: 'ben', name: 'Ben' }, 'first token'])
    await transact(db, (trx) => beginSession(trx, owner, new Date()));
  const listed: { id: string; name: string }[] = (await json('session list')).data;
  t.strictSame(listed.map(({ name }) => name).sort(), ['API_TOKEN', 'Ann', 'Ann', 'Ben']);
  t.match((await cli('session list')).stdout, /Ben\s+https:\/\/login\.example ben/);
  const endAnn = () => cli('session end --person', 'https://login.example ann');
  t.match(await endAnn(), { code: 0, stdout: 'Ended 2 sessions\n' });
  t.match(await endAnn(), { code: 1, stderr: /no session has this ID/ });
  const ben = listed.find(({ name }) => name === 'Ben');
  t.match(await cli('session end', String(ben?.id)), { code: 0, stdout: 'Ended 1 session\n' });
  t.match(await cli('session end'), { code: 2, stderr: /give one of/ });
  t.match(await cli('session end --all --yes'), { code: 0, stdout: 'Ended 1 session\n' });
  t.match((await cli('session list')).stderr, /No user is signed in/);
});

test('the sessions of a typed person end with those of all tokens of the person, without case', async (t, {
  cli,
  db,
  json,
}) => {
  for (const [name, person] of [
    ['a', 'Dana@Example.com'],
    ['b', 'dana@example.com'],
    ['c', 'eve@example.com'],
  ]) {
    const { stdout } = await cli(`token create --name ${name} --scope ledger:read --person ${person}`);
    await transact(db, (trx) => beginSession(trx, stdout.trim(), new Date()));
  }
  const endDana = () => cli('session end --person', 'DANA@example.com');
  t.match(await endDana(), { code: 0, stdout: 'Ended 2 sessions\n' });
  t.match((await json('session list')).data, [{ name: 'c', person: 'eve@example.com' }]);
  t.match(await endDana(), { code: 1, stderr: /no session has this ID/ });
});

test('a token pasted instead of its id is not printed', async (t, { cli }) => {
  const { stdout } = await cli('token create --name x --scope all');
  const { code, stderr } = await cli('token revoke', stdout.trim());
  t.equal(code, 1);
  t.notMatch(stderr, stdout.trim());
});

test('rotation fails if a value is damaged or its key is missing', async (t, { env, db }) => {
  const [first] = readDataKeys(env);
  const old = { id: 'old', key: Buffer.alloc(32, 3) };
  const place = { table: 'hash_keys', row: '1', column: 'ciphertext' };
  const ciphertext = createEncryptor([old]).encrypt(Buffer.alloc(32), place);
  ciphertext[ciphertext.length - 1] = (ciphertext.at(-1) as number) ^ 1;
  await transact(db, async (trx) => {
    await trx.deleteFrom('hash_keys').execute();
    await trx.insertInto('hash_keys').values({ id: 1, key_id: 'old', ciphertext }).execute();
  });
  const rotate = (more = '') => here(t, { ...env, DATA_KEYS: `${env.DATA_KEYS}${more}` }, ['keys', 'rotate']);
  const withOld = ` old:${old.key.toString('base64')}`;
  t.match(await rotate(withOld), { code: 1, stderr: /Damaged.*: 1 values of hash_keys.ciphertext/ });
  t.match(await rotate(), { code: 1, stderr: /Missing.*: old\. Add it to DATA_KEYS/ });
  await transact(db, (trx) => trx.deleteFrom('hash_keys').execute());
  t.match(await rotate(withOld), { code: 0, stdout: new RegExp(first?.id ?? '') });
});
