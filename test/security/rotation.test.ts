import { randomUUID } from 'node:crypto';
import t from 'tap';
import { SEALED_CHUNKS } from '../../src/census/chunks.ts';
import type { Db, Trx } from '../../src/database/tables.ts';
import { transact } from '../../src/database/transaction.ts';
import { createChangeSenders } from '../../src/employment/bodies.ts';
import { enqueue, FORMER_HASHES, placeOf, SEALED_REQUESTS, sealBody } from '../../src/outbox/queue.ts';
import { createSealer, type Sealer } from '../../src/security/encryption.ts';
import { HASH_KEY, openHasher } from '../../src/security/hashing.ts';
import { countRows, keysInUse, reseal } from '../../src/security/rotation.ts';
import { open, scratch } from '../database/scratch.ts';
import { owe as oweOne, sendAll, sendLoop, setClock } from '../outbox/parts.ts';
import { json, stubService } from '../outbox/stub-service.ts';
import { cpuTime } from '../support/cpu-time.ts';
import { bytesByTable } from '../support/engine.ts';

const k1 = { id: 'k1-former', key: Buffer.alloc(32, 1) };
const k2 = { id: 'k2-latest', key: Buffer.alloc(32, 2) };
const SEALED = [HASH_KEY, ...SEALED_REQUESTS, SEALED_CHUNKS];
const NOW = '2026-01-31T09:30:00.000Z';
const quietly = { looked: () => {}, signal: new AbortController().signal };

async function owe(db: Db, sealer: Sealer, requestId: string, text: string): Promise<void> {
  const sealed = sealBody(sealer, await openHasher(db, sealer), requestId, Buffer.from(text));
  const request = { requestId, kind: 'demographic', subject: `employee:${requestId}`, sealed } as const;
  await transact(db, (trx) => enqueue(trx, request, NOW));
}

const bodyOf = async (db: Db, sealer: Sealer, requestId: string): Promise<string> => {
  const { body } = await db
    .selectFrom('outbox')
    .select('body')
    .where('request_id', '=', requestId)
    .executeTakeFirstOrThrow();
  return sealer.open(body!, placeOf(requestId, 'body')).toString();
};

const asObject = (inUse: ReadonlyMap<string, ReadonlyMap<string, number>>) =>
  Object.fromEntries([...inUse].map(([id, counts]) => [id, Object.fromEntries(counts)]));

t.test('everything that is sealed is sealed again, and the old key is nowhere any more', async (t) => {
  const { db, url } = await scratch(t);
  const before = createSealer([k1]);
  for (const id of ['r-1', 'r-2']) await owe(db, before, id, `body of ${id}`);
  await transact(db, async (trx) => {
    const answer = before.seal(Buffer.from('no'), placeOf('r-1', 'answer'));
    const rejected = { state: 'rejected', head: 0, finished_at: NOW, answer } as const;
    await trx.updateTable('outbox').set(rejected).where('request_id', '=', 'r-1').execute();
    for (let chunk = 0; chunk < 50; chunk += 1) {
      const sealed = before.seal(
        Buffer.alloc(50_000, chunk),
        SEALED_CHUNKS.placeOf({ census_id: 'c', chunk }),
      );
      await trx.insertInto('census_chunks').values({ census_id: 'c', chunk, sealed }).execute();
    }
  });
  const hash = (await openHasher(db, before)).hash(Buffer.from('x'), placeOf('r-1', 'body'));
  t.strictSame(asObject(await keysInUse(db, SEALED)), {
    'k1-former': { 'hash_keys.sealed': 1, 'outbox.body': 2, 'outbox.answer': 1, 'census_chunks.sealed': 50 },
  });

  let looked = 0;
  const on = {
    ...quietly,
    looked: (rows: number) => {
      looked += rows;
    },
  };
  const rotated = await reseal(db, createSealer([k2, k1]), SEALED, on);
  t.strictSame(rotated, { resealed: 54, broken: new Map() });
  t.equal(looked, await countRows(db, SEALED));
  for (const { name, bytes } of await bytesByTable(db)) t.notOk(bytes.includes('k1-former'), name);
  t.strictSame([...(await keysInUse(db, SEALED)).keys()], ['k2-latest']);

  // As after a restart without the old key.
  const after = createSealer([k2]);
  const restarted = open(t, url);
  t.equal(await bodyOf(restarted, after, 'r-2'), 'body of r-2');
  const hasher = await openHasher(restarted, after);
  t.equal(hasher.isHashOf(hash, Buffer.from('x'), placeOf('r-1', 'body')), true);
  const again = await reseal(restarted, after, SEALED, quietly);
  t.equal(again.resealed, 0, 'there is nothing left to do');
});

t.test('what was changed since it was read is not overwritten', async (t) => {
  const { db, url } = await scratch(t);
  const before = createSealer([k1]);
  const sealer = createSealer([k2, k1]);
  await owe(db, before, 'r-1', 'one');
  await owe(db, before, 'r-2', 'two');
  const other = open(t, url);
  // Beside it somebody erases one and seals the other anew, when both have been read.
  const newer = before.seal(Buffer.from('three'), placeOf('r-2', 'body'));
  let raced = false;
  const racing: Sealer = {
    ...sealer,
    seal(plain, place) {
      if (place.row === 'r-2') raced = true;
      return sealer.seal(plain, place);
    },
  };
  const columns = SEALED_REQUESTS.filter(({ column }) => column === 'body');
  const raceDb = db.withPlugin({
    transformQuery: ({ node }) => node,
    transformResult: async ({ result }) => {
      if (!raced && result.rows.length === 2) {
        await transact(other, async (trx) => {
          await trx.updateTable('outbox').set({ body: null }).where('request_id', '=', 'r-1').execute();
          await trx.updateTable('outbox').set({ body: newer }).where('request_id', '=', 'r-2').execute();
        });
      }
      return result;
    },
  });
  t.strictSame(await reseal(raceDb, racing, columns, quietly), { resealed: 0, broken: new Map() });
  t.ok(raced, 'both were read before');
  t.equal(await bodyOf(db, before, 'r-2'), 'three');
  t.match(await db.selectFrom('outbox').select('body').where('request_id', '=', 'r-1').execute(), [
    { body: null },
  ]);
  t.equal((await reseal(db, sealer, columns, quietly)).resealed, 1, 'the next look finds it');
});

t.test('a row whose key is missing stays as it is, and is counted by key and column', async (t) => {
  const { db } = await scratch(t);
  const lost = createSealer([{ id: 'lost', key: Buffer.alloc(32, 3) }]);
  await openHasher(db, createSealer([k1]));
  const sealed = lost.seal(Buffer.from('x'), placeOf('r-9', 'body'));
  const request = { requestId: 'r-9', kind: 'demographic', subject: 'employee:9' } as const;
  await transact(db, (trx) => enqueue(trx, { ...request, sealed: { body: sealed, body_hash: sealed } }, NOW));
  const rotated = await reseal(db, createSealer([k2, k1]), SEALED, quietly);
  t.strictSame(rotated, { resealed: 1, broken: new Map() });
  t.strictSame(asObject(await keysInUse(db, SEALED)), {
    'k2-latest': { 'hash_keys.sealed': 1 },
    lost: { 'outbox.body': 1 },
  });
  t.equal(await bodyOf(db, lost, 'r-9'), 'x');
  t.strictSame(asObject(await keysInUse(db, [FORMER_HASHES])), { lost: { 'outbox.body_hash': 1 } });
});

t.test('a damaged value is counted, stays as it is, and stops nothing', async (t) => {
  const { db } = await scratch(t);
  const before = createSealer([k1]);
  await owe(db, before, 'r-1', 'one');
  await owe(db, before, 'r-2', 'two');
  await transact(db, async (trx) => {
    const body = before.seal(Buffer.from('one'), placeOf('elsewhere', 'body'));
    await trx.updateTable('outbox').set({ body }).where('request_id', '=', 'r-1').execute();
  });
  const rotated = await reseal(db, createSealer([k2, k1]), SEALED, quietly);
  t.strictSame(rotated, { resealed: 2, broken: new Map([['outbox.body', 1]]) });
  t.equal(await bodyOf(db, createSealer([k2]), 'r-2'), 'two');
});

t.test('beside a sender each request still goes out once, with its body', async (t) => {
  const { db, url } = await scratch(t);
  const { url: service, received } = await stubService(t, (response) => json(response, 200));
  const ids = Array.from({ length: 200 }, (_, n) => `r-${n}`);
  const one = { id: 'k1', key: Buffer.alloc(32, 7) };
  for (const id of ids) await oweOne(db, id, `employee-${id}`);
  const both = createSealer([k2, one]);
  const loop = sendLoop(t, db, service, setClock(), { senders: createChangeSenders(both) });
  const other = open(t, url);
  const rotating = async () => {
    for (let pass = 0; pass < 5; pass += 1) await reseal(other, both, SEALED, quietly);
  };
  await Promise.all([sendAll(loop), rotating()]);
  t.strictSame(received.map(({ body }) => JSON.parse(body).request).sort(), ids.toSorted());
  await reseal(other, both, SEALED, quietly);
  t.strictSame([...(await keysInUse(db, SEALED)).keys()], ['k2-latest']);
});

t.test('broken off in the middle, it goes on where it ended', async (t) => {
  const { db } = await scratch(t);
  const before = createSealer([k1]);
  await transact(db, async (trx) => {
    for (let chunk = 0; chunk < 60; chunk += 1) {
      const sealed = before.seal(Buffer.from(randomUUID()), SEALED_CHUNKS.placeOf({ census_id: 'c', chunk }));
      await trx.insertInto('census_chunks').values({ census_id: 'c', chunk, sealed }).execute();
    }
  });
  const stopping = new AbortController();
  const sealer = createSealer([k2, k1]);
  const on = { looked: () => stopping.abort(), signal: stopping.signal };
  await t.rejects(reseal(db, sealer, SEALED, on), { name: 'AbortError' });
  const done = (await keysInUse(db, SEALED)).get('k2-latest')?.get('census_chunks.sealed');
  t.equal(done, SEALED_CHUNKS.rowsAtOnce);
  t.equal((await reseal(db, sealer, SEALED, quietly)).resealed, 60 - SEALED_CHUNKS.rowsAtOnce);
});

t.test(
  'sealing again holds the write lock for less than 50 ms at a time, however much there is',
  async (t) => {
    const { db, url } = await scratch(t);
    const before = createSealer([k1]);
    // The chunks of a census fill a transaction by their bytes, the bodies of changes by their number.
    await transact(db, async (trx) => {
      for (let chunk = 0; chunk < 40; chunk += 1) {
        const sealed = before.seal(
          Buffer.alloc(256 * 1024, chunk),
          SEALED_CHUNKS.placeOf({ census_id: 'c', chunk }),
        );
        await trx.insertInto('census_chunks').values({ census_id: 'c', chunk, sealed }).execute();
      }
    });
    for (let n = 0; n < 400; n += 1) await owe(db, before, `r-${n}`, 'a body of a change');

    // A writer that wants the lock meanwhile waits for one transaction of the rotation at most. That one runs in this
    // process, so the wait is CPU time.
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
    const { resealed } = await reseal(db, createSealer([k2, k1]), SEALED, quietly);
    rotating = false;
    await waiting;
    t.equal(resealed, 441);
    const sorted = waits.sort((a, b) => a - b);
    t.ok(sorted.length > 0, 'others had their turn');
    const middle = sorted[Math.floor(sorted.length / 2)] as number;
    t.ok(middle < 50, `median ${middle.toFixed(1)} ms, longest ${sorted.at(-1)?.toFixed(1)} ms`);
  },
);
