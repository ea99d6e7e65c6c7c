/** A database of its own whose commits are counted, and can be made to fail as a disk would make them. */
import { Kysely } from 'kysely';
import type { Test } from 'tap';
import { migrate } from '../../src/database/migrate.ts';
import { sqlitePath } from '../../src/database/open.ts';
import { openSqlite } from '../../src/database/sqlite.ts';
import type { Db, Tables } from '../../src/database/tables.ts';
import { scratchUrl } from '../database/scratch.ts';

export type Commits = {
  db: Db;
  path: string;
  count: number;
  /** The engine's code that the next commits fail with, or null. */
  failure: string | null;
};

export async function countedCommits(t: Test): Promise<Commits> {
  const path = sqlitePath(scratchUrl(t));
  const { dialect, writer } = openSqlite(path);
  const db = new Kysely<Tables>({ dialect });
  t.teardown(() => db.destroy());
  const commits: Commits = { db, path, count: 0, failure: null };
  const prepare = writer.prepare.bind(writer);
  writer.prepare = ((text: string) => {
    const statement = prepare(text);
    if (text !== 'commit') return statement;
    const run = statement.run.bind(statement);
    statement.run = (...parameters: unknown[]) => {
      if (commits.failure !== null)
        throw Object.assign(new Error('the disk says no'), { code: commits.failure });
      commits.count += 1;
      return run(...parameters);
    };
    return statement;
  }) as typeof writer.prepare;
  await migrate(db, 'sandbox', new Date('2026-01-31T09:30:00.000Z'));
  commits.count = 0;
  return commits;
}
