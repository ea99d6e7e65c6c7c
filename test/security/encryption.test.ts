import t from 'tap';
import { createEncryptor, type Place } from '../../src/security/encryption.ts';

const old = { id: 'old', key: Buffer.alloc(32, 1) };
const fresh = { id: 'new', key: Buffer.alloc(32, 2) };
const place: Place = { table: 'outbox', row: 'r-1', column: 'body' };
const plain = Buffer.from('{"ssn":"078-05-1120"}');

t.test('an encrypted value is decrypted at its place and reveals nothing', async (t) => {
  const encryptor = createEncryptor([fresh]);
  const encrypted = encryptor.encrypt(plain, place);
  t.strictSame(encryptor.decrypt(encrypted, place), plain);
  t.notOk(encrypted.includes('078-05-1120'));
  t.notSame(encryptor.encrypt(plain, place), encrypted, 'the nonce is new each time');
  t.strictSame(encryptor.decrypt(encryptor.encrypt(Buffer.alloc(0), place), place), Buffer.alloc(0));
});

t.test('the first key encrypts and every key decrypts', async (t) => {
  const encrypted = createEncryptor([old]).encrypt(plain, place);
  const rotated = createEncryptor([fresh, old]);
  t.strictSame(rotated.decrypt(encrypted, place), plain);
  t.strictSame(createEncryptor([fresh]).decrypt(rotated.encrypt(plain, place), place), plain);
});

t.test('a missing key is named', async (t) => {
  const encrypted = createEncryptor([old]).encrypt(plain, place);
  const only = createEncryptor([fresh]);
  t.throws(() => only.decrypt(encrypted, place), { code: 'DATA_KEY_MISSING' });
  t.throws(() => only.decrypt(encrypted, place), { subject: 'old', message: /key old/ });
});

t.test('a key with the same id but other bytes does not decrypt', async (t) => {
  const encrypted = createEncryptor([old]).encrypt(plain, place);
  t.throws(() => createEncryptor([{ id: 'old', key: Buffer.alloc(32, 9) }]).decrypt(encrypted, place), {
    code: 'DECRYPTION_FAILED',
  });
});

t.test('any flipped bit or truncation is detected', async (t) => {
  const encryptor = createEncryptor([fresh, { id: 'nev', key: fresh.key }]);
  const encrypted = encryptor.encrypt(plain, place);
  for (let at = 0; at < encrypted.length; at += 1) {
    const flipped = Buffer.from(encrypted);
    flipped[at]! ^= 1;
    t.throws(() => encryptor.decrypt(flipped, place), `byte ${at}`);
    t.throws(() => encryptor.decrypt(encrypted.subarray(0, at), place), `cut at ${at}`);
  }
});

t.test('a value moved to another table, row or column cannot be decrypted', async (t) => {
  const encryptor = createEncryptor([fresh]);
  const encrypted = encryptor.encrypt(plain, place);
  for (const other of [{ table: 'delivery_attempts' }, { row: 'r-2' }, { column: 'response' }])
    t.throws(() => encryptor.decrypt(encrypted, { ...place, ...other }), { code: 'DECRYPTION_FAILED' });
});
