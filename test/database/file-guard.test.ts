/** Files that another process truncates while they are open, and all legitimate ways to shrink them. */
import { readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import BetterSqlite3 from 'better-sqlite3';
import t, { type Test } from 'tap';
import { startCheckpoints } from '../../src/database/checkpoints.ts';
import { createFileGuard } from '../../src/database/file-guard.ts';
import { openReader } from '../../src/database/handle.ts';
import { openDatabase, sqlitePath } from '../../src/database/open.ts';
import { backUp } from '../../src/operations/backup.ts';
import { deductionOf, receive } from '../api/deliver.ts';
import { onSqlite } from '../support/engine.ts';
import { eventually } from '../support/eventually.ts';
import { startChild } from './child.ts';
import { scratch } from './scratch.ts';

const LOG_HEADER = 32;
const FRAME = 24 + 4096;
const COMMITS = 200;

/** Opens a database as the sidecar does. */
function opened(t: Test, url: string) {
  const fatal: unknown[] = [];
  const db = openDatabase(url, (error) => fatal.push(error));
  t.teardown(() => db.destroy());
  return { db, fatal };
}

/** A database with commits that are only in its log. */
async function stage(t: Test) {
  const { url } = await scratch(t);
  const { db, fatal } = opened(t, url);
  let sent = 0;
  const commit = () => receive(db, [deductionOf(`e-${sent++}`, {})]);
  for (const _ of Array(5)) await commit();
  return { url, path: sqlitePath(url), fatal, commit };
}

const test = onSqlite.with(stage);

const CUTS = {
  ...{ emptied: 0, 'cut to its header': LOG_HEADER, 'cut to its first page': LOG_HEADER + FRAME },
  'cut by one byte': -1,
};
for (const [how, size] of Object.entries(CUTS)) {
  test(`after a log is ${how} the next commit fails, and none follows`, async (t, world) => {
    const { path, fatal, commit } = world;
    const log = `${path}-wal`;
    truncateSync(log, size < 0 ? statSync(log).size + size : size);
    await t.rejects(commit(), { code: 'DATABASE_DAMAGED' });
    t.match(fatal, [{ code: 'DATABASE_DAMAGED' }], 'it is reported once');
    const { size: after } = statSync(log);
    await t.rejects(commit(), { code: 'DATABASE_DAMAGED' });
    t.equal(statSync(log).size, after, 'nothing more is written');
    t.match(fatal, [{ code: 'DATABASE_DAMAGED' }]);
  });
}

test('a log that was cut and has grown again is not checkpointed', async (t, { url, path, commit }) => {
  for (const _ of Array(5)) await commit();
  const log = `${path}-wal`;
  const { size } = statSync(log);
  const before = readFileSync(path);
  truncateSync(log, LOG_HEADER + FRAME);
  truncateSync(log, size);
  const failed: unknown[] = [];
  t.teardown(startCheckpoints(url, (error) => failed.push(error)));
  await eventually('a checkpoint fails', () => failed.length > 0, true);
  t.match(failed, [{ code: 'DATABASE_DAMAGED', message: /missing a committed page/ }]);
  t.strictSame(readFileSync(path), before);
});

test('any single page missing from the log is found', async (t, { path, commit }) => {
  for (const _ of Array(5)) await commit();
  const log = `${path}-wal`;
  const whole = readFileSync(log);
  const reader = openReader(path);
  t.teardown(() => reader.close());
  const canCopy = (): boolean => {
    const guard = createFileGuard(path, reader);
    try {
      return guard.canCopy();
    } finally {
      guard.close();
    }
  };
  t.equal(canCopy(), true);
  const frames = (whole.length - LOG_HEADER) / FRAME;
  t.ok(frames > 20, 'more than are read at once');
  for (let frame = 0; frame < frames; frame += 1) {
    const cut = Buffer.from(whole);
    cut.fill(0, LOG_HEADER + frame * FRAME, LOG_HEADER + (frame + 1) * FRAME);
    writeFileSync(log, cut, { flag: 'r+' });
    t.throws(canCopy, { code: 'DATABASE_DAMAGED' }, `frame ${frame + 1} of ${frames}`);
  }
  writeFileSync(log, whole, { flag: 'r+' });
});

test('a truncated database file is detected before the next checkpoint', async (t, { url, path, commit }) => {
  const other = new BetterSqlite3(path);
  other.pragma('wal_checkpoint(RESTART)');
  other.close();
  await commit();
  const failed: unknown[] = [];
  t.teardown(startCheckpoints(url, (error) => failed.push(error)));
  truncateSync(path, statSync(path).size / 2);
  await eventually('a checkpoint fails', () => failed.length > 0, true);
  t.match(failed, [{ code: 'DATABASE_DAMAGED', message: /sidecar\.db was changed/ }]);
});

t.test('any statement that reads a damaged page is reported, wherever its error is caught', async (t) => {
  const { url } = await scratch(t);
  const path = sqlitePath(url);
  const { db, fatal } = opened(t, url);
  const bytes = readFileSync(path);
  writeFileSync(path, Buffer.concat([bytes.subarray(0, 4096), Buffer.alloc(bytes.length - 4096, 0xff)]));
  const reading = db.selectFrom('inbox').selectAll().execute();
  await reading.catch(() => {});
  t.match(fatal, [{ code: /^SQLITE_CORRUPT/ }]);
  await t.rejects(receive(db, [deductionOf('e-1', {})]), { code: /^SQLITE_CORRUPT/ }, 'nothing is written');
});

t.test('a log invalidated by a crash is overwritten', async (t) => {
  const { url } = await scratch(t);
  const log = `${sqlitePath(url)}-wal`;
  writeFileSync(log, Buffer.alloc(LOG_HEADER + 3 * FRAME));
  const { db, fatal } = opened(t, url);
  t.teardown(startCheckpoints(url, (error) => fatal.push(error)));
  for (const nth of [1, 2]) await receive(db, [deductionOf(`e-${nth}`, {})]);
  t.equal((await db.selectFrom('inbox').select('seq').execute()).length, 2);
  t.strictSame(fatal, []);
});

t.test('checkpoints, vacuums and backups are not reported', async (t) => {
  const { url } = await scratch(t);
  const path = sqlitePath(url);
  const { db, fatal } = opened(t, url);
  const handle = openReader(path);
  const guard = createFileGuard(path, handle);
  t.teardown(() => {
    guard.close();
    handle.close();
  });
  const child = startChild(t, 'child-checkpoints.ts', path);
  t.equal(await child.line(), 'ready');
  const stopCheckpoints = startCheckpoints(url, (error) => fatal.push(error));
  t.teardown(stopCheckpoints);
  const { signal } = new AbortController();
  const on = { copied: () => {}, signal, environment: 'sandbox' } as const;
  for (let nth = 0; nth < COMMITS; nth += 1) {
    await receive(db, [deductionOf(`e-${nth}`, { description: 'x'.repeat(2_000) })]).catch((error) => {
      if (error.code !== 'LOCK_TIMEOUT') throw error;
    });
    guard.canCopy();
    guard.assertFile();
    // Free pages, so that a vacuum shrinks the file.
    const deleting = db.deleteFrom('inbox').where('seq', '>', 5);
    if (nth % 50 === 49) await deleting.execute().catch(() => {});
    if (nth % 100 === 99) await backUp(path, `${path}.copy`, on);
  }
  child.process.stdin?.end();
  t.equal(await child.line(), 'done');
  t.strictSame(fatal, []);
});
