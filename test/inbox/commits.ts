/** A database whose commits are counted and can be made to fail as a disk would. */
import { type DatabaseConnection, type Dialect, type Driver, Kysely } from 'kysely';
import type { Test } from 'tap';
import { sqlitePath } from '../../src/database/open.ts';
import { openPostgres } from '../../src/database/postgres.ts';
import { openSqlite } from '../../src/database/sqlite.ts';
import type { Db, Tables } from '../../src/database/tables.ts';
import { scratch } from '../database/scratch.ts';
import { engineOf } from '../support/engine.ts';

export type Commits = {
  db: Db;
  /** The same database as another process has it open. Its commits are neither counted nor made to fail. */
  other: Db;
  url: string;
  count: number;
  /** The error code of the next commits, or null. */
  failure: string | null;
  /** Awaited after each rollback. */
  onRolledBack: () => Promise<void>;
};

export async function countedCommits(t: Test): Promise<Commits> {
  const { db: other, url } = await scratch(t);
  const commits: Commits = { db: other, other, url, count: 0, failure: null, onRolledBack: async () => {} };
  const dialect = engineOf(t) === 'sqlite' ? openSqlite(sqlitePath(url)).dialect : openPostgres(url);
  commits.db = new Kysely<Tables>({ dialect: watched(dialect, commits) });
  t.teardown(() => commits.db.destroy());
  return commits;
}

const WRITES = /\b(insert into|update|delete from)\b/i;

function watched(dialect: Dialect, commits: Commits): Dialect {
  const inTransaction = new WeakSet<DatabaseConnection>();
  const failIfRequested = (): void => {
    if (commits.failure === null) return;
    throw Object.assign(new Error('the disk fails'), { code: commits.failure, severity: 'ERROR' });
  };
  const watch = (driver: Driver): Partial<Driver> => ({
    async acquireConnection() {
      const connection = await driver.acquireConnection();
      const execute = connection.executeQuery.bind(connection);
      connection.executeQuery = async (query) => {
        // On PostgreSQL a statement outside a transaction is its own transaction.
        const commitsItself = WRITES.test(query.sql) && !inTransaction.has(connection);
        if (commitsItself) failIfRequested();
        const result = await execute<never>(query);
        if (commitsItself) commits.count += 1;
        return result;
      };
      return connection;
    },
    async beginTransaction(connection, settings) {
      inTransaction.add(connection);
      await driver.beginTransaction(connection, settings);
    },
    async commitTransaction(connection) {
      failIfRequested();
      await driver.commitTransaction(connection);
      commits.count += 1;
    },
    async rollbackTransaction(connection) {
      await driver.rollbackTransaction(connection);
      await commits.onRolledBack();
    },
  });
  const createDriver = (): Driver => {
    const driver = dialect.createDriver();
    const own = watch(driver);
    return new Proxy(driver, {
      get(target, name) {
        const member: unknown = Reflect.get(own, name) ?? Reflect.get(target, name, target);
        return typeof member === 'function' ? member.bind(target) : member;
      },
    });
  };
  return { ...dialect, createDriver };
}
