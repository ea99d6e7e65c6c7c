/**
 * Compares the schema of a database with what its migrations create on the same engine. A trigger, a view in
 * place of a table, or a dropped constraint changes what a statement of this program does.
 */
import BetterSqlite3 from 'better-sqlite3';
import { CompiledQuery, sql } from 'kysely';
import { AppError, codeOf } from '../errors.ts';
import { statementsOf } from './dialect.ts';
import { engineOf } from './engine.ts';
import { compareMigrations, MIGRATIONS_TABLE, schemaRefused } from './migrate.ts';
import type { Db, Trx } from './tables.ts';
import { transact } from './transaction.ts';

type SchemaDifference = { object: string; rule: string };

/** `on` is the table that the object belongs to. */
export type SchemaObject = { name: string; on: string; definition: string };

/** Named in the error; `verify` lists all of them. */
const NAMED = 3;

/** Throws SCHEMA_REFUSED if the schema differs from what the applied migrations create. */
export async function assertSchemaUnaltered(db: Db): Promise<void> {
  const differences = await compareSchema(db);
  if (differences.length === 0) return;
  const named = differences.slice(0, NAMED).map(({ object, rule }) => `${object} ${rule}`);
  const left = differences.length - named.length;
  throw schemaRefused(`its schema was altered: ${named.join('; ')}${left > 0 ? `; and ${left} more` : ''}`);
}

/** Returns every difference. Throws SCHEMA_NOT_COMPARABLE where the engine does not allow the comparison. */
export async function compareSchema(db: Db): Promise<SchemaDifference[]> {
  const { applied } = await compareMigrations(db);
  const engine = engineOf(db);
  const migration = [MIGRATIONS_TABLE, ...applied.flatMap(({ sql }) => statementsOf(sql(engine)))];
  return engine === 'sqlite' ? compareSqlite(db, migration) : comparePostgres(db, migration);
}

async function compareSqlite(db: Db, migration: readonly string[]): Promise<SchemaDifference[]> {
  const expected = new BetterSqlite3(':memory:');
  try {
    for (const statement of migration) expected.exec(statement);
    const { rows } = await sql.raw<SchemaObject>(SQLITE_OBJECTS).execute(db);
    return differencesOf(expected.prepare<[], SchemaObject>(SQLITE_OBJECTS).all(), rows);
  } finally {
    expected.close();
  }
}

/** Without the indexes that SQLite derives from the text of a table. */
const SQLITE_OBJECTS = `
  select type || ' ' || name as name, lower(tbl_name) as "on", sql as definition from sqlite_schema
  where sql is not null order by type desc, name`;

const NOT_COMPARABLE: Readonly<Record<string, string>> = {
  42501: 'this user may not create a schema (GRANT CREATE ON DATABASE)',
  25006: 'the server is read-only: use its primary',
};

/** Creates the expected schema on the same server, in a transaction that is rolled back. */
async function comparePostgres(db: Db, migration: readonly string[]): Promise<SchemaDifference[]> {
  let differences: SchemaDifference[] | null = null;
  try {
    return await transact(
      db,
      async (trx): Promise<never> => {
        const actual = await postgresObjects(trx);
        await sql`create schema benefits_sidecar_expected`.execute(trx);
        await sql`set local search_path = benefits_sidecar_expected`.execute(trx);
        for (const statement of migration) await trx.executeQuery(CompiledQuery.raw(statement));
        const expected = await postgresObjects(trx);
        differences = differencesOf(expected, actual);
        // Rolls back.
        throw new Error('compared');
      },
      { isTimeLimited: false },
    );
  } catch (error) {
    if (differences !== null) return differences;
    const why = NOT_COMPARABLE[codeOf(error)];
    throw why === undefined ? error : new AppError('SCHEMA_NOT_COMPARABLE', why);
  }
}

/**
 * Describes the tables of the current schema and all that belongs to them, except invalid indexes, which REINDEX leaves for
 * a while. The server writes names without this schema.
 */
export async function postgresObjects(trx: Trx | Db): Promise<SchemaObject[]> {
  const { rows } = await sql<SchemaObject>`
    with relations as (
      select c.* from pg_class c join pg_namespace n on n.oid = c.relnamespace
      where n.nspname = current_schema() and c.relkind in ('r', 'p', 'v', 'm', 'f')
    )
    select case relkind when 'r' then 'table' when 'v' then 'view' else 'relation' end || ' ' || relname as name,
      relname as "on", concat_ws(' ', relkind, relpersistence, relrowsecurity, relforcerowsecurity) as definition
    from relations
    union all
    select concat('column ', c.relname, '.', a.attname), c.relname,
      concat_ws(' ', format_type(a.atttypid, a.atttypmod), a.attnotnull, a.attidentity, a.attgenerated,
        (select collname from pg_collation where oid = a.attcollation), pg_get_expr(d.adbin, d.adrelid))
    from relations c join pg_attribute a on a.attrelid = c.oid
    left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
    where a.attnum > 0 and not a.attisdropped
    union all
    -- NOT NULL is part of the column: only some versions have constraints of it.
    select concat('constraint ', c.relname, '.', k.conname), c.relname,
      concat_ws(' ', pg_get_constraintdef(k.oid, true), k.convalidated)
    from relations c join pg_constraint k on k.conrelid = c.oid where k.contype not in ('n', 't')
    union all
    select concat('index ', x.relname), c.relname, pg_get_indexdef(i.indexrelid, 0, true)
    from relations c join pg_index i on i.indrelid = c.oid join pg_class x on x.oid = i.indexrelid
    where i.indisvalid
    union all
    select concat('trigger ', c.relname, '.', t.tgname), c.relname,
      concat_ws(' ', pg_get_triggerdef(t.oid, true), t.tgenabled)
    from relations c join pg_trigger t on t.tgrelid = c.oid where not t.tgisinternal
    union all
    select concat('rule ', c.relname, '.', r.rulename), c.relname,
      concat_ws(' ', pg_get_ruledef(r.oid, true), r.ev_enabled)
    from relations c join pg_rewrite r on r.ev_class = c.oid
    union all
    select concat('policy ', c.relname, '.', p.polname), c.relname,
      concat_ws(' ', p.polcmd, p.polpermissive, pg_get_expr(p.polqual, p.polrelid),
        pg_get_expr(p.polwithcheck, p.polrelid))
    from relations c join pg_policy p on p.polrelid = c.oid
    union all
    select concat('child ', c.relname, '.', h.inhrelid::regclass), c.relname, ''
    from relations c join pg_inherits h on h.inhparent = c.oid
    union all
    -- The functions that triggers call, by table. Other programs' functions do not count.
    select concat('function ', c.relname, '.', f.proname), c.relname,
      concat_ws(' ', f.prosrc, f.prosecdef, f.proconfig, l.lanname)
    from relations c join pg_trigger t on t.tgrelid = c.oid join pg_proc f on f.oid = t.tgfoid
    join pg_language l on l.oid = f.prolang
    where not t.tgisinternal
    group by c.relname, f.oid, l.lanname`.execute(trx);
  return rows;
}

/** Objects on tables of other programs do not count: Litestream, for example, keeps tables in a SQLite file. */
function differencesOf(expected: readonly SchemaObject[], actual: readonly SchemaObject[]) {
  const there = new Map(actual.map((object) => [object.name, object]));
  const known = new Set(expected.map(({ name }) => name));
  const tables = new Set(expected.map(({ on }) => on));
  const differences: SchemaDifference[] = [];
  for (const { name, on, definition } of expected) {
    const object = there.get(name);
    if (object === undefined) differences.push({ object: name, rule: 'is missing' });
    else if (object.on !== on || object.definition !== definition) {
      differences.push({ object: name, rule: 'is not what the migrations create' });
    }
  }
  for (const { name, on } of actual) {
    if (tables.has(on) && !known.has(name)) differences.push({ object: name, rule: 'was added' });
  }
  return differences;
}
