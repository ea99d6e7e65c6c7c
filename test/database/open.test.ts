import { statSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import BetterSqlite3 from 'better-sqlite3';
import { sql } from 'kysely';
import t from 'tap';
import { assertDurable } from '../../src/database/handle.ts';
import { holdServeLock, openDatabase, sqlitePath } from '../../src/database/open.ts';
import { transact } from '../../src/database/transaction.ts';
import { startChild } from './child.ts';
import { open, scratch, scratchUrl } from './scratch.ts';

t.test('a commit is on the disk when it returns: WAL and FULL on the handle that writes', async (t) => {
  const { db } = await scratch(t);
  await transact(db, async (trx) => {
    const { rows } = await sql`select * from pragma_journal_mode, pragma_synchronous`.execute(trx);
    t.strictSame(rows, [{ journal_mode: 'wal', synchronous: 2 }]);
  });
});

t.test('a handle that is not durable is refused', async (t) => {
  const handle = new BetterSqlite3(join(t.testdir(), 'other.db'));
  t.teardown(() => handle.close());
  t.throws(() => assertDurable(handle), { message: /journal_mode=delete/ }, 'no log');
  handle.pragma('journal_mode = WAL');
  handle.pragma('synchronous = NORMAL');
  t.throws(() => assertDurable(handle), { message: /synchronous=1/ }, 'a log that is not synced');
  handle.pragma('synchronous = FULL');
  t.doesNotThrow(() => assertDurable(handle));
});

t.test('the database and the files beside it can be read by their owner only', async (t) => {
  const { url } = await scratch(t);
  for (const end of ['', '-wal', '-shm']) {
    t.equal(statSync(`${sqlitePath(url)}${end}`).mode & 0o777, 0o600, `sidecar.db${end}`);
  }
});

t.test('the folder of a new database is made, for its owner only', async (t) => {
  const folder = join(t.testdir(), 'a', 'b');
  await openDatabase(`sqlite:${folder}/sidecar.db`).destroy();
  t.equal(statSync(folder).mode & 0o777, 0o700);
});

t.test('a file that is no database is refused', async (t) => {
  const folder = t.testdir({ 'sidecar.db': 'employee,ssn\n'.repeat(100) });
  t.throws(() => openDatabase(`sqlite:${folder}/sidecar.db`), { code: 'SQLITE_NOTADB' });
});

t.test('what was committed is there after closing and opening again', async (t) => {
  const { db, url } = await scratch(t);
  await transact(db, (trx) => trx.updateTable('ledger_head').set({ position: 7 }).execute());
  await db.destroy();
  const { position } = await open(t, url).selectFrom('ledger_head').selectAll().executeTakeFirstOrThrow();
  t.equal(position, 7);
});

t.test('a second serve of the same file is refused in one line that names it', async (t) => {
  const url = scratchUrl(t);
  const child = startChild(t, 'child-serves.ts', url);
  t.equal(await child.line(), 'held');
  const refusal = { code: 'ALREADY_SERVED', message: /^another process already serves \S+sidecar\.db: .+$/ };
  t.throws(() => holdServeLock(url), refusal);

  child.process.kill('SIGKILL');
  t.equal(await child.end(), 'SIGKILL');
  const release = holdServeLock(url);
  t.throws(() => holdServeLock(url), refusal, 'free after a kill, and held again by us');
  release();
  t.doesNotThrow(() => holdServeLock(url)(), 'free after it is let go');
});

t.test('a second serve is refused through another name of the same file too', async (t) => {
  const { url } = await scratch(t);
  const alias = join(t.testdirName, 'alias.db');
  symlinkSync(sqlitePath(url), alias);
  const release = holdServeLock(url);
  t.teardown(release);
  t.throws(() => holdServeLock(`sqlite:${alias}`), { code: 'ALREADY_SERVED' });
});

t.test('no other process can have the database alone, and take its log away, while it is open', async (t) => {
  const { db, url } = await scratch(t);
  const said = () => startChild(t, 'child-takes-log.ts', sqlitePath(url)).line();
  t.equal(await said(), 'SQLITE_BUSY');
  // As the private side's thread does in the same process: who closes a file lets go of all its locks.
  open(t, url);
  t.equal(await said(), 'SQLITE_BUSY', 'opened twice');
  t.teardown(holdServeLock(url));
  t.equal(await said(), 'SQLITE_BUSY', 'and held');
  t.throws(() => holdServeLock(url), { code: 'ALREADY_SERVED' });
  await db.destroy();
});
