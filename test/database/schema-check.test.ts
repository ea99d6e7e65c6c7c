import { sql } from 'kysely';
import { assertSchemaUnaltered, compareSchema } from '../../src/database/schema-check.ts';
import type { Db } from '../../src/database/tables.ts';
import { transact } from '../../src/database/transaction.ts';
import { engineOf, onEachEngine, onPostgres } from '../support/engine.ts';
import { alterable, open } from './scratch.ts';

async function alter(db: Db, ...statements: string[]): Promise<void> {
  await transact(db, async (trx) => {
    for (const statement of statements) await sql.raw(statement).execute(trx);
  });
}

const INDEX = 'create unique index one_more on deductions (employee_id)';
const COLUMN = 'alter table circuit_breaker add column more text';

/** The statements that cause each difference. */
type Alterations = Record<string, string | string[]>;

const ON_SQLITE: Alterations = {
  'index one_more was added': INDEX,
  'table circuit_breaker is not what the migrations create': COLUMN,
  'trigger spy was added': 'create trigger spy after insert on inbox begin delete from tokens; end',
  'table tokens is missing, view tokens was added': [
    'alter table tokens rename to others',
    "create view tokens as select * from others where '1' = '1'",
  ],
  'view reporting_runs is not what the migrations create': [
    'drop view reporting_runs',
    'create view reporting_runs as select * from payroll_runs',
  ],
  'trigger deduction_versions_are_never_removed is missing':
    'drop trigger deduction_versions_are_never_removed',
  'trigger deduction_versions_are_never_changed is not what the migrations create': [
    'drop trigger deduction_versions_are_never_changed',
    'create trigger deduction_versions_are_never_changed before update on deduction_versions begin select 1; end',
  ],
};

const ON_POSTGRES: Alterations = {
  'index one_more was added': INDEX,
  'column circuit_breaker.more was added': COLUMN,
  'trigger inbox.spy was added, function inbox.spy was added': [
    'create function spy() returns trigger language plpgsql as $$ begin return new; end $$',
    'create trigger spy after insert on inbox for each row execute function spy()',
  ],
  'table sessions is missing, view sessions was added, rule sessions._RETURN was added': [
    'alter table sessions rename to others',
    'create view sessions as select * from others',
  ],
  'rule inbox.lost was added': 'create rule lost as on insert to inbox do instead nothing',
  'trigger deduction_versions.deduction_versions_are_append_only is not what the migrations create':
    'alter table deduction_versions disable trigger deduction_versions_are_append_only',
  'rule reporting_runs._RETURN is not what the migrations create': `
    do $$ begin execute 'create or replace view reporting_runs as '
      || replace(pg_get_viewdef('reporting_runs'), '<> ''open''', '= ''open'''); end $$`,
  'function deduction_versions.refuse_change is not what the migrations create':
    'create or replace function refuse_change() returns trigger language plpgsql as $$ begin return new; end $$',
  'table refused_signatures is not what the migrations create': 'alter table refused_signatures set unlogged',
  'table inbox is not what the migrations create, policy inbox.hidden was added': [
    'alter table inbox enable row level security',
    'create policy hidden on inbox using (seq > 1)',
  ],
  'child tokens.more was added': 'create table more () inherits (tokens)',
};

onEachEngine('an altered schema is detected, whatever was altered', async (t, engine) => {
  const { db } = await alterable(t);
  const alterations = engine === 'sqlite' ? ON_SQLITE : ON_POSTGRES;
  await alter(db, ...Object.values(alterations).flat());
  const differences = (await compareSchema(db)).map(({ object, rule }) => `${object} ${rule}`);
  for (const found of Object.keys(alterations).flatMap((names) => names.split(', ')))
    t.ok(differences.includes(found), `${found}: ${differences}`);
});

onEachEngine('an altered schema is refused, and the error names the first differences', async (t) => {
  const { db } = await alterable(t);
  await assertSchemaUnaltered(db);
  await alter(db, INDEX);
  await t.rejects(assertSchemaUnaltered(db), {
    code: 'SCHEMA_REFUSED',
    message: 'its schema was altered: index one_more was added',
  });
});

onEachEngine('statistics and settings of a running service are not differences', async (t) => {
  const { db } = await alterable(t);
  await alter(
    db,
    engineOf(t) === 'sqlite' ? 'analyze' : 'alter table inbox set (autovacuum_enabled = false)',
  );
  t.strictSame(await compareSchema(db), []);
});

onEachEngine('other tables and views do not count, and the comparison leaves nothing behind', async (t) => {
  const { db } = await alterable(t);
  await alter(
    db,
    'create table _litestream_seq (id integer primary key, seq integer)',
    'create view report as select count(*) as deductions from deductions',
    ...(engineOf(t) === 'sqlite'
      ? []
      : ['create function helper() returns int language sql as $$ select 1 $$']),
  );
  t.strictSame(await compareSchema(db), []);
  if (engineOf(t) === 'sqlite') return;
  const { rows } = await sql`select 1 from pg_namespace where nspname like 'benefits_sidecar%'`.execute(db);
  t.strictSame(rows, []);
});

onPostgres('without the right to create a schema the comparison is rejected', async (t) => {
  const { db, url } = await alterable(t);
  const user = `reader_${process.pid}`;
  await alter(
    db,
    `create role ${user} login password 'reader'`,
    `grant select on all tables in schema public to ${user}`,
  );
  t.teardown(() => alter(db, `drop owned by ${user}`, `drop role ${user}`));
  const theirs = new URL(url);
  [theirs.username, theirs.password] = [user, 'reader'];
  const reading = open(t, theirs.href);
  await t.rejects(compareSchema(reading), { message: /may not create a schema/ });
});
