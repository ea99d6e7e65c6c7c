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

t.test('a module never imports from a row above, not even a type or dynamically', async (t) => {
  const found = await violations(t, {
    'src/api/server.ts': 'export type Server = { port: number };',
    'src/inbox/apply.ts': 'export const apply = 1;',
    'src/ledger/fold.ts': "export type { Server } from '../api/server.ts';",
    'src/outbox/queue.ts': "export const load = () => import('../inbox/apply.ts');",
    'src/inbox/store.ts': "import { load } from '../outbox/queue.ts';\nexport const store = load;",
  });
  t.strictSame(found, [
    'order-ledger: src/ledger/fold.ts -> src/api/server.ts',
    'order-outbox: src/outbox/queue.ts -> src/inbox/apply.ts',
  ]);
});

t.test('modules in one row do not import each other', async (t) => {
  const found = await violations(t, {
    'src/census/a.ts': 'export const a = 1;',
    'src/employment/b.ts': "export * from '../census/a.ts';",
  });
  t.strictSame(found, ['order-employment: src/employment/b.ts -> src/census/a.ts']);
});

t.test('a cycle of type imports is found', async (t) => {
  const found = await violations(t, {
    'src/ledger/a.ts': "import type { B } from './b.ts';\nexport type A = { b: B };",
    'src/ledger/b.ts': "import type { A } from './a.ts';\nexport type B = { a: A };",
  });
  t.strictSame(found, ['no-circular: src/ledger/a.ts -> src/ledger/b.ts']);
});

t.test('a folder outside the order is rejected', async (t) => {
  const found = await violations(t, {
    'src/helpers/a.ts': "import { b } from './b.ts';\nexport const a = b;",
    'src/helpers/b.ts': 'export const b = 1;',
  });
  t.strictSame(found, ['every-module-has-a-row: src/helpers/a.ts -> src/helpers/b.ts']);
});

t.test('every path that an override of biome.json names exists', async (t) => {
  const { overrides } = JSON.parse(readFileSync(join(PROJECT, 'biome.json'), 'utf8'));
  const paths: string[] = overrides.flatMap(({ includes }: { includes: string[] }) => includes);
  for (const path of paths) t.ok(globSync(path.replace(/^!/, ''), { cwd: PROJECT }).length > 0, path);
});
