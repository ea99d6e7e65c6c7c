import { globSync, readFileSync } from 'node:fs';
import t from 'tap';

const ROOT = new URL('..', import.meta.url);

/** Copying, integrity checks and migrations work on every table. */
const EXEMPT = /^src\/(database\/(migrate|schema-check|integrity\S*|shrink)|operations\/copy)\.ts$/;

function textOf(path: string): string {
  return readFileSync(new URL(path, ROOT), 'utf8');
}

/** The owner of each table: a module, or a room of payroll. */
const TABLES = {
  database: ['instance', 'retention'],
  security: ['tokens', 'sessions', 'audit_records', 'audit_head', 'hash_keys'],
  ledger: [
    ...'ledger_head deduction_versions deductions deduction_employees start_decisions'.split(' '),
    ...'roster_facts roster'.split(' '),
  ],
  outbox: ['outbox', 'delivery_attempts', 'circuit_breaker'],
  inbox: ['inbox', 'event_conflicts', 'conflicted_events', 'refused_signatures', 'data_losses'],
  census: ['staged_censuses', 'census_chunks', 'census_fingerprints', 'census_syncs', 'census_completions'],
  employment: ['change_keys'],
  'payroll/settings': ['payroll_head', 'pay_schedules', 'payroll_codes', 'payroll_policies'],
  'payroll/records': ['payroll_runs', 'run_freezes', 'run_employees', 'run_settlements', 'run_inputs'],
  'payroll/facts': ['taken_reports', 'taken_lines'],
  'payroll/lifecycle': ['accepted_failures'],
};
const OWNERS = new Map(
  Object.entries(TABLES).flatMap(([owner, tables]) => tables.map((table) => [table, owner] as const)),
);

/** The tables that a file names in SQL, in a query builder or in text. */
function tablesOf(source: string): string[] {
  const text = source.replace(/^\s*(?:\*|\/\/|\/\*).*$/gm, '');
  const built = text.matchAll(
    /(?:selectFrom|insertInto|updateTable|deleteFrom|(?:inner|left|right|full)Join|insertMany)\(\s*(?:\w+,\s*)?\[?['`](\w+)/g,
  );
  const written = text.matchAll(/\b(?:from|join|into|update)\s+(\w+)/g);
  return [...built, ...written].map(([, table = '']) => table);
}

t.test('every table has an owner', (t) => {
  const created = globSync('db/sqlite/*.sql', { cwd: ROOT }).flatMap((file) =>
    [...textOf(file).matchAll(/^CREATE TABLE (\w+)/gm)].map(([, table = '']) => table),
  );
  t.strictSame([...OWNERS.keys()].sort(), created.sort());
  t.end();
});

// Any folder may join its own table to a query that the owner exports, and then names columns of that query.
t.test('only the owner names a table in SQL', (t) => {
  const found = new Set<string>();
  for (const file of globSync('src/**/*.ts', { cwd: ROOT })) {
    if (EXEMPT.test(file)) continue;
    for (const table of tablesOf(textOf(file))) {
      const owner = OWNERS.get(table);
      if (owner !== undefined && !file.startsWith(`src/${owner}/`)) found.add(`${file} ${table}`);
    }
  }
  t.strictSame([...found], [], 'tables used outside the folder that owns them');
  t.end();
});

t.test('a use in the query builder and a use in text are both found', (t) => {
  const text =
    "db.selectFrom('inbox'); await insertMany(trx, 'outbox', columns, rows); sql`select 1\n  from roster`";
  t.strictSame(tablesOf(text), ['inbox', 'outbox', 'roster']);
  t.end();
});
