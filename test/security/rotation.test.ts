import { ENCRYPTED_CHUNKS } from '../../src/census/staged.ts';
import { countRows } from '../../src/database/bulk.ts';
import type { Db, Trx } from '../../src/database/tables.ts';
import { transact } from '../../src/database/transaction.ts';
import { createChangeSenders } from '../../src/employment/bodies.ts';
import {
  ENCRYPTED_REQUESTS,
  employeeSubject,
  encryptBody,
  enqueue,
  placeOf,
} from '../../src/outbox/queue.ts';
import { keysInUse, reencrypt } from '../../src/security/encrypted-columns.ts';
import { createEncryptor, type Encryptor } from '../../src/security/encryption.ts';
import { HASH_KEY, openHasher } from '../../src/security/hashing.ts';
import { open, scratch } from '../database/scratch.ts';
import { owe as oweOne, request, sendAll, sendLoop, setClock } from '../outbox/parts.ts';
import { inTurn, stubService } from '../outbox/stub-service.ts';
import { cpuTime } from '../support/cpu-time.ts';
import { bytesByTable, onEitherEngine } from '../support/engine.ts';
import { afterReads } from '../support/reads.ts';

const test = onEitherEngine.with(scratch);

const k1 = { id: 'k1-earlier', key: Buffer.alloc(32, 1) };
const k2 = { id: 'k2-latest', key: Buffer.alloc(32, 2) };
/** The encryptors before, during and after a rotation. */
const [before, both, after] = [createEncryptor([k1]), createEncryptor([k2, k1]), createEncryptor([k2])];
const ENCRYPTED_COLUMNS = [HASH_KEY, ...ENCRYPTED_REQUESTS, ENCRYPTED_CHUNKS];
const NOW = '2026-01-31T09:30:00.000Z';
const quietly = { looked: (_rows: number) => {}, signal: new AbortController().signal };
const rotate = (db: Db, on = quietly) => reencrypt(db, both, ENCRYPTED_COLUMNS, on);

/** Enqueues a request whose body is encrypted with the earlier key. */
async function owe(db: Db, requestId: string, text: string): Promise<void> {
  const encrypted = encryptBody(before, await openHasher(db, before), requestId, Buffer.from(text));
  const change = { requestId, kind: 'demographic', ...employeeSubject(requestId), encrypted } as const;
  await transact(db, (trx) => enqueue(trx, [change], NOW));
}

const bodyOf = async (db: Db, encryptor: Encryptor, requestId: string): Promise<string> =>
  encryptor.decrypt((await request(db, requestId)).body!, placeOf(requestId, 'body')).toString();

/** Returns how many values of each column are encrypted with each key. */
const inUse = async (db: Db) =>
  Object.fromEntries(
    [...(await keysInUse(db, ENCRYPTED_COLUMNS))].map(([id, counts]) => [id, Object.fromEntries(counts)]),
  );

/** Stages a census of chunks that are encrypted with the earlier key. */
async function stageChunks(trx: Trx, count: number, bytes: number): Promise<void> {
  const staged = { staged_at: NOW, employee_count: 0, body_bytes: 0, fingerprint_key: 'k' };
  const census = { census_id: 'c', employer_id: 'acme', state: 'current', ...staged } as const;
  await trx.insertInto('staged_censuses').values(census).execute();
  for (let chunk = 0; chunk < count; chunk += 1) {
    const place = ENCRYPTED_CHUNKS.placeOf({ census_id: 'c', chunk });
    const ciphertext = before.encrypt(Buffer.alloc(bytes, chunk), place);
    await trx.insertInto('census_chunks').values({ census_id: 'c', chunk, ciphertext }).execute();
  }
}

test('rotation encrypts everything again, and the old key is no longer used', async (t, { db, url }) => {
  for (const id of ['r-1', 'r-2']) await owe(db, id, `body of ${id}`);
  await transact(db, async (trx) => {
    const response = before.encrypt(Buffer.from('no'), placeOf('r-1', 'response'));
    const rejected = { state: 'rejected', is_next: 0, finished_at: NOW, response } as const;
    await trx.updateTable('outbox').set(rejected).where('request_id', '=', 'r-1').execute();
    await stageChunks(trx, 50, 50_000);
  });
  const hash = (await openHasher(db, before)).hash(Buffer.from('x'), placeOf('r-1', 'body'));
  const counts = { 'hash_keys.ciphertext': 1, 'outbox.body': 2, 'outbox.response': 1 };
  t.strictSame(await inUse(db), { 'k1-earlier': { ...counts, 'census_chunks.ciphertext': 50 } });

  let looked = 0;
  const count = (rows: number) => {
    looked += rows;
  };
  const on = { ...quietly, looked: count };
  const rotated = await rotate(db, on);
  t.strictSame(rotated, { reencrypted: 54, broken: new Map() });
  const tables = ENCRYPTED_COLUMNS.map(({ table }) => table);
  t.equal(looked, await countRows(db, tables));
  for (const { name, bytes } of await bytesByTable(db)) t.notOk(bytes.includes('k1-earlier'), name);
  t.strictSame(Object.keys(await inUse(db)), ['k2-latest']);

  // As after a restart without the old key.
  const restarted = open(t, url);
  t.equal(await bodyOf(restarted, after, 'r-2'), 'body of r-2');
  const hasher = await openHasher(restarted, after);
  t.equal(hasher.isHashOf(hash, Buffer.from('x'), placeOf('r-1', 'body')), true);
  const again = await reencrypt(restarted, after, ENCRYPTED_COLUMNS, quietly);
  t.equal(again.reencrypted, 0, 'there is nothing left to do');
});

test('a value that changed since it was read is not overwritten', async (t, { db, url }) => {
  await owe(db, 'r-1', 'one');
  await owe(db, 'r-2', 'two');
  const other = open(t, url);
  // Both rows are read first. Then another transaction erases one and encrypts the other again.
  const newer = before.encrypt(Buffer.from('three'), placeOf('r-2', 'body'));
  let raced = false;
  const racing: Encryptor = {
    ...both,
    encrypt(plain, place) {
      if (place.row === 'r-2') raced = true;
      return both.encrypt(plain, place);
    },
  };
  const columns = ENCRYPTED_REQUESTS.filter(({ column }) => column === 'body');
  const raceDb = afterReads(db, async (rows) => {
    if (raced || rows.length !== 2) return;
    await transact(other, async (trx) => {
      await trx.updateTable('outbox').set({ body: null }).where('request_id', '=', 'r-1').execute();
      await trx.updateTable('outbox').set({ body: newer }).where('request_id', '=', 'r-2').execute();
    });
  });
  t.strictSame(await reencrypt(raceDb, racing, columns, quietly), { reencrypted: 0, broken: new Map() });
  t.ok(raced, 'both were read before');
  t.equal(await bodyOf(db, before, 'r-2'), 'three');
  t.equal((await request(db, 'r-1')).body, null);
  t.equal((await reencrypt(db, both, columns, quietly)).reencrypted, 1, 'the next pass finds it');
});

test('a row whose key is missing stays unchanged and is counted by key and column', async (t, { db }) => {
  const lost = createEncryptor([{ id: 'lost', key: Buffer.alloc(32, 3) }]);
  const encrypted = lost.encrypt(Buffer.from('x'), placeOf('r-9', 'body'));
  await owe(db, 'r-9', 'x');
  await transact(db, (trx) => trx.updateTable('outbox').set({ body: encrypted }).execute());
  const rotated = await rotate(db);
  t.strictSame(rotated, { reencrypted: 1, broken: new Map() });
  t.strictSame(await inUse(db), { 'k2-latest': { 'hash_keys.ciphertext': 1 }, lost: { 'outbox.body': 1 } });
  t.equal(await bodyOf(db, lost, 'r-9'), 'x');
});

test('a damaged value is counted and stays unchanged, and rotation continues', async (t, { db }) => {
  await owe(db, 'r-1', 'one');
  await owe(db, 'r-2', 'two');
  await transact(db, async (trx) => {
    const body = before.encrypt(Buffer.from('one'), placeOf('elsewhere', 'body'));
    await trx.updateTable('outbox').set({ body }).where('request_id', '=', 'r-1').execute();
  });
  const rotated = await rotate(db);
  t.strictSame(rotated, { reencrypted: 2, broken: new Map([['outbox.body', 1]]) });
  t.equal(await bodyOf(db, after, 'r-2'), 'two');
});

test('during rotation each request is still sent once, with its body', async (t, { db, url }) => {
  const { url: service, received } = await stubService(t, inTurn(200));
  const ids = Array.from({ length: 200 }, (_, n) => `r-${n}`);
  const one = { id: 'k1', key: Buffer.alloc(32, 7) };
  for (const id of ids) await oweOne(db, id, `employee-${id}`);
  const either = createEncryptor([k2, one]);
  const loop = sendLoop(t, db, service, setClock(), { senders: createChangeSenders(either) });
  const other = open(t, url);
  const rotating = async () => {
    for (let pass = 0; pass < 5; pass += 1) await reencrypt(other, either, ENCRYPTED_COLUMNS, quietly);
  };
  await Promise.all([sendAll(loop), rotating()]);
  // PostgreSQL skips requests that the rotation locks.
  await sendAll(loop);
  t.strictSame(received.map(({ body }) => JSON.parse(body).request).sort(), ids.toSorted());
  await reencrypt(other, either, ENCRYPTED_COLUMNS, quietly);
  t.strictSame(Object.keys(await inUse(db)), ['k2-latest']);
});

test('an interrupted rotation continues where it ended', async (t, { db }) => {
  await transact(db, (trx) => stageChunks(trx, 60, 36));
  const stopping = new AbortController();
  const on = { looked: () => stopping.abort(), signal: stopping.signal };
  await t.rejects(rotate(db, on), { name: 'AbortError' });
  t.equal((await inUse(db))['k2-latest']?.['census_chunks.ciphertext'], ENCRYPTED_CHUNKS.rowsAtOnce);
  const { reencrypted } = await rotate(db);
  t.equal(reencrypted, 60 - ENCRYPTED_CHUNKS.rowsAtOnce);
});

test('a rotation of any size holds the write lock for less than 50 ms at a time', async (t, { db, url }) => {
  // The chunks of a census fill a transaction by bytes, the bodies of changes by number.
  await transact(db, (trx) => stageChunks(trx, 40, 256 * 1024));
  for (let n = 0; n < 400; n += 1) await owe(db, `r-${n}`, 'a body of a change');

  // Another writer waits for at most one transaction of the rotation. That one runs in this process, so the wait is CPU
  // time.
  const waits: number[] = [];
  const other = open(t, url);
  let rotating = true;
  const waiting = (async () => {
    while (rotating) {
      const touch = (trx: Trx) => trx.updateTable('instance').set({ probed_at: NOW }).execute();
      waits.push((await cpuTime(() => transact(other, touch))).cpuMs);
      await new Promise(setImmediate);
    }
  })();
  const { reencrypted } = await rotate(db);
  rotating = false;
  await waiting;
  t.equal(reencrypted, 441);
  const sorted = waits.sort((a, b) => a - b);
  t.ok(sorted.length > 0, 'other writers got the lock');
  const middle = sorted[Math.floor(sorted.length / 2)] as number;
  t.ok(middle < 50, `median ${middle.toFixed(1)} ms, longest ${sorted.at(-1)?.toFixed(1)} ms`);
});
