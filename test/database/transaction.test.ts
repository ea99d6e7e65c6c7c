import { EventEmitter, once } from 'node:events';
import { sql } from 'kysely';
import { isUnavailable } from '../../src/database/errors.ts';
import type { Db, Trx } from '../../src/database/tables.ts';
import { transact } from '../../src/database/transaction.ts';
import { onEachEngine, onSqlite } from '../support/engine.ts';
import { scratch } from './scratch.ts';

const REFUSED = { code: 'USED_OUTSIDE_TRANSACTION' };

function refuse(trx: Trx, cause: string): Promise<unknown> {
  return trx
    .insertInto('refused_signatures')
    .values({ minute: '2026-01-31T09:30', cause, refused_count: 1 })
    .execute();
}

async function causes(db: Db | Trx): Promise<string[]> {
  const rows = await db.selectFrom('refused_signatures').select('cause').orderBy('cause').execute();
  return rows.map((row) => row.cause);
}

onEachEngine('failed work is rolled back, and the next transaction runs', async (t) => {
  const { db } = await scratch(t);
  const failing = transact(db, async (trx) => {
    await refuse(trx, 'a');
    throw new Error('no');
  });
  await t.rejects(failing, { message: 'no' });
  await transact(db, (trx) => refuse(trx, 'b'));
  t.strictSame(await causes(db), ['b']);
});

onEachEngine('using the database inside a transaction throws immediately', async (t) => {
  const { db } = await scratch(t);
  await transact(db, async (trx) => {
    await t.rejects(causes(db), REFUSED, 'a read');
    await t.rejects(refuse(db as Trx, 'a'), REFUSED, 'a write');
    await t.rejects(
      transact(db, async () => {}),
      REFUSED,
      'a nested transaction',
    );
    await refuse(trx, 'b');
  });
  t.strictSame(await causes(db), ['b'], 'the transaction itself succeeds');
});

onEachEngine('work started by a transaction may use the database after it ends', async (t) => {
  const { db } = await scratch(t);
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

onEachEngine('reads see committed rows only, and never wait for the open transaction', async (t) => {
  const { db } = await scratch(t);
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
onSqlite('a write outside a transaction is rejected', async (t) => {
  const { db } = await scratch(t);
  await t.rejects(refuse(db as Trx, 'a'), { code: 'SQLITE_READONLY' });
  t.strictSame(await causes(db), []);
});

onSqlite('transactions run in turn, in the order of the calls', async (t) => {
  const { db } = await scratch(t);
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

onSqlite('after a rollback by the engine no later statement of the work commits on its own', async (t) => {
  const { db } = await scratch(t);
  const working = transact(db, async (trx) => {
    await refuse(trx, 'a');
    // Does what a full disk does to a transaction.
    await t.rejects(sql`insert or rollback into ledger_head values (1, 9)`.execute(trx), {
      code: /CONSTRAINT/,
    });
    await refuse(trx, 'b');
  });
  const error = await working.catch((error) => error);
  t.match(error, { code: 'ROLLED_BACK' });
  t.ok(isUnavailable(error), 'the work is retryable');
  t.strictSame(await causes(db), []);
  await transact(db, (trx) => refuse(trx, 'c'));
  t.strictSame(await causes(db), ['c'], 'the next transaction runs');
});
