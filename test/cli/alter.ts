/** Changes stored values past triggers, and past constraints where the engine allows it. */
import BetterSqlite3 from 'better-sqlite3';
import { Client } from 'pg';
import type { Test } from 'tap';
import { sqlitePath } from '../../src/database/open.ts';

type Value = string | number | Buffer | null;
type Row = Record<string, Value>;

/** One value of one row. The row is identified by all its other columns. */
type Change = { table: string; row: Row; column: string; to: Value };

type Altering = {
  row(table: string, where: string): Promise<Row>;
  /** False if the engine itself rejects the value. */
  alter(change: Change): Promise<boolean>;
  undo(change: Change): Promise<void>;
  /** Whether the engine's own check reports a broken constraint. */
  isRefused(): Promise<boolean>;
  run(statement: string): Promise<void>;
};

type Execute = (statement: string, values: Value[]) => Promise<{ rows: Row[]; changed: number }>;

export async function altering(t: Test, databaseUrl: string): Promise<Altering> {
  const execute = databaseUrl.startsWith('sqlite:')
    ? onSqlite(t, databaseUrl)
    : await onPostgres(t, databaseUrl);
  const update = async ({ table, row, column }: Change, from: Value, to: Value): Promise<boolean> => {
    const values: Value[] = [to];
    const conditions = Object.entries({ ...row, [column]: from }).map(([name, value]) => {
      if (value === null) return `${name} is null`;
      values.push(value);
      return `${name} = $${values.length}`;
    });
    try {
      const where = conditions.join(' and ');
      const { changed } = await execute(`update ${table} set ${column} = $1 where ${where}`, values);
      if (changed !== 1) throw new Error(`${changed} rows of ${table} were altered in ${column}`);
      return true;
    } catch (error) {
      // Constraints, and texts that are not numbers.
      if (/^SQLITE_CONSTRAINT|^2[23]/.test((error as { code?: string }).code ?? '')) return false;
      throw error;
    }
  };
  return {
    async row(table, where) {
      const { rows } = await execute(`select * from ${table} where ${where}`, []);
      if (rows[0] === undefined) throw new Error(`there is no row of ${table} where ${where}`);
      return rows[0];
    },
    alter: (change) => update(change, change.row[change.column] as Value, change.to),
    async undo(change) {
      await update(change, change.to, change.row[change.column] as Value);
    },
    async isRefused() {
      if (!databaseUrl.startsWith('sqlite:')) return false;
      // Not the handle that changed the row: one that ignores constraints, or only reads, finds none broken.
      const handle = new BetterSqlite3(sqlitePath(databaseUrl));
      try {
        return handle.pragma('integrity_check', { simple: true }) !== 'ok';
      } finally {
        handle.close();
      }
    },
    async run(statement) {
      await execute(statement, []);
    },
  };
}

function onSqlite(t: Test, databaseUrl: string): Execute {
  const handle = new BetterSqlite3(sqlitePath(databaseUrl));
  t.teardown(() => handle.close());
  handle.pragma('ignore_check_constraints = ON');
  handle.pragma('foreign_keys = OFF');
  const listed = "select name, sql from sqlite_schema where type = 'trigger'";
  const triggers = handle.prepare<[], { name: string; sql: string }>(listed).all();
  // `verify` compares the schema, so the triggers are restored after each statement.
  const untriggered = handle.transaction((text: string, values: Value[]) => {
    for (const { name } of triggers) handle.exec(`drop trigger ${name}`);
    const numbered = Object.fromEntries(values.map((value, index) => [index + 1, value]));
    const { changes } = handle.prepare(text).run(numbered);
    for (const { sql } of triggers) handle.exec(sql);
    return changes;
  });
  return async (text, values) => {
    const numbered = text.replaceAll(/\$(\d+)/g, '?$1');
    const statement = handle.prepare(numbered);
    if (statement.reader) return { rows: statement.all(values) as Row[], changed: 0 };
    return { rows: [], changed: untriggered(numbered, values) };
  };
}

async function onPostgres(t: Test, databaseUrl: string): Promise<Execute> {
  const client = new Client(databaseUrl);
  await client.connect();
  t.teardown(() => client.end());
  await client.query('set session_replication_role = replica');
  return async (text, values) => {
    const { rows, rowCount } = await client.query(text, values);
    return { rows, changed: rowCount ?? 0 };
  };
}

/** Returns another value of the same type: a different last character, number or middle byte. */
export function altered(value: Value): Value {
  if (value === null) return 'x';
  if (typeof value === 'number') return value + 1;
  if (typeof value === 'string') return `${value.slice(0, -1)}${value.endsWith('8') ? '9' : '8'}`;
  const bytes = Buffer.from(value);
  const middle = bytes.length >> 1;
  bytes[middle] = (bytes[middle] as number) ^ 1;
  return bytes;
}
