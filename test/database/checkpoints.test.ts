/** Checkpoints while another process holds the log open, as replication tools do. */
import { readFileSync, statSync } from 'node:fs';
import BetterSqlite3 from 'better-sqlite3';
import t from 'tap';
import { startCheckpoints } from '../../src/database/checkpoints.ts';
import { sqlitePath } from '../../src/database/open.ts';
import { deductionOf, receive } from '../api/deliver.ts';
import { eventually } from '../support/eventually.ts';
import { scratch } from './scratch.ts';

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
  // Its first bytes hold two numbers that change whenever the log starts over.
  const beginning = () => readFileSync(`${path}-wal`).subarray(16, 24).toString('hex');
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
