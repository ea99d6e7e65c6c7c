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

t.test('a commit is on disk when it returns: the writing handle uses WAL and FULL', async (t) => {
  const { db } = await scratch(t);
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

t.test('only the owner can read the database and its companion files', async (t) => {
  const { url } = await scratch(t);
  for (const end of ['', '-wal', '-shm']) {
    t.equal(statSync(`${sqlitePath(url)}${end}`).mode & 0o777, 0o600, `sidecar.db${end}`);
  }
});

t.test('the folder of a new database is created for its owner only', async (t) => {
  const folder = join(t.testdir(), 'a', 'b');
  await openDatabase(`sqlite:${folder}/sidecar.db`).destroy();
  t.equal(statSync(folder).mode & 0o777, 0o700);
});

t.test('a file that is not a database is rejected', async (t) => {
  const folder = t.testdir({ 'sidecar.db': 'employee,ssn\n'.repeat(100) });
  t.throws(() => openDatabase(`sqlite:${folder}/sidecar.db`), { code: 'SQLITE_NOTADB' });
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

t.test('a second serve is rejected through another name of the same file', async (t) => {
  const { url } = await scratch(t);
  const alias = join(t.testdirName, 'alias.db');
  symlinkSync(sqlitePath(url), alias);
  const release = holdServeLock(url);
  t.teardown(release);
  t.throws(() => holdServeLock(`sqlite:${alias}`), { code: 'ALREADY_SERVED' });
});

t.test('no other process can lock the open database exclusively and remove its log', async (t) => {
  const { db, url } = await scratch(t);
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
