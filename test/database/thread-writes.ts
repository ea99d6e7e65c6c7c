/** A thread that commits a thousand pages, and then again and again while `shared[0]` is 1. `shared[1]` is 1 while it is idle. */
import { workerData } from 'node:worker_threads';
import BetterSqlite3 from 'better-sqlite3';

const { path, shared } = workerData as { path: string; shared: Int32Array };
const handle = new BetterSqlite3(path);
handle.pragma('wal_autocheckpoint = 0');
handle.exec('create table pages (thousand)');
const commit = handle.prepare('insert into pages values (zeroblob(4096000))');
for (commit.run(); ; ) {
  Atomics.store(shared, 1, 1);
  Atomics.notify(shared, 1);
  Atomics.wait(shared, 0, 0);
  Atomics.store(shared, 1, 0);
  while (Atomics.load(shared, 0) === 1) commit.run();
}
