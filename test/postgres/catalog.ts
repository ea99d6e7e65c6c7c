/** The schema as each engine's catalog describes it, in comparable words. */
import { type RawBuilder, sql } from 'kysely';
import type { Db } from '../../src/database/tables.ts';

type Table = {
  /** Columns as `name type`, with `required` and the default if present, in order. */
  columns: string[];
  /** `primary (…)`, `unique (…)` and `index (…)`, each with its condition, and `foreign (…) of TABLE (…)`. */
  keys: string[];
  /** The values allowed by the checks. */
  words: string[];
};

type Column = { name: string; type: string; required: boolean | 0 | 1; otherwise: string | null };
type Key = { kind: 'primary' | 'unique' | 'index' | 'foreign'; columns: string; condition: string | null };

/** The common type names. */
const HOLDS: Record<string, string> = {
  INTEGER: 'number',
  integer: 'number',
  bigint: 'number',
  TEXT: 'text',
  text: 'text',
  BLOB: 'bytes',
  bytea: 'bytes',
};

export async function catalogOfSqlite(db: Db): Promise<Map<string, Table>> {
  const tables = await rowsOf(
    db,
    sql<{ name: string; text: string }>`
      select name, sql as text from sqlite_schema where type = 'table' and name not like 'sqlite_%'`,
  );
  const catalog = new Map<string, Table>();
  for (const { name, text } of tables) {
    const columns = sql<Column>`
      select name, type, "notnull" as required, dflt_value as otherwise from pragma_table_info(${name})`;
    const primary = sql<Key>`
      select 'primary' as kind, group_concat(name, ', ' order by pk) as columns, null as condition
      from pragma_table_info(${name}) where pk > 0`;
    const others = sql<Key>`
      select iif(list."unique", 'unique', 'index') as kind, iif(partial, sql, null) as condition,
        (select group_concat(coalesce(name, 'expression'), ', ' order by seqno) from pragma_index_info(list.name)) as columns
      from pragma_index_list(${name}) as list left join sqlite_schema on sqlite_schema.name = list.name
      where origin <> 'pk'`;
    const foreign = sql<Key>`
      select 'foreign' as kind, group_concat("from", ', ' order by seq) || ') of ' || "table" || ' (' ||
        group_concat("to", ', ' order by seq) as columns, 'where ' || on_update || ' ' || on_delete as condition
      from pragma_foreign_key_list(${name}) group by id, "table", on_update, on_delete`;
    const keys = (await Promise.all([primary, others, foreign].map((query) => rowsOf(db, query)))).flat();
    const checks = [text.replace(/--.*$/gm, '')];
    catalog.set(name, tableOf(await rowsOf(db, columns), keys, checks));
  }
  return catalog;
}

export async function catalogOfPostgres(db: Db): Promise<Map<string, Table>> {
  const tables = await rowsOf(
    db,
    sql<{ oid: number; name: string }>`
      select oid, relname as name from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace`,
  );
  const catalog = new Map<string, Table>();
  for (const { oid, name } of tables) {
    const columns = sql<Column>`
      select attname as name, format_type(atttypid, atttypmod) as type, attnotnull as required,
        pg_get_expr(adbin, adrelid) as otherwise
      from pg_attribute left join pg_attrdef on adrelid = attrelid and adnum = attnum
      where attrelid = ${oid} and attnum > 0 and not attisdropped order by attnum`;
    const keys = sql<Key>`
      select case when indisprimary then 'primary' when indisunique then 'unique' else 'index' end as kind,
        (select string_agg(coalesce(attname, 'expression'), ', ' order by place)
          from unnest(indkey) with ordinality as part (attnum, place)
          left join pg_attribute on attrelid = indrelid and pg_attribute.attnum = part.attnum) as columns,
        'where ' || pg_get_expr(indpred, indrelid) as condition
      from pg_index where indrelid = ${oid}`;
    const foreign = sql<Key>`
      select 'foreign' as kind, (select string_agg(attname, ', ' order by place)
          from unnest(conkey) with ordinality as part (attnum, place)
          join pg_attribute on attrelid = conrelid and pg_attribute.attnum = part.attnum)
        || ') of ' || confrelid::regclass || ' (' || (select string_agg(attname, ', ' order by place)
          from unnest(confkey) with ordinality as part (attnum, place)
          join pg_attribute on attrelid = confrelid and pg_attribute.attnum = part.attnum) as columns,
        case when confupdtype = 'a' and confdeltype = 'a' then 'where no action no action' end as condition
      from pg_constraint where conrelid = ${oid} and contype = 'f'`;
    const checks = sql<{ text: string }>`
      select pg_get_constraintdef(oid) as text from pg_constraint where conrelid = ${oid} and contype = 'c'`;
    const texts = (await rowsOf(db, checks)).map(({ text }) => text);
    const all = [...(await rowsOf(db, keys)), ...(await rowsOf(db, foreign))];
    catalog.set(name, tableOf(await rowsOf(db, columns), all, texts));
  }
  return catalog;
}

async function rowsOf<R>(db: Db, query: RawBuilder<R>): Promise<R[]> {
  return (await query.execute(db)).rows;
}

function tableOf(columns: readonly Column[], keys: readonly Key[], checks: readonly string[]): Table {
  return {
    columns: columns.map(({ name, type, required, otherwise }) =>
      [name, HOLDS[type] ?? type, required ? 'required' : '', otherwise ?? ''].join(' ').trim(),
    ),
    keys: keys.map((key) => `${key.kind} (${key.columns})${conditionOf(key)}`).sort(),
    words: [...new Set(checks.join('\n').match(/'[^']*'/g))].sort(),
  };
}

/** Normalizes a condition: each engine adds its own brackets, casts and spaces. */
function conditionOf({ condition }: Key): string {
  const [, of] = /\bwhere\b(.*)/is.exec(condition ?? '') ?? [];
  if (of === undefined) return '';
  const plain = of.toLowerCase().replace(/::\w+|\bcast(?=\()| as integer|[()]/g, '');
  return ` where ${plain.replace(/\s+/g, ' ').trim()}`;
}
