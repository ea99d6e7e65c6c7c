/** Checkpoints while another process holds the log open, as replication tools do, and while the log grows. */
import { readFileSync, statSync } from 'node:fs';
import { Worker } from 'node:worker_threads';
import BetterSqlite3 from 'better-sqlite3';
import t, { type Test } from 'tap';
import { startCheckpoints } from '../../src/database/checkpoints.ts';
import { sqlitePath } from '../../src/database/open.ts';
import { deductionOf, receive } from '../api/deliver.ts';
import { eventually } from '../support/eventually.ts';
import { scratch } from './scratch.ts';

/** Returns a function that reads two numbers of the log, which change whenever it starts over. */
const beginningOf = (path: string) => () => readFileSync(`${path}-wal`).subarray(16, 24).toString('hex');

/** Lets another thread commit during the first pass of each checkpoint. Returns how many there were. */
function commitDuringPasses(t: Test, path: string): () => number {
  const shared = new Int32Array(new SharedArrayBuffer(2 * Int32Array.BYTES_PER_ELEMENT));
  const thread = new Worker(new URL('thread-writes.ts', import.meta.url), { workerData: { path, shared } });
  const { prototype } = BetterSqlite3;
  const { pragma } = prototype;
  let firsts = 0;
  let isFirst = true;
  prototype.pragma = function (this: BetterSqlite3.Database, ...args) {
    if (!isFirst || !args[0].includes('PASSIVE')) return pragma.apply(this, args);
    isFirst = false;
    setImmediate(() => {
      isFirst = true;
    });
    firsts += 1;
    Atomics.wait(shared, 1, 0);
    Atomics.store(shared, 0, 1);
    Atomics.notify(shared, 0);
    const result = pragma.apply(this, args);
    Atomics.store(shared, 0, 0);
    Atomics.wait(shared, 1, 0);
    return result;
  };
  t.teardown(async () => {
    prototype.pragma = pragma;
    await thread.terminate();
  });
  return () => firsts;
}

t.test('a log starts over although pages are added during each checkpoint', async (t) => {
  const { db, url } = await scratch(t);
  const path = sqlitePath(url);
  await receive(db, [deductionOf('e-1', {})]);
  const beginning = beginningOf(path);
  const before = beginning();
  const checkpoints = commitDuringPasses(t, path);
  t.teardown(startCheckpoints(url, (error) => t.fail('it continues', { error })));
  await eventually('three checkpoints', checkpoints, (count) => count >= 3);
  await receive(db, [deductionOf('e-2', {})]);
  t.not(beginning(), before);
});

t.test('a log with a reader is not started over until the reader ends, and writing continues', async (t) => {
  const { db, url } = await scratch(t);
  const path = sqlitePath(url);
  let sent = 0;
  const write = async (): Promise<void> => {
    for (const _ of Array(20)) await receive(db, [deductionOf(`e-${sent++}`, {})]);
  };
  await write();
  const holding = new BetterSqlite3(path);
  t.teardown(() => holding.close());
  holding.exec('begin');
  holding.prepare('select count(*) from inbox').get();
  const beginning = beginningOf(path);
  const before = beginning();
  const failed: unknown[] = [];
  t.teardown(startCheckpoints(url, (error) => failed.push(error)));
  const size = statSync(path).size;
  await eventually(
    'a checkpoint has copied',
    async () => {
      await write();
      return statSync(path).size;
    },
    (now) => now > size,
  );
  t.equal(beginning(), before);
  holding.exec('commit');
  await eventually(
    'the log starts over',
    async () => {
      await write();
      return beginning();
    },
    (now) => now !== before,
  );
  t.equal((await db.selectFrom('inbox').select('seq').execute()).length, sent);
  t.strictSame(failed, []);
});
