import { sql } from 'kysely';
import { postgresObjects } from '../../src/database/schema-check.ts';
import { transact } from '../../src/database/transaction.ts';
import { alterable } from '../database/scratch.ts';
import { onPostgres } from '../support/engine.ts';
import { breaksOf } from './additive.ts';

/** Statements, each with what it breaks for the release before. */
const STATEMENTS: Readonly<Record<string, string[]>> = {
  'create table more (id text primary key)': [],
  'alter table tokens add column more text': [],
  'create index more_tokens on tokens (name)': [],
  'create or replace view reporting_runs as select *, 1 as more from (select * from reporting_runs) as before':
    [],
  'create unique index names on tokens (name)': ['index names was added to a table'],
  "alter table tokens add column kind text not null default ''": ['column tokens.kind was added to a table'],
  'alter table tokens alter column name drop not null': ['column tokens.name is another'],
  'alter table tokens rename column name to title': [
    'column tokens.name is gone',
    'column tokens.title was added to a table',
  ],
  "alter table tokens add constraint named check (name <> '')": [
    'constraint tokens.named was added to a table',
  ],
  'drop index inbox_pending': ['index inbox_pending is gone'],
};

onPostgres('a migration that the release before would not survive is named', async (t) => {
  const { db } = await alterable(t);
  const before = await postgresObjects(db);
  for (const [statement, expected] of Object.entries(STATEMENTS)) {
    const breaking = transact(db, async (trx): Promise<never> => {
      await sql.raw(statement).execute(trx);
      throw Object.assign(new Error('rolls back'), { breaks: breaksOf(before, await postgresObjects(trx)) });
    });
    const { breaks } = await breaking.catch((error) => error);
    t.strictSame(breaks, expected, statement);
  }
});
