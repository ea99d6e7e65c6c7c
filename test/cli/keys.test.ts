import { join } from 'node:path';
import type { Test } from 'tap';
import { readDataKeys } from '../../src/config.ts';
import type { Db } from '../../src/database/tables.ts';
import type { Change } from '../../src/employment/change.ts';
import { createEncryptor, type Place } from '../../src/security/encryption.ts';
import { openHasher } from '../../src/security/hashing.ts';
import { authenticate } from '../../src/security/tokens.ts';
import { open } from '../database/scratch.ts';
import { acceptChange } from '../employment/stage.ts';
import { at } from '../support/clocks.ts';
import { onEitherEngine } from '../support/engine.ts';
import { DATA_KEY, FIXTURES, here, jsonOf, type Variables, withDatabase } from './harness.ts';

const NEW_KEY = `k2:${Buffer.alloc(32, 'n').toString('base64')}`;
const CENSUS = join(FIXTURES, 'census/json/maple-bakery.json');
const CHANGE = {
  kind: 'termination',
  body: { employee_id: 'e-1', termination_date: '2026-02-01' },
  effectiveOn: null,
  payGroup: null,
} as const;
const now = () => new Date('2026-01-31T09:30:00.000Z');
const PLACE: Place = { table: 'outbox', row: 'r', column: 'body' };

/** A database with a staged census and a hash key, all encrypted with `k1`. */
async function encryptedDatabase(t: Test) {
  const harness = await withDatabase(t);
  const { env, db } = harness;
  t.equal((await here(t, env, ['census', 'stage', CENSUS, '--employer', 'maple-bakery'])).code, 0);
  const hasher = await openHasher(db, createEncryptor(readDataKeys(env)));
  return { ...harness, hash: hasher.hash(Buffer.from('x'), PLACE) };
}

const rotate = (t: Test, env: Variables, keys: string) =>
  here(t, { ...env, DATA_KEYS: keys }, ['keys', 'rotate', '--json']);

onEitherEngine('after a rotation everything opens and hashes compare without the old key', async (t) => {
  const { env, db, hash } = await encryptedDatabase(t);
  const accept = (on: Db, keys: string, change: Change = CHANGE) =>
    acceptChange(
      { db: on, encryptor: createEncryptor(readDataKeys({ DATA_KEYS: keys })), sharedNow: async () => now() },
      change,
      'key-1',
    );
  const { changeId } = (await accept(db, DATA_KEY)) as { changeId: string };
  const ran = await rotate(t, env, `${NEW_KEY} ${DATA_KEY}`);
  t.equal(ran.code, 0);
  t.match(jsonOf(ran), {
    first_key: 'k2',
    keys: [
      {
        id: 'k2',
        state: 'first',
        values: { 'hash_keys.ciphertext': 1, 'outbox.body': 1, 'census_chunks.ciphertext': 2 },
      },
      { id: 'k1', state: 'unused', values: {} },
    ],
    broken: {},
  });
  t.equal(jsonOf(ran).reencrypted, 4);

  const without = { ...env, DATA_KEYS: NEW_KEY };
  const doctor = jsonOf(await here(t, without, ['doctor', '--json']));
  t.match(
    doctor.checks.find((check: { id: string }) => check.id === 'data-keys'),
    { result: 'pass' },
  );
  // A connection that has not decrypted the hash key yet.
  const hasher = await openHasher(
    open(t, env.DATABASE_URL as string),
    createEncryptor(readDataKeys(without)),
  );
  t.equal(hasher.isHashOf(hash, Buffer.from('x'), PLACE), true);
  const restarted = open(t, env.DATABASE_URL as string);
  t.match(await accept(restarted, NEW_KEY), { outcome: 'repeated', changeId });
  const other = { ...CHANGE, body: { ...CHANGE.body, termination_date: '2026-02-02' } };
  t.match(await accept(restarted, NEW_KEY, other), { outcome: 'conflict' });
  t.equal((await db.selectFrom('hash_keys').select('id').execute()).length, 1);
  t.match(await rotate(t, env, NEW_KEY), { code: 0, stdout: /"reencrypted":0/ });
});

onEitherEngine('a generated key is valid for DATA_KEYS and different each time', async (t) => {
  const [one, other] = [await here(t, {}, ['keys', 'generate']), await here(t, {}, ['keys', 'generate'])];
  t.match(one, { code: 0, stderr: /DATA_KEYS/ });
  t.not(one.stdout, other.stdout);
  const keys = readDataKeys({ DATA_KEYS: `${one.stdout.trim()} ${other.stdout.trim()}` });
  t.equal(keys.length, 2);
  t.match(keys[0]?.id, /^k\d{8}-[0-9a-f]{4}$/);
});

onEitherEngine('only the token is on stdout, and it works until it is revoked', async (t) => {
  const { env, db } = await withDatabase(t);
  const scopes = ['--scope', 'ledger:read', 'events:read'];
  const made = await here(t, env, ['token', 'create', '--name', 'payroll', ...scopes, '--expires', '90d']);
  t.match(made, { code: 0, stdout: /^bsc_[\w-]{43}\n$/, stderr: /cannot be shown again/ });
  const token = made.stdout.trim();
  const who = () => authenticate(db, token, at(new Date()), null);
  t.match(await who(), { name: 'payroll', scopes: ['ledger:read', 'events:read'] });

  const listed = await here(t, env, ['token', 'list', '--json']);
  t.notMatch(listed.stdout, token);
  const [summary] = jsonOf(listed).data;
  t.match(summary, { name: 'payroll', state: 'valid', revoked_at: null });
  const days = (Date.parse(summary.expires_at) - Date.parse(summary.created_at)) / 86_400_000;
  t.equal(days, 90);

  t.match(await here(t, env, ['token', 'revoke', summary.id, '--yes']), {
    code: 0,
    stdout: 'Revoked 1 token\n',
  });
  t.equal(await who(), null);
  t.match((await here(t, env, ['token', 'list'])).stdout, /payroll .* revoked/);
  t.match(await here(t, env, ['token', 'revoke', 'payroll']), {
    code: 1,
    stderr: /no valid token has this id or name/,
  });
});

onEitherEngine('a token pasted instead of its id is not printed', async (t) => {
  const { env } = await withDatabase(t);
  const { stdout } = await here(t, env, ['token', 'create', '--name', 'x', '--scope', 'all']);
  const ran = await here(t, env, ['token', 'revoke', stdout.trim()]);
  t.equal(ran.code, 1);
  t.notMatch(ran.stderr, stdout.trim());
});
