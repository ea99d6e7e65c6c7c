/** The engines, each with a way to store rows in bulk in a migrated database. */
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
  /** Returns a new, migrated database after executing these statements. */
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
        // Otherwise the server would vacuum in the middle of the measurement.
        await database.run('vacuum analyze');
        await database.run('checkpoint');
      }
      return database;
    },
  },
];

/**
 * Without a log and without a sync per commit, to save time; one sync at the end, so that nothing is left to write during
 * the measurement. The sidecar sets its own options again when it opens the file.
 */
function fillSqlite(file: string, statements: readonly string[]): void {
  const handle = new BetterSqlite3(file);
  handle.pragma('journal_mode = memory');
  handle.pragma('synchronous = off');
  // Negative means KiB. The indexes of ten million events fit.
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
