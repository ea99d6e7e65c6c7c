import { statSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import BetterSqlite3 from 'better-sqlite3';
import { CompiledQuery, Kysely, sql } from 'kysely';
import t, { type Test } from 'tap';
import { isUnavailable } from '../../src/database/errors.ts';
import { assertDurable } from '../../src/database/handle.ts';
import { holdServeLock, openDatabase, sqlitePath } from '../../src/database/open.ts';
import { openSqlite } from '../../src/database/sqlite.ts';
import type { Db, Tables } from '../../src/database/tables.ts';
import { transact } from '../../src/database/transaction.ts';
import { onSqlite } from '../support/engine.ts';
import { startChild } from './child.ts';
import { open, scratch, scratchUrl } from './scratch.ts';

const test = onSqlite.with(scratch);

test('a commit is on disk when it returns: the writing handle uses WAL and FULL', async (t, { db }) => {
  await transact(db, async (trx) => {
    const { rows } = await sql`select * from pragma_journal_mode, pragma_synchronous`.execute(trx);
    t.strictSame(rows, [{ journal_mode: 'wal', synchronous: 2 }]);
  });
});

t.test('a handle that is not durable is rejected', async (t) => {
  const handle = new BetterSqlite3(join(t.testdir(), 'other.db'));
  t.teardown(() => handle.close());
  t.throws(() => assertDurable(handle), { message: /journal_mode=delete/ }, 'no log');
  handle.pragma('journal_mode = WAL');
  handle.pragma('synchronous = NORMAL');
  t.throws(() => assertDurable(handle), { message: /synchronous=1/ }, 'the log is not synced');
  handle.pragma('synchronous = FULL');
  t.doesNotThrow(() => assertDurable(handle));
});

t.test('a file that another program made in UTF-16 is rejected', (t) => {
  const path = join(t.testdir(), 'other.db');
  const file = new BetterSqlite3(path);
  file.exec("pragma encoding = 'UTF-16'; create table x (y)");
  file.close();
  const rejection = { code: 'NOT_UTF8', message: /is UTF-16.., not UTF8: set DATABASE_URL/ };
  t.throws(() => openDatabase(`sqlite:${path}`), rejection);
  t.end();
});

test('only the owner can read the database and its companion files', async (t, { url }) => {
  for (const end of ['', '-wal', '-shm'])
    t.equal(statSync(`${sqlitePath(url)}${end}`).mode & 0o777, 0o600, `sidecar.db${end}`);
});

t.test('the folder of a new database is created for its owner only', async (t) => {
  const folder = join(t.testdir(), 'a', 'b');
  await openDatabase(`sqlite:${folder}/sidecar.db`).destroy();
  t.equal(statSync(folder).mode & 0o777, 0o700);
});

t.test('a folder in place of the database file is rejected and keeps its permissions', async (t) => {
  const folder = t.testdir();
  const { mode } = statSync(folder);
  t.throws(() => openDatabase(`sqlite:${folder}`), { code: 'SQLITE_CANTOPEN' });
  t.equal(statSync(folder).mode, mode);
});

t.test('a second serve of the same file is rejected in one line that names it', async (t) => {
  const url = scratchUrl(t);
  const child = startChild(t, 'child-serves.ts', url);
  t.equal(await child.line(), 'held');
  const refusal = { code: 'ALREADY_SERVED', message: /^another process already serves \S+sidecar\.db: .+$/ };
  t.throws(() => holdServeLock(url), refusal);

  child.process.kill('SIGKILL');
  t.equal(await child.end(), 'SIGKILL');
  const release = holdServeLock(url);
  t.throws(() => holdServeLock(url), refusal, 'released after a kill, and taken by this process');
  release();
  t.doesNotThrow(() => holdServeLock(url)(), 'released by its holder');
});

test('a second serve is rejected through another name of the same file', async (t, { url }) => {
  const alias = join(t.testdirName, 'alias.db');
  symlinkSync(sqlitePath(url), alias);
  const release = holdServeLock(url);
  t.teardown(release);
  t.throws(() => holdServeLock(`sqlite:${alias}`), { code: 'ALREADY_SERVED' });
});

test('no other process can lock the open database exclusively and remove its log', async (t, { db, url }) => {
  const said = () => startChild(t, 'child-takes-log.ts', sqlitePath(url)).line();
  t.equal(await said(), 'SQLITE_BUSY');
  // As the API thread does in the same process: closing a file releases all of the process's locks on it.
  open(t, url);
  t.equal(await said(), 'SQLITE_BUSY', 'opened twice');
  t.teardown(holdServeLock(url));
  t.equal(await said(), 'SQLITE_BUSY', 'and held');
  t.throws(() => holdServeLock(url), { code: 'ALREADY_SERVED' });
  await db.destroy();
});

/** The maximum number of prepared statements, as in src/database/sqlite.ts. */
const KEPT = 300;

/** A database whose writing handle records which texts it prepares. */
function watched(t: Test): { db: Db; prepared: string[] } {
  const { dialect, writer } = openSqlite(join(t.testdir(), 'sidecar.db'));
  const prepared: string[] = [];
  const prepare = writer.prepare.bind(writer);
  writer.prepare = ((text: string) => {
    prepared.push(text);
    return prepare(text);
  }) as typeof writer.prepare;
  const db = new Kysely<Tables>({ dialect });
  t.teardown(() => db.destroy());
  return { db, prepared };
}

function run(db: Db, texts: readonly string[]): Promise<void> {
  return transact(db, async (trx) => {
    for (const text of texts) await trx.executeQuery(CompiledQuery.raw(text));
  });
}

const text = (number: number) => `select ${number} as answer`;

t.test('a repeated statement is prepared once', async (t) => {
  const { db, prepared } = watched(t);
  await run(db, [text(1), text(2), text(1)]);
  await run(db, [text(2)]);
  t.strictSame(prepared, ['begin immediate', text(1), text(2), 'commit']);
});

t.test('a bounded number of statements is kept, the most recently used ones', async (t) => {
  const { db, prepared } = watched(t);
  const newest = text(KEPT - 1);
  // With `begin` and `commit` they are two too many, and the next `begin` takes one more slot.
  await run(db, Array.from(Array(KEPT).keys(), text));
  prepared.length = 0;
  await run(db, [text(2), newest, text(0), text(2), text(3)]);
  t.strictSame(prepared, ['begin immediate', text(0), text(3)], 'the least recently used were dropped');
});

/** The time that a writer waits for the lock. */
const LOCK_WAIT_MS = 3_000;
/** The event loop turns about 300 times during the wait, and hardly at all if the wait blocks it. */
const TURNS_MIN = 10;

test('while another process holds the write lock, reads continue and writes fail after 3 s', async (t, {
  db,
  url,
}) => {
  const child = startChild(t, 'child-holds-lock.ts', sqlitePath(url));
  t.equal(await child.line(), 'held');

  const began = performance.now();
  const move = (position: number) =>
    transact(db, (trx) => trx.updateTable('ledger_head').set({ position }).execute());
  const waiting = [1, 2, 3].map(move);
  let turns = 0;
  const ticking = setInterval(() => {
    turns += 1;
  }, 10);
  const { position } = await db.selectFrom('ledger_head').selectAll().executeTakeFirstOrThrow();
  t.equal(position, 0, 'reads go on');

  const outcomes = await Promise.allSettled(waiting);
  clearInterval(ticking);
  const waitedMs = performance.now() - began;
  for (const outcome of outcomes) {
    t.match(outcome, { status: 'rejected', reason: { code: 'LOCK_TIMEOUT' } }, 'a writer gets an error');
    t.ok(isUnavailable((outcome as PromiseRejectedResult).reason), 'the error is temporary');
  }
  t.ok(waitedMs > 0.9 * LOCK_WAIT_MS, `the writers waited: ${waitedMs} ms`);
  t.ok(waitedMs < waiting.length * LOCK_WAIT_MS, `all at once, not in turn: ${waitedMs} ms`);
  t.ok(turns >= TURNS_MIN, `the event loop turned ${turns} times`);

  const late = move(4);
  child.process.stdin!.end();
  await late;
  t.equal(await child.end(), 0);
  const after = await db.selectFrom('ledger_head').selectAll().executeTakeFirstOrThrow();
  t.equal(after.position, 4, 'a waiting writer gets the lock when it is released');
});
