import { transact } from '../../src/database/transaction.ts';
import { createEncryptor, type Place } from '../../src/security/encryption.ts';
import { FINGERPRINT_BYTES, hashKeyPlace, openHasher } from '../../src/security/hashing.ts';
import { open, scratch } from '../database/scratch.ts';
import { onEitherEngine, rawBytes } from '../support/engine.ts';

const test = onEitherEngine.with(scratch);

const old = { id: 'old', key: Buffer.alloc(32, 1) };
const fresh = { id: 'new', key: Buffer.alloc(32, 2) };
const place: Place = { table: 'outbox', row: 'r-1', column: 'body' };
const plain = Buffer.from('{"ssn":"078-05-1120"}');

test('a keyed hash recognizes the same value, at its place only', async (t, { db }) => {
  const hasher = await openHasher(db, createEncryptor([old]));
  const hash = hasher.hash(plain, place);
  t.equal(hasher.isHashOf(hash, plain, place), true);
  t.equal(hasher.isHashOf(hash, Buffer.from('{}'), place), false);
  for (const other of [{ table: 'delivery_attempts' }, { row: 'r-2' }, { column: 'response' }])
    t.equal(hasher.isHashOf(hash, plain, { ...place, ...other }), false);
  t.throws(() => hasher.isHashOf(hash.subarray(0, -1), plain, place), { code: 'DECRYPTION_FAILED' });
});

test('restarts and other processes use the same key', async (t, { db, url }) => {
  const first = await openHasher(db, createEncryptor([old]));
  const again = await openHasher(open(t, url), createEncryptor([fresh, old]));
  t.equal(again.isHashOf(first.hash(plain, place), plain, place), true);
  t.strictSame(again.hash(plain, place), first.hash(plain, place), 'hashes can be looked up');
});

test('one of several concurrent first uses creates the key', async (t, { db, url }) => {
  const connections = [db, ...Array.from({ length: 5 }, () => open(t, url))];
  const hashers = await Promise.all(connections.map((each) => openHasher(each, createEncryptor([old]))));
  t.equal(new Set(hashers.map((hasher) => hasher.hash(plain, place).toString('hex'))).size, 1);
  t.equal((await db.selectFrom('hash_keys').select('id').execute()).length, 1);
});

test('the key is encrypted and bound to its place, or reported as missing by id', async (t, { db, url }) => {
  await openHasher(db, createEncryptor([old]));
  const row = await db.selectFrom('hash_keys').selectAll().executeTakeFirstOrThrow();
  const key = createEncryptor([old]).decrypt(row.ciphertext, hashKeyPlace(row.key_id));
  t.equal(key.length, 32);
  t.notOk((await rawBytes(db, url)).includes(key));
  t.throws(() => createEncryptor([old]).decrypt(row.ciphertext, hashKeyPlace('other')), {
    code: 'DECRYPTION_FAILED',
  });

  const other = open(t, url);
  await t.rejects(openHasher(other, createEncryptor([fresh])), { code: 'DATA_KEY_MISSING', subject: 'old' });
  t.ok(await openHasher(other, createEncryptor([fresh, old])));
});

test('a failed first use is retried at the next one', async (t, { db }) => {
  const encryptor = createEncryptor([old]);
  const opening = transact(db, () => openHasher(db, encryptor));
  await t.rejects(opening, { code: 'USED_OUTSIDE_TRANSACTION' });
  t.ok(await openHasher(db, encryptor));
});

test('a fingerprint is short, the same for the same value, and bound to its place', async (t, { db }) => {
  const { fingerprint } = await openHasher(db, createEncryptor([old]));
  t.equal(fingerprint('52000.00', place).length, FINGERPRINT_BYTES);
  t.strictSame(fingerprint('52000.00', place), fingerprint('52000.00', place));
  t.notSame(fingerprint('52000.01', place), fingerprint('52000.00', place));
  t.notSame(fingerprint('52000.00', { ...place, row: 'r-2' }), fingerprint('52000.00', place));
});
