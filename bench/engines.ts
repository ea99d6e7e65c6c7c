/** The engines, each with a way to store rows in bulk in a database that the sidecar has migrated. */
import { execFileSync } from 'node:child_process';
import { closeSync, fsyncSync, openSync } from 'node:fs';
import BetterSqlite3 from 'better-sqlite3';
import type { PostgresServer } from '../test/support/postgres.ts';
import { newPostgres, newSqlite, type Scratch } from './databases.ts';
import { type Dialect, POSTGRES, SQLITE } from './fill.ts';
import { environment, ROOT } from './server.ts';

export type Engine = {
  name: string;
  title: string;
  dialect: Dialect;
  /** A new, migrated database in which these statements have run. */
  fill(statements: readonly string[], postgres: PostgresServer): Promise<Scratch>;
};

export const ENGINES: Engine[] = [
  {
    name: 'sqlite',
    title: 'SQLite',
    dialect: SQLITE,
    async fill(statements) {
      const database = await newSqlite();
      migrate(database.url);
      if (statements.length > 0) fillSqlite(database.file, statements);
      return database;
    },
  },
  {
    name: 'postgres',
    title: 'PostgreSQL',
    dialect: POSTGRES,
    async fill(statements, postgres) {
      const database = await newPostgres(postgres);
      migrate(database.url);
      for (const statement of statements) await database.run(statement);
      if (statements.length > 0) {
        // Else the server would do it in the middle of the measurement, once for all that was stored at once.
        await database.run('vacuum analyze');
        await database.run('checkpoint');
      }
      return database;
    },
  },
];

/**
 * Without a log and without a sync at each commit, which would only take time; one sync at the end, so that nothing is
 * left to be written while it is measured. The sidecar sets its own again when it opens the file.
 */
function fillSqlite(file: string, statements: readonly string[]): void {
  const handle = new BetterSqlite3(file);
  handle.pragma('journal_mode = memory');
  handle.pragma('synchronous = off');
  // In KiB when negative: the indexes of ten million events fit.
  handle.pragma('cache_size = -2000000');
  for (const statement of statements) handle.exec(statement);
  handle.close();
  const opened = openSync(file, 'r+');
  fsyncSync(opened);
  closeSync(opened);
}

function migrate(databaseUrl: string): void {
  execFileSync(process.execPath, ['dist/main.js', 'migrate'], {
    cwd: ROOT,
    env: environment(databaseUrl),
    stdio: ['ignore', 'ignore', 'inherit'],
  });
}
