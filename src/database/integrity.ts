import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import { sql } from 'kysely';
import { codeOf, isAppError } from '../errors.ts';
import type { Verifying } from './difference.ts';
import { engineOf } from './engine.ts';
import { isFatal } from './errors.ts';
import type { TableChecked } from './integrity-entry.ts';
import { fileOf } from './open.ts';
import { compareSchema } from './schema-check.ts';
import type { Db, Tables } from './tables.ts';
import { transact } from './transaction.ts';

export type EngineCheck = {
  name: string;
  /** `skipped`: the engine as configured can't check it; `detail` has the reason. */
  result: 'pass' | 'fail' | 'skipped';
  detail: string;
};

/** Next to this file, as source and as built code. */
const ENTRY = new URL(`./integrity-entry${extname(import.meta.url)}`, import.meta.url);

/** The number of findings reported per check. */
const SHOWN = 5;
/** Missing rows that are reported for each foreign key on PostgreSQL. */
const REFERENCES_NAMED = 1_000;

/** PostgreSQL's codes. */
const NOT_ALLOWED = '42501';
const INDEX_CORRUPTED = 'XX002';

/**
 * Runs the engine's own checks and compares the schema. SQLite checks each table with its indexes and references, one at
 * a time, so that no check keeps the log from starting over for long. PostgreSQL reports failed checksums of pages, and
 * with the extension `amcheck` it checks every index. Its references are checked too, because a superuser can switch them off.
 */
export async function checkEngine(db: Db, on: Verifying): Promise<EngineCheck[]> {
  const isSqlite = engineOf(db) === 'sqlite';
  const checks = isSqlite
    ? [await checkSqlite(db, on)]
    : [await checksums(db), await checkReferences(db, on), await amcheck(db, on)];
  return [...checks, await checkSchemaObjects(db, on)];
}

async function checkSchemaObjects(db: Db, { report }: Verifying): Promise<EngineCheck> {
  const name = 'schema';
  try {
    const differences = await compareSchema(db);
    for (const { object, rule } of differences) report('migrations', object, 'schema', rule);
    const findings = differences.map(({ object, rule }) => `${object} ${rule}`);
    return checked(name, findings, 'it is what the migrations create');
  } catch (error) {
    if (isAppError(error, 'SCHEMA_NOT_COMPARABLE')) return { name, result: 'skipped', detail: error.message };
    if (!isFatal(error)) throw error;
    const rule = `cannot be read (${codeOf(error)})`;
    report('migrations', '-', 'schema', rule);
    return checked(name, [rule], '');
  }
}

/** Runs on its own thread, so that this one can be interrupted and check everything else. */
async function checkSqlite(db: Db, { report, signal }: Verifying): Promise<EngineCheck> {
  const worker = new Worker(ENTRY, { workerData: { path: await fileOf(db) } });
  const findings: string[] = [];
  const ended = Promise.withResolvers<void>();
  worker.on('message', (checked: TableChecked) => {
    const table = checked.table as keyof Tables;
    for (const { row, columns, parent } of checked.dangling) {
      const rule = `refers to a row of ${parent} that does not exist`;
      report(table, row === null ? '-' : `row ${row}`, columns, rule);
      findings.push(`${table}: ${columns} ${rule}`);
    }
    if (checked.findings.length === 0) return;
    findings.push(...checked.findings.map((text) => `${table}: ${text}`));
    report(table, '-', '-', 'is damaged, according to the database engine');
  });
  worker.on('error', ended.reject);
  worker.on('exit', (code) => {
    if (code === 0) ended.resolve();
    else ended.reject(new Error('the check of the engine ended early'));
  });
  const stop = (): void => ended.reject(signal.reason);
  signal.addEventListener('abort', stop, { once: true });
  try {
    await ended.promise;
  } finally {
    signal.removeEventListener('abort', stop);
    await worker.terminate();
  }
  return checked('integrity_check', findings, 'every table and index is whole');
}

async function checksums(db: Db): Promise<EngineCheck> {
  const name = 'data_checksums';
  const { rows } = await sql<{ enabled: string; failures: number | null }>`
    select current_setting('data_checksums') as enabled,
      (select checksum_failures from pg_stat_database where datname = current_database()) as failures`.execute(
    db,
  );
  const [row] = rows;
  if (row?.enabled !== 'on') {
    return { name, result: 'skipped', detail: 'pages carry no checksums (initdb --data-checksums)' };
  }
  const failures = Number(row.failures ?? 0);
  return checked(name, failures > 0 ? [`${failures} pages failed`] : [], 'no page failed');
}

/** Checks that every row that another row refers to exists. */
async function checkReferences(db: Db, { report, signal }: Verifying): Promise<EngineCheck> {
  const findings: string[] = [];
  const keys = await sql<{ table: string; parent: string; columns: string[]; parent_columns: string[] }>`
    select conrelid::regclass::text as table, confrelid::regclass::text as parent,
      array(select attname::text from unnest(conkey) with ordinality as key (number, place)
        join pg_attribute on attrelid = conrelid and attnum = number order by place) as columns,
      array(select attname::text from unnest(confkey) with ordinality as key (number, place)
        join pg_attribute on attrelid = confrelid and attnum = number order by place) as parent_columns
    from pg_constraint where contype = 'f' and connamespace = current_schema()::regnamespace
    order by 1, conname`.execute(db);
  for (const { table, parent, columns, parent_columns } of keys.rows) {
    signal.throwIfAborted();
    const refer = columns.map(
      (column, index) => sql`${sql.ref(`child.${column}`)} = ${sql.ref(`parent.${parent_columns[index]}`)}`,
    );
    const values = sql.join(columns.map((column) => sql.ref(`child.${column}`)));
    const dangling = sql<{ id: string }>`
      select distinct concat_ws('/', ${values}) as id from ${sql.table(table)} child
      where num_nulls(${values}) = 0
        and not exists (select 1 from ${sql.table(parent)} parent where ${sql.join(refer, sql` and `)})
      order by 1 limit ${sql.lit(REFERENCES_NAMED)}`;
    const { rows } = await transact(db, (trx) => dangling.execute(trx), { isTimeLimited: false });
    const rule = `refers to a row of ${parent} that does not exist`;
    for (const { id } of rows) report(table as keyof Tables, id, columns.join(', '), rule);
    if (rows.length > 0) findings.push(`${table}: ${columns.join(', ')} ${rule}`);
  }
  return checked('foreign_keys', findings, 'every row that another row refers to exists');
}

/** Checks every index of this schema, if the extension is installed and this user may use it. */
async function amcheck(db: Db, { report, signal }: Verifying): Promise<EngineCheck> {
  const name = 'amcheck';
  const installed = await sql`select 1 from pg_extension where extname = 'amcheck'`.execute(db);
  if (installed.rows.length === 0) {
    return { name, result: 'skipped', detail: 'the extension is not installed (CREATE EXTENSION amcheck)' };
  }
  const findings: string[] = [];
  const { rows } = await sql<{ id: number; index: string; table: string }>`
    select c.oid::int8 as id, c.relname as index, t.relname as "table" from pg_index i
    join pg_class c on c.oid = i.indexrelid join pg_class t on t.oid = i.indrelid
    join pg_am a on a.oid = c.relam
    where a.amname = 'btree' and t.relnamespace = current_schema()::regnamespace order by c.relname`.execute(
    db,
  );
  for (const { id, index, table } of rows) {
    signal.throwIfAborted();
    try {
      const check = sql`select bt_index_check(${sql.lit(id)}::oid::regclass, true)`;
      await transact(db, (trx) => check.execute(trx), { isTimeLimited: false });
    } catch (error) {
      const detail = 'this user may not use it (GRANT EXECUTE ON FUNCTION bt_index_check)';
      if (codeOf(error) === NOT_ALLOWED) return { name, result: 'skipped', detail };
      if (codeOf(error) !== INDEX_CORRUPTED) throw error;
      findings.push(`${index}: is damaged`);
      report(table as keyof Tables, '-', index, 'the index is damaged: REINDEX it');
    }
  }
  return checked(name, findings, `${rows.length} indexes are whole`);
}

function checked(name: string, findings: readonly string[], whole: string): EngineCheck {
  if (findings.length === 0) return { name, result: 'pass', detail: whole };
  const more = findings.length > SHOWN ? `, and ${findings.length - SHOWN} more` : '';
  return { name, result: 'fail', detail: `${findings.slice(0, SHOWN).join('; ')}${more}` };
}
