import { sql } from 'kysely';
import t from 'tap';
import { migrate } from '../../src/database/migrate.ts';
import { open, scratch, scratchUrl } from '../database/scratch.ts';
import { usePostgres } from '../support/engine.ts';
import { catalogOfPostgres, catalogOfSqlite } from './catalog.ts';

usePostgres();

/** All foreign keys. None cascades. */
const FOREIGN_KEYS = Object.entries({
  'record_id of audit_records':
    'accepted_findings approval_settings deduction_assignments item_decisions opening_items pay_schedules payroll_codes payroll_policies run_approvals run_overrides tokens',
  'run_id of payroll_runs':
    'accepted_findings item_decisions run_approvals run_computations run_overrides taken_reports',
  'census_id of staged_censuses': 'census_chunks census_fingerprints',
  'request_id of outbox': 'census_syncs change_keys delivery_attempts',
  'run_id, report of taken_reports': 'taken_lines',
})
  .flatMap(([key, tables]) => {
    const [columns, parent] = key.split(' of ');
    return tables.split(' ').map((table) => `${table}: foreign (${columns}) of ${parent} (${columns})`);
  })
  .concat('run_inputs: foreign (earlier_run_id) of payroll_runs (run_id)')
  .map((key) => `${key} where no action no action`)
  .sort();

t.test('both engines have the same tables, columns, keys, indexes and values', async (t) => {
  const file = open(t, scratchUrl(t));
  await migrate(file, 'sandbox', new Date());
  const { db } = await scratch(t);
  const [sqlite, postgres] = [await catalogOfSqlite(file), await catalogOfPostgres(db)];
  t.strictSame([...postgres.keys()].sort(), [...sqlite.keys()].sort());
  for (const [name, table] of sqlite) t.strictSame(postgres.get(name), table, name);

  t.has(sqlite.get('inbox')?.columns, ['seq number required'], 'columns are read');
  const claimable = "index (due_at, seq) where state = 'pending' and is_next = 1";
  t.ok(sqlite.get('outbox')?.keys.includes(claimable), 'and conditions');
  t.ok(sqlite.get('inbox')?.words.includes("'quarantined'"), 'and words');
  const foreign = [...sqlite].flatMap(([name, { keys }]) =>
    keys.filter((key) => key.startsWith('foreign')).map((key) => `${name}: ${key}`),
  );
  t.strictSame(foreign.sort(), FOREIGN_KEYS, 'and foreign keys');
});

t.test('both engines have the same reporting views with the same columns', async (t) => {
  const file = open(t, scratchUrl(t));
  await migrate(file, 'sandbox', new Date());
  const { db } = await scratch(t);
  const sqlite = await sql<{ name: string }>`
    select view.name || '.' || col.name as name from sqlite_schema as view join pragma_table_info(view.name) as col
    where view.type = 'view' order by view.name, col.cid`.execute(file);
  const postgres = await sql<{ name: string }>`
    select table_name || '.' || column_name as name from information_schema.columns
    where table_schema = 'public' and table_name in (select viewname from pg_views where schemaname = 'public')
    order by table_name collate "C", ordinal_position`.execute(db);
  t.ok(sqlite.rows.length > 40);
  t.strictSame(postgres.rows, sqlite.rows);
});

t.test('PostgreSQL compares every text by bytes, as SQLite does, in any locale', async (t) => {
  const { db } = await scratch(t);
  // `migrations` is created before the schema files, and its texts are not compared.
  const { rows } = await sql<{ column: string; collation: string }>`
    select attrelid::regclass || '.' || attname as column, collname as collation
    from pg_attribute join pg_class on pg_class.oid = attrelid join pg_collation on pg_collation.oid = attcollation
    where relkind in ('r', 'i') and relnamespace = 'public'::regnamespace and attnum > 0 and relname <> 'migrations'
  `.execute(db);
  const other = rows.filter(({ collation }) => collation !== 'C');
  t.strictSame(other, []);
  t.ok(rows.some(({ column }) => column === 'roster.employee_id'));
  const language = await sql<{ before: boolean }>`select 'B' < 'a' as before`.execute(db);
  t.strictSame(language.rows, [{ before: false }], 'the order of the server itself differs');
});
