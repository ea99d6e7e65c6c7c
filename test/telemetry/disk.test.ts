import { truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { sqlitePath } from '../../src/database/open.ts';
import {
  DISK_FEW_BYTES,
  DISK_LEAST_BYTES,
  diskInWords,
  diskOf,
  judgeDisk,
  readDisk,
} from '../../src/telemetry/disk.ts';
import { scratch } from '../database/scratch.ts';
import { engineOf } from '../support/engine.ts';

const GIB = 1024 ** 3;

t.test('a filling disk warns early and fails before it is full', async (t) => {
  for (const [free, database, expected] of [
    [DISK_FEW_BYTES, 0, 'pass'],
    [DISK_FEW_BYTES - 1, 0, 'warn'],
    [DISK_LEAST_BYTES, 0, 'warn'],
    [DISK_LEAST_BYTES - 1, 0, 'fail'],
    [0, 0, 'fail'],
    // The size of a backup next to the database.
    [5 * GIB, 5 * GIB, 'pass'],
    [5 * GIB - 1, 5 * GIB, 'warn'],
  ] as const) {
    t.equal(judgeDisk({ free, database }), expected, `${free} free for ${database}`);
  }
  t.equal(diskInWords({ free: GIB + 1, database: 1 }), '1024 MiB free, the database has 1 MiB');
});

t.test('an open database reports its disk, a PostgreSQL database does not', async (t) => {
  const { db, url } = await scratch(t);
  if (engineOf(t) === 'postgres') return t.equal(await diskOf(db), null);
  const disk = await diskOf(db);
  t.ok((disk?.free ?? 0) > 0 && (disk?.database ?? 0) > 4096);
  t.ok((await readDisk(join(t.testdirName, 'none/yet.db'))).free > 0, 'also before the file exists');
  const path = `${sqlitePath(url)}.copy`;
  t.equal((await readDisk(path)).database, 0);
  writeFileSync(path, '');
  writeFileSync(`${path}-wal`, '');
  truncateSync(path, 3_000);
  truncateSync(`${path}-wal`, 200);
  t.equal((await readDisk(path)).database, 3_200, 'the log counts');
});
