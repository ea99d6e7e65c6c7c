import { EventEmitter, once } from 'node:events';
import { sql } from 'kysely';
import t from 'tap';
import { insertMany, isOneOf, updateMany } from '../../src/database/bulk.ts';
import { isBusy, isFatal, isUnavailable, rolledBack } from '../../src/database/errors.ts';
import { createLockTurns } from '../../src/database/sqlite.ts';
import type { Db, Trx } from '../../src/database/tables.ts';
import { transact } from '../../src/database/transaction.ts';
import { AppError, codeOf } from '../../src/errors.ts';
import { onEachEngine, onSqlite } from '../support/engine.ts';
import { open, scratch } from './scratch.ts';

const test = onEachEngine.with(scratch);

const REFUSED = { code: 'USED_OUTSIDE_TRANSACTION' };

function refuse(trx: Trx, cause: string): Promise<unknown> {
  const row = { minute: '2026-01-31T09:30', cause, refused_count: 1 };
  return trx.insertInto('refused_signatures').values(row).execute();
}

async function causes(db: Db | Trx): Promise<string[]> {
  const rows = await db.selectFrom('refused_signatures').select('cause').orderBy('cause').execute();
  return rows.map((row) => row.cause);
}

test('failed work is rolled back, and the next transaction runs', async (t, { db }) => {
  const failing = transact(db, async (trx) => {
    await refuse(trx, 'a');
    throw new Error('no');
  });
  await t.rejects(failing, { message: 'no' });
  await transact(db, (trx) => refuse(trx, 'b'));
  t.strictSame(await causes(db), ['b']);
});

test('using the database inside a transaction throws immediately', async (t, { db }) => {
  await transact(db, async (trx) => {
    await t.rejects(causes(db), REFUSED, 'a read');
    await t.rejects(refuse(db as Trx, 'a'), REFUSED, 'a write');
    const nested = transact(db, async () => {});
    await t.rejects(nested, REFUSED, 'a nested transaction');
    await refuse(trx, 'b');
  });
  t.strictSame(await causes(db), ['b'], 'the transaction itself succeeds');
});

test('work started by a transaction may use the database after it ends', async (t, { db }) => {
  const bell = new EventEmitter();
  const after = Promise.withResolvers<void>();
  let read: Promise<string[]> | undefined;
  bell.on('ring', () => {
    read = after.promise.then(() => causes(db));
  });
  await transact(db, async (trx) => {
    bell.emit('ring');
    await refuse(trx, 'a');
  });
  after.resolve();
  t.strictSame(await read, ['a']);
});

test('reads see committed rows only, and do not wait for a transaction that waits', async (t, { db }) => {
  const signals = new EventEmitter();
  const written = once(signals, 'written');
  const writing = transact(db, async (trx) => {
    await refuse(trx, 'a');
    t.strictSame(await causes(trx), ['a'], 'the transaction sees its own rows');
    signals.emit('written');
    await once(signals, 'read');
  });
  await written;
  t.strictSame(await causes(db), []);
  signals.emit('read');
  await writing;
  t.strictSame(await causes(db), ['a']);
});

// Rules of one writing and one reading handle. test/postgres has the rules of many connections.
const alone = onSqlite.with(scratch);

alone('a write outside a transaction is rejected', async (t, { db }) => {
  await t.rejects(refuse(db as Trx, 'a'), { code: 'SQLITE_READONLY' });
  t.strictSame(await causes(db), []);
});

alone('transactions run in turn, in the order of the calls', async (t, { db }) => {
  const order: string[] = [];
  const work = (name: string) =>
    transact(db, async (trx) => {
      order.push(`${name} begins`);
      await refuse(trx, name);
      if (name === 'b') throw new Error(name);
      order.push(`${name} ends`);
    });
  await Promise.allSettled([work('a'), work('b'), work('c')]);
  t.strictSame(order, ['a begins', 'a ends', 'b begins', 'c begins', 'c ends']);
  t.strictSame(await causes(db), ['a', 'c']);
});

alone('a transaction of the thread that comes first overtakes queued transactions', async (t, { url }) => {
  const turns = createLockTurns();
  const main = open(t, url, turns);
  const api = open(t, url, { ...turns, comesFirst: false });
  const order: string[] = [];
  const work = (db: Db, name: string) => transact(db, async () => void order.push(name));
  const locked = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<void>();
  const holding = transact(api, async () => {
    locked.resolve();
    await ended.promise;
  });
  await locked.promise;
  const queued = work(api, 'queued before');
  const waiting = work(main, 'first');
  // Until its first attempt has failed.
  while (Atomics.load(turns.waiting, 0) === 0) await new Promise(setImmediate);
  ended.resolve();
  await Promise.all([holding, queued, waiting]);
  t.strictSame(order, ['first', 'queued before']);
  await work(api, 'later');
  t.strictSame(order, ['first', 'queued before', 'later'], 'nothing waits any longer');
});

alone('a read lets an open transaction that never waits end first', async (t, { db }) => {
  const order: string[] = [];
  const begun = Promise.withResolvers<void>();
  const writing = transact(db, async (trx) => {
    begun.resolve();
    for (const cause of ['a', 'b', 'c', 'd', 'e']) await refuse(trx, cause);
  });
  await begun.promise;
  const reading = causes(db).then((read) => order.push(`read ${read.join('')}`));
  await Promise.all([writing.then(() => order.push('committed')), reading]);
  t.strictSame(order, ['committed', 'read abcde']);
});

alone(
  'after a rollback by the engine no later statement of the work commits on its own',
  async (t, { db }) => {
    const working = transact(db, async (trx) => {
      await refuse(trx, 'a');
      // Does what a full disk does to a transaction.
      const rolled = sql`insert or rollback into ledger_head values (1, 9)`.execute(trx);
      await t.rejects(rolled, { code: /CONSTRAINT/ });
      await refuse(trx, 'b');
    });
    const error = await working.catch((error) => error);
    t.match(error, { code: 'ROLLED_BACK' });
    t.ok(isUnavailable(error), 'the work is retryable');
    t.strictSame(await causes(db), []);
    await transact(db, (trx) => refuse(trx, 'c'));
    t.strictSame(await causes(db), ['c'], 'the next transaction runs');
  },
);

const engine = (code: string) => Object.assign(new Error('from the engine'), { code: `SQLITE_${code}` });

const SHARED = [new AppError('LOCK_TIMEOUT', 'locked'), rolledBack()];

/** Whether the work is retried because the database is unavailable, and whether the process must end, by error. */
const MEANINGS: [meaning: string, ...errors: unknown[]][] = [
  ['unavailable and busy', ...['BUSY', 'BUSY_SNAPSHOT'].map(engine)],
  [
    'unavailable',
    ...['LOCKED', 'FULL', 'IOERR_SHMSIZE', 'IOERR_GETTEMPPATH', 'CANTOPEN'].map(engine),
    ...SHARED,
  ],
  ['unavailable and fatal', ...['IOERR_FSYNC', 'IOERR_WRITE', 'CORRUPT', 'NOTADB'].map(engine)],
  ['an error of the work', ...['CONSTRAINT_UNIQUE', 'ERROR'].map(engine), new TypeError('content'), null],
];

for (const [meaning, ...errors] of MEANINGS) {
  t.test(`${errors.map((error) => codeOf(error) || error).join(', ')}: ${meaning}`, async (t) => {
    for (const error of errors) {
      const name = `${codeOf(error) || error}`;
      t.equal(isUnavailable(error), meaning.includes('unavailable'), name);
      t.equal(isFatal(error), meaning.includes('fatal'), name);
      t.equal(isBusy(error), meaning.includes('busy'), name);
    }
  });
}

const COLUMNS = ['event_id', 'source', 'received_at', 'body', 'state'] as const;
const MOST_ROWS = 200;

function event(id: number, body = `{"n":${id}}`): unknown[] {
  return [`event-${id}`, 'webhook', '2026-01-31T09:30:00.000Z', Buffer.from(body), 'pending'];
}

test('any number of rows is inserted, each once and in order', async (t, { db }) => {
  await transact(db, async (trx) => {
    for (const rows of [0, 1, 2, 63, 64, 65, MOST_ROWS]) {
      const events = Array.from({ length: rows }, (_, id) => event(id));
      const inserted = await insertMany(trx, 'inbox', COLUMNS, events);
      const stored = await trx.selectFrom('inbox').select(['event_id', 'body']).orderBy('seq').execute();
      await trx.deleteFrom('inbox').execute();
      const expected = events.map(([event_id, , , body]) => ({ event_id, body }));
      if (!t.strictSame({ inserted, stored }, { inserted: rows, stored: expected }, `${rows} rows`)) return;
    }
  });
});

test('rows skipped by a suffix are not counted, and the first one is kept', async (t, { db }) => {
  const events = Array.from({ length: 100 }, (_, id) => event(id % 70, `{"n":${id}}`));
  const inserted = await transact(db, (trx) =>
    insertMany(trx, 'inbox', COLUMNS, events, 'on conflict (event_id) do nothing'),
  );
  t.equal(inserted, 70);
  const rows = await db.selectFrom('inbox').select('body').orderBy('seq').execute();
  const expected = Array.from(Array(70), (_, id) => `{"n":${id}}`).join();
  t.equal(rows.map(({ body }) => String(body)).join(), expected);
});

test('rows updated by a suffix are counted', async (t, { db }) => {
  const columns = ['minute', 'cause', 'refused_count'] as const;
  const suffix =
    'on conflict (minute, cause) do update set refused_count = refused_signatures.refused_count + excluded.refused_count';
  const refuse = (...causes: string[]) => {
    const rows = causes.map((cause) => ['2026-01-31T09:30', cause, 2]);
    return transact(db, (trx) => insertMany(trx, 'refused_signatures', columns, rows, suffix));
  };
  t.equal(await refuse('expired'), 1);
  t.equal(await refuse('unsigned', 'expired'), 2);
  const rows = await db.selectFrom('refused_signatures').selectAll().orderBy('cause').execute();
  const counts = rows.map(({ cause, refused_count }) => `${cause} ${refused_count}`);
  t.strictSame(counts, ['expired 4', 'unsigned 2']);
});

test('a list of any length matches its rows, by text and by number', async (t, { db }) => {
  const events = Array.from({ length: MOST_ROWS }, (_, id) => event(id));
  // Kept as sent, whatever the characters: the list is passed as text.
  const odd = ['', "'", '"', '\\', '\\u0041', 'ä€😀', '[1]', 'null', '1'];
  events.push(...odd.map((id) => [id, ...event(0).slice(1)]));
  await transact(db, (trx) => insertMany(trx, 'inbox', COLUMNS, events));
  const all = await db.selectFrom('inbox').select(['seq', 'event_id']).orderBy('seq').execute();
  const found = (column: 'seq' | 'event_id', values: readonly (string | number)[]) => {
    const listed = isOneOf(db, column, values);
    return db.selectFrom('inbox').select(['seq', 'event_id']).where(listed).orderBy('seq').execute();
  };
  for (const length of [0, 1, 2, 63, 64, 65, all.length]) {
    const some = all.slice(all.length - length);
    const ids = some.map(({ event_id }) => event_id);
    t.strictSame(await found('event_id', [...ids, 'unknown']), some, `${length} texts`);
    const seqs = some.map(({ seq }) => seq);
    t.strictSame(await found('seq', [...seqs, ...seqs, -1]), some, `${length} numbers, each twice`);
  }
});

test('rows are updated by key if the guard holds, and counted', async (t, { db }) => {
  const finish = (seqs: readonly number[]) => {
    const rows = seqs.map((seq) => ['ignored', `reason ${seq}`, '2026-01-31T09:31:00.000Z', seq]);
    return transact(db, (trx) =>
      updateMany(trx, 'inbox', ['state', 'reason', 'finished_at'], 'seq', rows, "inbox.state = 'pending'"),
    );
  };
  const events = Array.from({ length: 100 }, (_, id) => event(id));
  await transact(db, (trx) => insertMany(trx, 'inbox', COLUMNS, events));
  const seqs = (await db.selectFrom('inbox').select('seq').orderBy('seq').execute()).map(({ seq }) => seq);
  t.equal(await finish([]), 0);
  t.equal(await finish(seqs.slice(0, 70)), 70);
  t.equal(await finish(seqs.slice(60, 90)), 20, 'finished rows are not changed');
  const states = await db.selectFrom('inbox').select(['state', 'reason']).orderBy('seq').execute();
  const ignored = seqs.slice(0, 90).map((seq) => ({ state: 'ignored', reason: `reason ${seq}` }));
  t.strictSame(states, [...ignored, ...Array(10).fill({ state: 'pending', reason: null })]);
});
