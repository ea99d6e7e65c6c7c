/** A killed restore leaves the old or the new database, complete. */
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import BetterSqlite3 from 'better-sqlite3';
import t from 'tap';
import { sqlitePath } from '../../src/database/open.ts';
import { deductionOf, deliver } from '../api/deliver.ts';
import { here, jsonOf, withFixtures } from '../cli/harness.ts';
import { executeKilled, executeTraced, straceMissing } from '../support/strace.ts';

const skip = await straceMissing();
/** Every call that renames a file or makes it durable. */
const CALLS = ['rename', 'link', 'unlink', 'fsync', 'fdatasync', 'ftruncate'];

t.setTimeout(900_000);

/** Returns the number of events in a database. Throws if it is missing or damaged. */
function eventsIn(path: string): number {
  const handle = new BetterSqlite3(path, { fileMustExist: true });
  try {
    if (handle.pragma('integrity_check', { simple: true }) !== 'ok') throw new Error(`${path} is damaged`);
    return handle.prepare('select count(*) from inbox').pluck().get() as number;
  } finally {
    handle.close();
  }
}

t.test('a restore killed at any call leaves the old or the new database', { skip }, async (t) => {
  const { env, db } = await withFixtures(t);
  const source = sqlitePath(env.DATABASE_URL as string);
  const folder = join(source, '..', 'restored');
  mkdirSync(folder);
  const file = join(folder, 'backup.db');
  t.equal((await here(t, env, ['backup', file])).code, 0);
  const [least] = [eventsIn(file)];
  await deliver(db, [deductionOf('later', { id: 'd-later' })]);
  const path = join(folder, 'sidecar.db');
  const given = { ...env, DATABASE_URL: `sqlite:${path}` };
  const seen = new Set<number>();
  let nth = 0;
  for (let killed = true; killed; ) {
    nth += 1;
    for (const name of readdirSync(folder)) if (name !== 'backup.db') rmSync(join(folder, name));
    // As after a crash: the newest commit is only in the log.
    for (const end of ['', '-wal']) copyFileSync(`${source}${end}`, `${path}${end}`);
    killed = await executeKilled(given, ['restore', file, '--yes'], CALLS, nth);
    const events = eventsIn(path);
    t.ok(events === least || events === least + 1, `${events} events, killed at call ${nth}`);
    seen.add(events);
    if (!killed) t.equal(events, least, 'without a kill it is the new one');
  }
  t.equal(seen.size, 2, `${nth} times`);
  t.ok(nth > 10);
  t.notOk(existsSync(`${path}-wal`));
  t.match(jsonOf(await here(t, given, ['verify', '--json'])), { clean: true });
});

t.test('the restored file is synced before it replaces the database', { skip }, async (t) => {
  const { env } = await withFixtures(t);
  const folder = join(sqlitePath(env.DATABASE_URL as string), '..', 'restored');
  mkdirSync(folder);
  const [file, trace] = [join(folder, 'backup.db'), join(folder, 'trace')];
  t.equal((await here(t, env, ['backup', file])).code, 0);
  const given = { ...env, DATABASE_URL: `sqlite:${join(folder, 'sidecar.db')}` };
  const calls = [
    'write',
    'writev',
    'pwrite64',
    'ftruncate',
    'copy_file_range',
    'rename',
    'fsync',
    'fdatasync',
  ];
  t.strictSame(await executeTraced(given, ['restore', file, '--yes'], calls, trace), [0, null]);
  const lines = readFileSync(trace, 'utf8').split('\n');
  const last = (pattern: RegExp) => lines.findLastIndex((line) => pattern.test(line));
  const written = last(/ (write|writev|pwrite64|ftruncate|copy_file_range)\(\d+<[^>]*-restoring>/);
  const compacted = last(/ rename\("[^"]*-restoring-compact"/);
  const synced = last(/ f(data)?sync\(\d+<[^>]*-restoring>\) += 0/);
  const replaced = last(/ rename\("[^"]*-restoring"/);
  t.ok(written !== -1 && compacted !== -1, 'the file is written');
  t.ok(
    Math.max(written, compacted) < synced && synced < replaced,
    `${[written, compacted, synced, replaced]}`,
  );
  t.ok(last(/ f(data)?sync\(\d+<[^>]*\/restored>\) += 0/) > replaced, 'the folder is synced after it');
});
