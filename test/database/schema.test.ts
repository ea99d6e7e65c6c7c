import { readFileSync } from 'node:fs';
import { sql } from 'kysely';
import { onPostgres } from '../support/engine.ts';
import { scratch } from './scratch.ts';

/** What a column holds, whether an insert may omit it, and the values that it allows. */
type Column = { holds: string; presence: 'null' | 'generated' | 'required'; values: string[] };
type Columns = Record<string, Column>;

const literalsIn = (text: string): string[] => (text.match(/'[^']*'|\b\d+\b/g) ?? []).sort();

/** The columns as `table.column`. */
function columnsOfTypes(): Columns {
  const file = readFileSync(new URL('../../src/database/tables.ts', import.meta.url), 'utf8');
  const text = file.replace(/\/\*\*.*?\*\//gs, '');
  const declared = text.matchAll(/^export (?:interface|type) (\w+) (?:= )?([^\n]*\{$.*?^\}|[^\n]*(?=;$))/gms);
  const types = new Map([...declared].map(([, name = '', type = '']) => [name, type]));
  const expand = (type: string): string =>
    type.replace(/\b[A-Z]\w+/g, (name) => (types.has(name) ? expand(types.get(name) ?? '') : name));
  const columns: Columns = {};
  for (const [, table, row = ''] of (types.get('Tables') ?? '').matchAll(/^ {2}(\w+): (\{.*?\}|\w+);$/gms)) {
    for (const [, name, type = ''] of expand(row).matchAll(/(\w+): ([^;{}]+?)(?:;| \})/g)) {
      columns[`${table}.${name}`] = {
        holds: /Buffer/.test(type) ? 'bytes' : /string|'/.test(type) ? 'text' : 'number',
        presence: /\bnull\b/.test(type) ? 'null' : type.startsWith('Generated') ? 'generated' : 'required',
        values: literalsIn(type),
      };
    }
  }
  return columns;
}

const HOLDS: Readonly<Record<string, string>> = {
  bytea: 'bytes',
  text: 'text',
  integer: 'number',
  bigint: 'number',
};

onPostgres('tables.ts has the columns of the schema and the values that they allow', async (t) => {
  const { db } = await scratch(t);
  const { rows } = await sql<{
    name: string;
    type: string;
    presence: Column['presence'];
    allowed: string | null;
  }>`
    select relname || '.' || attname as name, format_type(atttypid, null) as type,
      case when not attnotnull then 'null' when atthasdef or attidentity <> '' then 'generated' else 'required' end as presence,
      (select string_agg(pg_get_expr(conbin, conrelid), '') from pg_constraint
        where conrelid = attrelid and contype = 'c' and conkey = array[attnum] and pg_get_expr(conbin, conrelid) !~ '[<>]') as allowed
    from pg_attribute join pg_class on pg_class.oid = attrelid
    where relkind = 'r' and relnamespace = 'public'::regnamespace and attnum > 0 and not attisdropped`.execute(
    db,
  );
  const columns = rows.map(({ name, type, presence, allowed }) => {
    return [name, { holds: HOLDS[type] ?? type, presence, values: literalsIn(allowed ?? '') }];
  });
  t.strictSame(columnsOfTypes(), Object.fromEntries(columns));
});

const WRITTEN_BY_EVENTS =
  'inbox event_conflicts conflicted_events ledger_head deduction_versions deductions census_completions';

onPostgres('foreign keys never cascade, and a table that an event writes has none', async (t) => {
  const { db } = await scratch(t);
  const { rows } = await sql<{ table: string; cascades: boolean }>`
    select conrelid::regclass::text as table, confdeltype <> 'a' or confupdtype <> 'a' as cascades
    from pg_constraint where contype = 'f'`.execute(db);
  t.ok(rows.length > 0);
  const isWrong = ({ table, cascades }: (typeof rows)[number]) =>
    cascades || WRITTEN_BY_EVENTS.split(' ').includes(table);
  t.strictSame(rows.filter(isWrong), []);
});

onPostgres('PostgreSQL compares every text by bytes, as SQLite does, in any locale', async (t) => {
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
