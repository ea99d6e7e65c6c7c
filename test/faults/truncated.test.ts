/** Truncating or overwriting the files of a database in use: no event is acknowledged into a damaged file. */
import { closeSync, openSync, renameSync, statSync, truncateSync, writeSync } from 'node:fs';
import BetterSqlite3 from 'better-sqlite3';
import t from 'tap';
import { sqlitePath } from '../../src/database/open.ts';
import { readMark } from '../../src/inbox/data-loss.ts';
import { here } from '../cli/harness.ts';
import { eventually } from '../support/eventually.ts';
import { eventOf } from '../support/load.ts';
import { breaches } from '../support/oracle.ts';
import { setStage } from '../support/stage.ts';

const LOG_HEADER = 32;
const PAGE = 4_096;
const FRAME = 24 + PAGE;
const ADVICE = /check the disk.*start again.*verify.*restore.* only if/;

/** Resolves when the whole log is copied into the file. */
async function copied(path: string): Promise<void> {
  const handle = new BetterSqlite3(path);
  const count = () => handle.pragma('wal_checkpoint(NOOP)') as { log: number; checkpointed: number }[];
  await eventually('the log is copied', count, ([found]) => found?.log === found?.checkpointed);
  handle.close();
}

/** Keeps the log from starting over, so its current contents are needed. */
function startReading(path: string): BetterSqlite3.Database {
  const reader = new BetterSqlite3(path, { readonly: true });
  reader.exec('begin');
  reader.prepare('select count(*) from inbox').get();
  return reader;
}

for (const [how, bytes] of Object.entries({ emptied: 0, cut: LOG_HEADER + FRAME })) {
  t.test(`a sidecar whose log is ${how} under load acknowledges nothing more and ends`, async (t) => {
    const stage = await setStage(t);
    const { sidecar, databaseUrl } = stage;
    const log = `${sqlitePath(databaseUrl)}-wal`;
    const load = stage.load('load');
    await load.reached(100);
    const reader = startReading(sqlitePath(databaseUrl));
    await load.reached(400);
    truncateSync(log, bytes);
    // Closed before the sidecar ends: the last connection to close copies the log into the file.
    reader.close();
    const later = await stage.send(eventOf('later', 0)).catch(() => null);
    t.not(later?.status, 204, 'later events are not acknowledged');
    t.equal(await sidecar.ended, 1);
    await load.ended;
    t.match(sidecar.logged('fatal'), [
      { code: /^(DATABASE_DAMAGED|SQLITE_(IOERR_SHORT_READ|CORRUPT|NOTADB)$)/ },
    ]);
    t.match(sidecar.output().trimEnd().split('\n').at(-1), ADVICE);

    // Data and pages that were only in the log are lost. Both are reported.
    t.ok((readMark(databaseUrl)?.seq ?? 0) >= load.acknowledged.size);
    const env = stage.variables as Record<string, string>;
    const { code, stdout } = await here(t, env, ['doctor', '--json']);
    t.equal(code, 1);
    t.match(stdout, /older|replay what is from|SQLITE_CORRUPT|reading the database failed/);
  });
}

t.test('the process ends when the database file loses its end', async (t) => {
  const stage = await setStage(t);
  const { sidecar, databaseUrl } = stage;
  const path = sqlitePath(databaseUrl);
  await stage.load('load', { events: 300 }).ended;
  await stage.settled();
  await copied(path);
  truncateSync(path, Math.floor(statSync(path).size / PAGE / 2) * PAGE);
  t.equal(await sidecar.ended, 1);
  t.match(sidecar.logged('fatal'), [{ code: /^(DATABASE_DAMAGED|SQLITE_CORRUPT)/ }]);
});

t.test('a request that reads a damaged page ends the process, which logs advice', async (t) => {
  const stage = await setStage(t);
  const { sidecar, databaseUrl, api } = stage;
  const path = sqlitePath(databaseUrl);
  await stage.load('load', { events: 300 }).ended;
  await stage.settled();
  await copied(path);
  const { size } = statSync(path);
  const file = openSync(path, 'r+');
  for (let at = PAGE; at < size; at += PAGE) writeSync(file, Buffer.alloc(PAGE, 0xff), 0, PAGE, at);
  closeSync(file);
  // Lists rows that no earlier request has read into memory.
  for (const route of ['/v1/census-syncs', '/v1/employee-changes', '/v1/deductions', '/v1/events'])
    await api.get(route).catch(() => {});
  t.equal(await sidecar.ended, 1);
  t.match(sidecar.logged('fatal'), [{ code: /^SQLITE_(CORRUPT|NOTADB)/ }]);
  t.match(sidecar.output().trimEnd().split('\n').at(-1), ADVICE);
});

t.test('after a kill and a damaged log the start reports the lost acknowledged events', async (t) => {
  const stage = await setStage(t);
  const { sidecar, databaseUrl } = stage;
  const path = sqlitePath(databaseUrl);
  const load = stage.load('load');
  await load.reached(100);
  const reader = startReading(path);
  await load.reached(300);
  t.equal(await sidecar.end('SIGKILL'), 'SIGKILL');
  await load.ended;
  const isMarked = (readMark(databaseUrl)?.seq ?? 0) >= load.acknowledged.size;
  t.ok(isMarked, 'the high-water mark includes all of them');
  reader.close();
  const { size } = statSync(`${path}-wal`);
  const log = openSync(`${path}-wal`, 'r+');
  writeSync(log, Buffer.alloc(8, 0xff), 0, 8, LOG_HEADER + Math.floor(size / FRAME / 2) * FRAME);
  closeSync(log);

  await stage.start();
  await stage.settled();
  const missing = await breaches({ databaseUrl, acknowledged: load.acknowledged.values() });
  t.ok(missing.length > 0);
  t.match(await stage.api.check('data-loss'), { result: 'fail', count: 1 });
});

// The log is written to the file when the process ends.
for (const [name, end, result] of [
  ['file', '', 'fail'],
  ['log', '-wal', 'pass'],
]) {
  t.test(`a sidecar whose ${name} is replaced ends, and the next start reports the loss`, async (t) => {
    const stage = await setStage(t);
    const kept = await stage.send(eventOf('kept', 1));
    t.equal(kept.status, 204);
    await stage.settled();
    const path = `${sqlitePath(stage.databaseUrl)}${end}`;
    renameSync(path, `${path}.away`);
    t.equal(await stage.sidecar.ended, 1);
    t.match(stage.sidecar.logged('fatal'), [{ code: 'DATABASE_REPLACED' }]);
    t.match(stage.sidecar.output(), /was replaced or removed while it was in use/);
    await stage.start();
    t.match(await stage.api.check('data-loss'), { result });
  });
}
