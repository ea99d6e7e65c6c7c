import { join } from 'node:path';
import type { Test } from 'tap';
import { readDataKeys } from '../../src/config.ts';
import type { Db } from '../../src/database/tables.ts';
import type { Change } from '../../src/employment/change.ts';
import { createEncryptor, type Place } from '../../src/security/encryption.ts';
import { openHasher } from '../../src/security/hashing.ts';
import { open } from '../database/scratch.ts';
import { acceptChange } from '../employment/stage.ts';
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

onEitherEngine('a missing key is named with what needs it and fails the command', async (t) => {
  const { env } = await encryptedDatabase(t);
  const ran = await here(t, { ...env, DATA_KEYS: NEW_KEY }, ['keys', 'rotate']);
  t.equal(ran.code, 1);
  t.match(ran.stdout, /k1 +missing +hash_keys\.ciphertext: 1, census_chunks\.ciphertext: 2/);
  t.match(ran.stderr, /Missing: k1\. Add it to DATA_KEYS/);
  t.match(await rotate(t, env, `${NEW_KEY} ${DATA_KEY}`), { code: 0, stdout: /"reencrypted":3/ });
});

onEitherEngine('a stopped rotation prints that it can be run again', async (t) => {
  const { env } = await encryptedDatabase(t);
  const stopping = new AbortController();
  const keys = { ...env, DATA_KEYS: `${NEW_KEY} ${DATA_KEY}` };
  const running = here(t, keys, ['keys', 'rotate'], { signal: stopping.signal });
  stopping.abort();
  const ran = await running;
  t.match(ran, { code: 1, stdout: '', stderr: /Run the command again to continue/ });
});
