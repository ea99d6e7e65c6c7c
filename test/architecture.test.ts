import { execFile } from 'node:child_process';
import { cpSync, globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t, { type Test } from 'tap';

const PROJECT = fileURLToPath(new URL('../', import.meta.url));

/** Returns the violations in a folder with these files, as `rule: from -> to`, sorted. */
async function violations(t: Test, files: Readonly<Record<string, string>>): Promise<string[]> {
  const folder = t.testdir();
  cpSync(join(PROJECT, '.dependency-cruiser.cjs'), join(folder, '.dependency-cruiser.cjs'));
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  const cruiser = join(PROJECT, 'node_modules/dependency-cruiser/bin/dependency-cruiser.mjs');
  const report = await new Promise<string>((resolve, reject) => {
    const options = [cruiser, '--output-type', 'json', 'src'];
    execFile(process.execPath, options, { cwd: folder }, (_failed, output, errors) => {
      // It exits with the number of violations; only a run without a report went wrong.
      if (output.startsWith('{')) resolve(output);
      else reject(new Error(`dependency-cruiser did not run: ${errors}`));
    });
  });
  const { summary } = JSON.parse(report) as {
    summary: { violations: { from: string; to: string; rule: { name: string } }[] };
  };
  return summary.violations.map(({ rule, from, to }) => `${rule.name}: ${from} -> ${to}`).sort();
}

t.test(
  'a module imports only from rows below its own, without cycles, in a folder that has a row',
  async (t) => {
    const found = await violations(t, {
      'src/api/server.ts': 'export type Server = { port: number };',
      'src/inbox/apply.ts': 'export const apply = 1;',
      'src/ledger/type-of-above.ts': "export type { Server } from '../api/server.ts';",
      'src/outbox/dynamic.ts': "export const load = () => import('../inbox/apply.ts');",
      'src/inbox/below.ts': "import { load } from '../outbox/dynamic.ts';\nexport const store = load;",
      'src/census/a.ts': 'export const a = 1;',
      'src/employment/same-row.ts': "export * from '../census/a.ts';",
      'src/ledger/a.ts': "import type { B } from './b.ts';\nexport type A = { b: B };",
      'src/ledger/b.ts': "import type { A } from './a.ts';\nexport type B = { a: A };",
      'src/helpers/a.ts': "import { b } from './b.ts';\nexport const a = b;",
      'src/helpers/b.ts': 'export const b = 1;',
      'src/dev/demo.ts': "export * from '../simulator/world.ts';",
      'src/simulator/world.ts': 'export const world = 1;',
      'src/cli/demo.ts': "export * from '../simulator/world.ts';",
      'src/index.ts': "export * from './dev/demo.ts';",
    });
    t.strictSame(found, [
      'every-module-has-a-row: src/helpers/a.ts -> src/helpers/b.ts',
      'no-circular: src/ledger/a.ts -> src/ledger/b.ts',
      'no-production-module-simulates: src/cli/demo.ts -> src/simulator/world.ts',
      'no-production-module-simulates: src/index.ts -> src/dev/demo.ts',
      'order-employment: src/employment/same-row.ts -> src/census/a.ts',
      'order-index.ts: src/index.ts -> src/dev/demo.ts',
      'order-ledger: src/ledger/type-of-above.ts -> src/api/server.ts',
      'order-outbox: src/outbox/dynamic.ts -> src/inbox/apply.ts',
    ]);
  },
);

t.test('every path that an override of biome.json names exists', async (t) => {
  const { overrides } = JSON.parse(readFileSync(join(PROJECT, 'biome.json'), 'utf8'));
  const paths: string[] = overrides.flatMap(({ includes }: { includes: string[] }) => includes);
  for (const path of paths) t.ok(globSync(path.replace(/^!/, ''), { cwd: PROJECT }).length > 0, path);
});

const ROOT = new URL('..', import.meta.url);

/** Copying, integrity checks and migrations work on every table. */
const EXEMPT = /^src\/(database\/(migrate|schema-check|integrity\S*)|operations\/copy)\.ts$/;

function textOf(path: string): string {
  return readFileSync(new URL(path, ROOT), 'utf8');
}

/** The owner of each table: a module, or a room of payroll. */
const TABLES = {
  database: 'instance retention',
  security: 'tokens sessions audit_records audit_head hash_keys',
  notifications: 'notifications notification_known notification_head',
  ledger: `ledger_head deduction_versions deductions deduction_assignments
    roster_facts roster`,
  outbox: 'outbox delivery_attempts circuit_breaker pilot',
  inbox: 'inbox event_conflicts conflicted_events refused_signatures data_losses contract_changes',
  census: 'staged_censuses census_chunks census_fingerprints census_syncs census_completions',
  employment: 'change_keys',
  names: 'employee_names',
  'payroll/settings':
    'payroll_head pay_schedules payroll_codes payroll_policies approval_settings file_formats',
  'payroll/records': `payroll_runs run_freezes run_employees run_settlements run_inputs run_computations
    run_approvals`,
  'payroll/facts': 'taken_reports taken_lines opening_items item_decisions run_overrides',
  'payroll/lifecycle': 'accepted_findings',
};
const OWNERS = new Map(
  Object.entries(TABLES).flatMap(([owner, tables]) =>
    tables.split(/\s+/).map((table) => [table, owner] as const),
  ),
);

/** The tables that a file names in SQL, in a query builder or in text. */
function tablesOf(source: string): string[] {
  const text = source.replace(/^\s*(?:\*|\/\/|\/\*).*$/gm, '');
  const built = text.matchAll(
    /(?:selectFrom|insertInto|updateTable|deleteFrom|(?:inner|left|right|full)Join|insertMany|employersIn)\(\s*(?:\w+,\s*)?\[?['`](\w+)/g,
  );
  const written = text.matchAll(/\b(?:from|join|into|update)\s+(\w+)/g);
  return [...built, ...written].map(([, table = '']) => table);
}

t.test('every table has an owner', async (t) => {
  const created = globSync('db/*.sql', { cwd: ROOT }).flatMap((file) =>
    [...textOf(file).matchAll(/^CREATE TABLE (\w+)/gm)].map(([, table = '']) => table),
  );
  t.strictSame([...OWNERS.keys()].sort(), created.sort());
});

// Any folder may join its own table to a query that the owner exports, and then names columns of that query.
t.test('only the owner names a table in SQL', async (t) => {
  const found = new Set<string>();
  for (const file of globSync('src/**/*.ts', { cwd: ROOT })) {
    if (EXEMPT.test(file)) continue;
    for (const table of tablesOf(textOf(file))) {
      const owner = OWNERS.get(table);
      if (owner !== undefined && !file.startsWith(`src/${owner}/`)) found.add(`${file} ${table}`);
    }
  }
  t.strictSame([...found], [], 'tables used outside the folder that owns them');
});

t.test('a use in the query builder and a use in text are both found', async (t) => {
  const built = "db.selectFrom('inbox'); await insertMany(trx, 'outbox', columns, rows)";
  t.strictSame(tablesOf(`${built}; sql'select 1\n  from roster'`), ['inbox', 'outbox', 'roster']);
});

t.test('a list with more entries than its pattern does not match', async (t) => {
  t.notMatch({ findings: [{ id: 'a' }, { id: 'b' }] }, { findings: [{ id: 'a' }] });
  t.notMatch(['a'], []);
  t.match([{ id: 'a', more: 1 }], [{ id: 'a' }]);
});
