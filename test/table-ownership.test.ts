import { globSync, readFileSync } from 'node:fs';
import t from 'tap';

const ROOT = new URL('..', import.meta.url);

/** Copying, integrity checks and migrations work on every table. */
const EXEMPT = /^src\/(database\/(migrate|schema-check|integrity\S*|shrink)|operations\/copy)\.ts$/;

function textOf(path: string): string {
  return readFileSync(new URL(path, ROOT), 'utf8');
}

/** The owners by the names of the files, `NNNN_module.sql`. */
function ownersOfTables(): Map<string, string> {
  const owners = new Map<string, string>();
  for (const file of globSync('db/sqlite/*.sql', { cwd: ROOT })) {
    const name = file.replace(/^.*\d{4}_|\.sql$/g, '');
    for (const [, table = ''] of textOf(file).matchAll(/^CREATE TABLE (\w+)/gm)) {
      owners.set(table, name);
    }
  }
  return owners;
}

/** The tables that a file names in SQL, in a query builder or in text. */
function tablesOf(source: string): string[] {
  const text = source.replace(/^\s*(?:\*|\/\/|\/\*).*$/gm, '');
  const built = text.matchAll(
    /(?:selectFrom|insertInto|updateTable|deleteFrom|(?:inner|left|right|full)Join|insertMany)\(\s*(?:\w+,\s*)?\[?['`](\w+)/g,
  );
  const written = text.matchAll(/\b(?:from|join|into|update)\s+(\w+)/g);
  return [...built, ...written].map(([, table = '']) => table);
}

// A module may join its own table to a query that the owner exports, and then names columns of that query.
t.test('only the owning module names a table in SQL', (t) => {
  const owners = ownersOfTables();
  t.ok(owners.size > 30, 'the tables are read from the migrations');
  const found = new Set<string>();
  for (const file of globSync('src/**/*.ts', { cwd: ROOT })) {
    const module = file.split('/')[1] as string;
    if (EXEMPT.test(file)) continue;
    for (const table of tablesOf(textOf(file))) {
      const owner = owners.get(table);
      if (owner !== undefined && owner !== module) found.add(`${module} ${table}`);
    }
  }
  t.strictSame([...found], [], 'tables used outside the module that owns them');
  t.end();
});

t.test('a use in the query builder and a use in text are both found', (t) => {
  const text =
    "db.selectFrom('inbox'); await insertMany(trx, 'outbox', columns, rows); sql`select 1\n  from roster`";
  t.strictSame(tablesOf(text), ['inbox', 'outbox', 'roster']);
  t.end();
});
