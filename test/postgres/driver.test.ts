import { EventEmitter, once } from 'node:events';
import { sql } from 'kysely';
import { Client } from 'pg';
import t, { type Test } from 'tap';
import { describeFailure } from '../../src/cli/failure.ts';
import { insertMany, updateMany } from '../../src/database/bulk.ts';
import { isUnavailable } from '../../src/database/errors.ts';
import { migrate } from '../../src/database/migrate.ts';
import { listenForWakes } from '../../src/database/notifier.ts';
import { openDatabase } from '../../src/database/open.ts';
import type { Db, Trx } from '../../src/database/tables.ts';
import { transact, transactionsRetried } from '../../src/database/transaction.ts';
import { codeOf } from '../../src/errors.ts';
import { alterable, open, scratch } from '../database/scratch.ts';
import { owe, sendAll, sendLoop, setClock } from '../outbox/parts.ts';
import { json, stubService } from '../outbox/stub-service.ts';
import { newDatabaseUrl, useOwnPostgres } from '../support/engine.ts';
import { eventually } from '../support/eventually.ts';
import { execute } from '../support/postgres.ts';

const server = await useOwnPostgres();

const MINUTE = '2026-01-31T09:30Z';
/** The errors of a statement whose connection was ended, with or without the server's last message. */
const LOST = /^(57P01|CONNECTION_LOST)$/;

/** Two rows to lock, each with a count. */
async function withRows(db: Db): Promise<void> {
  const rows = ['a', 'b'].map((cause) => ({ minute: MINUTE, cause, refused_count: 0 }));
  await transact(db, (trx) => trx.insertInto('refused_signatures').values(rows).execute());
}

async function countUp(trx: Trx, cause: string): Promise<void> {
  await trx
    .updateTable('refused_signatures')
    .set({ refused_count: sql<number>`refused_count + 1` })
    .where('cause', '=', cause)
    .execute();
}

async function counts(db: Db | Trx): Promise<number[]> {
  const rows = await db.selectFrom('refused_signatures').select('refused_count').orderBy('cause').execute();
  return rows.map(({ refused_count }) => refused_count);
}

/** Another session on the same database. */
async function elsewhere(t: Test, url: string): Promise<Client> {
  const client = new Client(url);
  // Some tests stop the server.
  client.on('error', () => {});
  await client.connect();
  t.teardown(() => client.end());
  return client;
}

/** The address with a server setting for each connection. */
function withSetting(url: string, setting: string): string {
  return `${url}?options=${encodeURIComponent(`-c ${setting}`)}`;
}

async function settings(db: Db | Trx): Promise<unknown> {
  const { rows } = await sql`
    select current_setting('idle_in_transaction_session_timeout') as idle, current_setting('lock_timeout') as lock,
      current_setting('statement_timeout') as statement, current_setting('transaction_isolation') as isolation
  `.execute(db);
  return rows[0];
}

t.test('every wait in a transaction has a limit, which ends with the transaction', async (t) => {
  const { db } = await scratch(t);
  const within = await transact(db, settings);
  t.strictSame(within, { idle: '5s', lock: '8s', statement: '10s', isolation: 'read committed' });
  t.match(await settings(db), { idle: '0', lock: '0', statement: '0' });
});

t.test(
  'a limit of the server on a whole transaction is set aside, and named where it ends a statement',
  async (t) => {
    const { url } = await scratch(t);
    const db = open(t, withSetting(url, 'transaction_timeout=1000'));
    for (const isTimeLimited of [true, false])
      await transact(db, (trx) => sql`select pg_sleep(1.5)`.execute(trx), { isTimeLimited });
    const error = await sql`select pg_sleep(5)`.execute(db).catch((error) => error);
    t.match(error, { code: '25P04' });
    t.ok(isUnavailable(error));
    t.match(describeFailure(error), /transaction_timeout/);
  },
);

t.test("a transaction that the server ended while it was idle fails with the server's reason", async (t) => {
  const { db, url } = await scratch(t);
  const other = await elsewhere(t, url);
  const idle = transact(db, async (trx) => {
    await sql`set local idle_in_transaction_session_timeout = 1`.execute(trx);
    const gone = async () => {
      const { rowCount } = await other.query(
        "select 1 from pg_stat_activity where state like 'idle in trans%'",
      );
      return rowCount;
    };
    await eventually('the server ends it', gone, 0);
    await countUp(trx, 'a');
  });
  await t.rejects(idle, { code: '25P03' });
});

t.test('a transaction without a time limit overrides the limits of the server', async (t) => {
  const { url } = await scratch(t);
  const db = open(t, withSetting(url, 'statement_timeout=5000'));
  const unlimited = await transact(db, settings, { isTimeLimited: false });
  t.match(unlimited, { idle: '5s', lock: '0', statement: '0' });
  t.match(await transact(db, settings), { lock: '8s', statement: '10s' });
});

// The sender's statements are planned while the outbox is empty. Without `enable_seqscan = off` they scan it.
t.test('a new database sends by its indexes before the server has counted its rows', async (t) => {
  const { db } = await alterable(t);
  await sql`alter table outbox set (autovacuum_enabled = off)`.execute(db);
  const { url } = await stubService(t, (response) => json(response, 200));
  for (let n = 0; n < 300; n += 1) await owe(db, `r-${n}`, `e-${n % 100}`);
  await sendAll(sendLoop(t, db, url, setClock()));
  const read = async () => {
    const { rows } = await sql<{ updates: number; scanned: number }>`
      select n_tup_upd as updates, seq_tup_read as scanned from pg_stat_user_tables
      where relname = 'outbox'`.execute(db);
    return rows[0];
  };
  // Each request is claimed, then delivered.
  const counted = await eventually('the server counts all of it', read, (row) => Number(row?.updates) >= 600);
  t.equal(counted?.scanned, 0);
});

t.test('a server that could lose commits is rejected with the setting', async (t) => {
  const { url } = await scratch(t);
  const positions = (db: Db) => db.selectFrom('ledger_head').select('position').execute();
  const lazy = open(t, withSetting(url, 'synchronous_commit=off'));
  const refusal = await positions(lazy).catch((error) => error);
  t.match(refusal, { code: 'NOT_DURABLE', message: /synchronous_commit=off; it needs fsync=on/ });
  t.ok(isUnavailable(refusal), 'the error is temporary');
  const writing = transact(lazy, (trx) => countUp(trx, 'a'));
  await t.rejects(writing, { code: 'NOT_DURABLE' }, 'it does not write either');
  const local = open(t, withSetting(url, 'synchronous_commit=local'));
  await t.resolves(positions(local), 'a local commit is enough');

  const server = await elsewhere(t, url);
  const reload = async (change: string) => {
    await server.query(`alter system ${change}`);
    await server.query('select pg_reload_conf()');
  };
  const look = async () => {
    const fresh = openDatabase(url);
    const seen = await positions(fresh).catch((error) => error);
    await fresh.destroy();
    return seen;
  };
  await reload('set fsync = off');
  const refused = await eventually('refused_count', look, (seen) => seen instanceof Error);
  t.match(refused, { code: 'NOT_DURABLE', message: /fsync=off/ });
  await reload('reset fsync');
  await eventually('taken again', look, Array.isArray);
});

t.test('a database that is not UTF-8 is refused with what to do', async (t) => {
  const url = server.url('latin1');
  const text = "create database latin1 encoding 'LATIN1' locale_provider libc locale 'C' template template0";
  await execute(server.url('postgres'), text);
  const refusal = await migrate(open(t, url), 'sandbox', new Date()).catch((error) => error);
  t.match(refusal, { code: 'NOT_UTF8', message: /LATIN1, not UTF8: create one with ENCODING 'UTF8'/ });
});

t.test('once a server takes no writes, every connection of the process to it ends', async (t) => {
  const { url } = await scratch(t);
  const named = `${url}?application_name=retired`;
  const [writing, reading] = [open(t, named), open(t, named)];
  await withRows(writing);
  const listening = new AbortController();
  const wakes = new EventEmitter();
  const woken = once(wakes, 'send');
  const ended = listenForWakes(named, (loop) => wakes.emit(loop), listening.signal);
  await woken;
  const other = await elsewhere(t, url);
  const sessions = async () => {
    const { rows } = await other.query("select pid from pg_stat_activity where application_name = 'retired'");
    return rows.map(({ pid }) => pid as number);
  };
  const reload = async (change: string) => {
    await other.query(`alter system ${change}`);
    await other.query('select pg_reload_conf()');
  };
  const isHeld = once(wakes, 'held');
  const held = transact(reading, async (trx) => {
    await counts(trx);
    wakes.emit('held');
    await once(wakes, 'read-only');
    await eventually('it reads nothing old', () => counts(trx).then(() => '', codeOf), 'CONNECTION_LOST');
  });
  await isHeld;
  const before = await sessions();
  await reload('set default_transaction_read_only = on');
  const write = () => transact(writing, (trx) => countUp(trx, 'a')).then(() => '', codeOf);
  await eventually('a write is refused', write, '25006');
  wakes.emit('read-only');
  await t.rejects(held, { code: 'ROLLED_BACK' });
  await eventually('they end', sessions, (pids) => !pids.some((pid) => before.includes(pid)));
  const refusal = await counts(reading).catch((error) => error);
  t.match(refusal, { code: 'READ_ONLY', message: /default_transaction_read_only/ }, 'new ones are refused');
  t.ok(isUnavailable(refusal));
  await reload('reset default_transaction_read_only');
  await eventually('they return', write, '');
  t.ok((await counts(reading))[0]);
  listening.abort();
  await ended;
});

t.test('a transaction with a failed statement commits nothing, even if its work continued', async (t) => {
  const { db } = await scratch(t);
  await withRows(db);
  const working = transact(db, async (trx) => {
    await countUp(trx, 'a');
    await t.rejects(sql`select 1 / 0`.execute(trx), { code: '22012' });
    await t.rejects(countUp(trx, 'b'), { code: '25P02' }, 'later statements fail');
  });
  const error = await working.catch((error) => error);
  t.match(error, { code: 'ROLLED_BACK' });
  t.ok(isUnavailable(error), 'the work is retryable');
  t.strictSame(await counts(db), [0, 0]);
  await transact(db, (trx) => countUp(trx, 'b'));
  t.strictSame(await counts(db), [0, 1], 'the next transaction runs');
});

t.test('one of two deadlocked transactions is retried, and both succeed', async (t) => {
  const { url } = await scratch(t);
  // The server checks for deadlocks after a second by default, here sooner.
  const db = open(t, withSetting(url, 'deadlock_timeout=20ms'));
  await withRows(db);
  const before = transactionsRetried();
  const locked = new EventEmitter();
  const all = Promise.all([once(locked, 'a'), once(locked, 'b')]);
  const work = (first: string, second: string) =>
    transact(db, async (trx) => {
      await countUp(trx, first);
      locked.emit(first);
      await all;
      await countUp(trx, second);
    });
  await Promise.all([work('a', 'b'), work('b', 'a')]);
  t.strictSame(await counts(db), [2, 2]);
  t.equal(transactionsRetried() - before, 1);
});

t.test('a transaction is retried once and then throws the cause', async (t) => {
  const { db } = await scratch(t);
  await withRows(db);
  let tries = 0;
  const working = transact(db, async (trx) => {
    tries += 1;
    await countUp(trx, 'a');
    await sql`do $$ begin raise exception 'in the way' using errcode = '40P01'; end $$`.execute(trx);
  });
  await t.rejects(working, { code: '40P01' });
  t.equal(tries, 2);
  t.strictSame(await counts(db), [0, 0]);
});

t.test('a column added by a newer release does not break prepared statements', async (t) => {
  const url = await newDatabaseUrl(t);
  const db = open(t, url);
  await migrate(db, 'sandbox', new Date());
  const release = await elsewhere(t, url);
  const all = (of: Db | Trx) => of.selectFrom('refused_signatures').selectAll().orderBy('cause').execute();
  const write = (trx: Trx, cause: string) =>
    insertMany(trx, 'refused_signatures', ['minute', 'cause', 'refused_count'], [[MINUTE, cause, 1]]);
  const move = (trx: Trx, position: number) =>
    updateMany(trx, 'ledger_head', ['position'], 'id', [[position, 1]], 'ledger_head.position >= 0');
  const everything = (cause: string, position: number) =>
    transact(db, async (trx) => {
      await all(trx);
      await write(trx, cause);
      t.equal(await move(trx, position), 1);
    });

  await everything('a', 1);
  await all(db);
  await release.query('alter table refused_signatures add column later text');
  await release.query('alter table ledger_head add column later text');
  t.match(await all(db), [{ cause: 'a', later: null }], 'a read works');
  await everything('b', 2);
  await release.query('alter table refused_signatures add column later_still text');
  await everything('c', 3);
  t.match(await all(db), [{ cause: 'a' }, { cause: 'b' }, { cause: 'c' }], 'a transaction works');
  t.strictSame((await db.selectFrom('ledger_head').select('position').execute())[0], { position: 3 });
});

t.test('a lost connection fails its transaction, and the next one succeeds', async (t) => {
  const { db, url } = await scratch(t);
  await withRows(db);
  const other = await elsewhere(t, url);
  const kill = async (trx: Trx) => {
    const { rows } = await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(trx);
    await other.query('select pg_terminate_backend($1, 5000)', [rows[0]?.pid]);
  };
  const atEnd = {
    'at a statement': (trx: Trx) => countUp(trx, 'b'),
    'at the commit': async () => {},
    'while the work throws': async () => Promise.reject(new Error('of the work')),
  };
  for (const [index, [when, end]] of Object.entries(atEnd).entries()) {
    const lost = transact(db, async (trx) => {
      await countUp(trx, 'a');
      await kill(trx);
      await end(trx);
    });
    const error = await lost.catch((error) => error);
    if (index < 2) t.match(error, { code: LOST }, when);
    else t.match(error, { message: 'of the work' }, 'the error of the work itself is kept');
    t.equal(isUnavailable(error), index < 2, when);
    t.strictSame(await counts(db), [0, index]);
    await transact(db, (trx) => countUp(trx, 'b'));
  }
});

/** The connection timeout of the driver. */
const CONNECTING_MS = 3_000;

t.test('a server that is down is reported within seconds and used again when it is back', async (t) => {
  const { db } = await scratch(t);
  await withRows(db);
  await server.stop();
  const began = performance.now();
  for (const use of [() => counts(db), () => transact(db, (trx) => countUp(trx, 'a'))]) {
    const error = await use().catch((error) => error);
    t.match(error, { code: LOST });
    t.ok(isUnavailable(error));
  }
  const tookMs = performance.now() - began;
  t.ok(tookMs < 2 * CONNECTING_MS, `no attempt waits: ${Math.round(tookMs)} ms`);
  await server.start();
  await transact(db, (trx) => countUp(trx, 'a'));
  t.strictSame(await counts(db), [1, 0]);
});
