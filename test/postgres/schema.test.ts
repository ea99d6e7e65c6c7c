import { sql } from 'kysely';
import t from 'tap';
import { migrate } from '../../src/database/migrate.ts';
import { open, scratch, scratchUrl } from '../database/scratch.ts';
import { usePostgres } from '../support/engine.ts';
import { catalogOfPostgres, catalogOfSqlite } from './catalog.ts';

usePostgres();

t.test(
  'both engines have the same tables, columns, keys and indexes, and allow the same words',
  async (t) => {
    const file = open(t, scratchUrl(t));
    await migrate(file, 'sandbox', new Date());
    const { db } = await scratch(t);
    const [sqlite, postgres] = [await catalogOfSqlite(file), await catalogOfPostgres(db)];
    t.strictSame([...postgres.keys()].sort(), [...sqlite.keys()].sort());
    for (const [name, table] of sqlite) t.strictSame(postgres.get(name), table, name);

    t.has(sqlite.get('inbox')?.columns, ['seq number required'], 'columns are read');
    const claimable = "index (due_at, seq) where state = 'pending' and head = 1";
    t.ok(sqlite.get('outbox')?.keys.includes(claimable), 'and conditions');
    t.ok(sqlite.get('inbox')?.words.includes("'quarantined'"), 'and words');
  },
);

t.test('PostgreSQL compares every text by its bytes, as SQLite does, whatever its language is', async (t) => {
  const { db } = await scratch(t);
  // `migrations` is made before the schema's own files; nothing compares its texts.
  const { rows } = await sql<{ column: string; collation: string }>`
    select attrelid::regclass || '.' || attname as column, collname as collation
    from pg_attribute join pg_class on pg_class.oid = attrelid join pg_collation on pg_collation.oid = attcollation
    where relkind in ('r', 'i') and relnamespace = 'public'::regnamespace and attnum > 0 and relname <> 'migrations'
  `.execute(db);
  const other = rows.filter(({ collation }) => collation !== 'C');
  t.strictSame(other, []);
  t.ok(rows.some(({ column }) => column === 'roster.employee_id'));
  const language = await sql<{ before: boolean }>`select 'B' < 'a' as before`.execute(db);
  t.strictSame(language.rows, [{ before: false }], 'the server itself would sort by its language');
});

await import('../database/schema-check.test.ts');
