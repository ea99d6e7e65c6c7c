import { existsSync, readdirSync } from 'node:fs';
import t from 'tap';
import { lint, scratchHouse } from './house/lint.ts';
import { ROOMS } from './house/rooms.ts';

const rooms = Object.keys(ROOMS);

/** The findings of these categories as `path:line category`, sorted. */
async function found(folder: string, ...categories: string[]): Promise<string[]> {
  const findings = await lint(folder);
  return findings
    .filter(({ category }) => categories.includes(category))
    .map(({ path, line, category }) => `${path}:${line} ${category}`)
    .sort();
}

t.test('the house keeps its own rules', async (t) => {
  const findings = await lint();
  t.strictSame(
    findings.filter(({ severity }) => severity === 'error'),
    [],
  );
});

t.test('every folder of src is a room with its place in the order', async (t) => {
  const folders = readdirSync(new URL('../src/', import.meta.url), { withFileTypes: true });
  const unplaced = folders.filter((entry) => entry.isDirectory() && !rooms.includes(entry.name));
  t.strictSame(
    unplaced.map((entry) => entry.name),
    [],
    'place a new room in test/house/rooms.ts and in biome.json',
  );
});

t.test('a room imports the rooms before it and no others, at any depth and in any way', async (t) => {
  const files: Record<string, string> = {};
  const expected: string[] = [];
  for (const room of rooms) {
    for (const other of rooms.filter((name) => name !== room)) {
      const imports = (up: string) =>
        [
          `import { a } from '${up}/${other}/a.ts';`,
          `import type { B } from '${up}/${other}/deeper/b.ts';`,
          `export { c } from '${up}/${other}/c.ts';`,
          `export * from '${up}/${other}/d.ts';`,
          `export const e = (b: B) => [a, b, import('${up}/${other}/e.ts')];`,
        ].join('\n');
      const [near, deep] = [`src/${room}/of-${other}.ts`, `src/${room}/deeper/of-${other}.ts`];
      files[near] = imports('..');
      files[deep] = imports('../..');
      if (ROOMS[room]?.includes(other)) continue;
      for (const line of [1, 2, 3, 4, 5]) {
        expected.push(`${near}:${line} lint/style/noRestrictedImports`);
        expected.push(`${deep}:${line} lint/style/noRestrictedImports`);
      }
    }
  }
  t.strictSame(await found(scratchHouse(t, files), 'lint/style/noRestrictedImports'), expected.sort());
});

t.test(
  'only the executables and the tests reach the composition root, and only few the other ends',
  async (t) => {
    const files: Record<string, string> = {
      'src/sidecar.ts':
        "export * from './api/a.ts';\nexport * from './simulator/a.ts';\nexport * from './cli/a.ts';",
      'src/main.ts': "export const run = () => import('./cli/a.ts');",
      'src/index.ts': "export * from './sidecar.ts';\nexport * from './simulator/a.ts';",
      'src/testing.ts': "export * from './simulator/a.ts';",
      'src/clock.ts': "export * from './database/a.ts';\nexport * from './sidecar.ts';",
      'src/config.ts': "export * from './environment.ts';\nexport * from './contract/a.ts';",
      'src/client.ts': "export * from './client-types.ts';\nexport * from './contract/a.ts';",
      'src/simulator/b.ts': "export * from '../clock.ts';\nexport * from './c.ts';",
      'src/contract/b.ts': "export * from '../clock.ts';\nexport * from './c.ts';",
      'src/outbound/b.ts': "export * from '../clock.ts';\nexport * from './c.ts';",
    };
    for (const room of rooms) {
      files[`src/${room}/root.ts`] = "export * from '../sidecar.ts';";
    }
    const rooted = rooms.filter((room) => room !== 'cli').map((room) => `src/${room}/root.ts:1`);
    const expected = [
      'src/sidecar.ts:2',
      'src/sidecar.ts:3',
      'src/clock.ts:1',
      'src/clock.ts:2',
      'src/config.ts:2',
      'src/client.ts:2',
      'src/simulator/b.ts:1',
      'src/contract/b.ts:1',
      ...rooted,
    ];
    t.strictSame(
      await found(scratchHouse(t, files), 'lint/style/noRestrictedImports'),
      expected.map((place) => `${place} lint/style/noRestrictedImports`).sort(),
    );
  },
);

t.test('no circles, neither in a room nor through one that is allowed', async (t) => {
  const folder = scratchHouse(t, {
    'src/ledger/a.ts': "import { b } from './b.ts';\nexport const a = () => b;",
    'src/ledger/b.ts': "import { a } from './a.ts';\nexport const b = () => a;",
    'src/ledger/c.ts': "import { a } from './a.ts';\nexport const c = a;",
  });
  const circles = ['src/ledger/a.ts:1', 'src/ledger/b.ts:1'];
  t.strictSame(
    await found(folder, 'lint/suspicious/noImportCycles'),
    circles.map((place) => `${place} lint/suspicious/noImportCycles`),
  );
});

t.test('only the executables read the environment and end the process', async (t) => {
  const text = 'export const a = process.env.A;\nexport const b = () => process.exit(1);';
  const free = ['src/main.ts', 'src/cli/a.ts'];
  const bound = ['src/config.ts', 'src/sidecar.ts', 'src/api/a.ts', 'src/ledger/deeper/a.ts'];
  const files = Object.fromEntries([...free, ...bound].map((path) => [path, text]));
  t.strictSame(
    await found(scratchHouse(t, files), 'lint/style/noProcessEnv', 'plugin'),
    bound.flatMap((path) => [`${path}:1 lint/style/noProcessEnv`, `${path}:2 plugin`]).sort(),
  );
});

t.test('a pure file reads no clock, draws no random number and does nothing but compute', async (t) => {
  const impure = [
    'Date.now()',
    '[1].map(Date.now)',
    'new Date()',
    'Date()',
    'performance.now()',
    'Math.random()',
    'crypto.randomUUID()',
    "fetch('https://example.com')",
    'setTimeout(() => {}, 1)',
    'setInterval(() => {}, 1)',
    'process.uptime()',
    "console.log('a')",
    "import('./a.ts')",
  ].map((expression, index) => `export const a${index} = () => ${expression};`);
  const modules = ['node:fs', 'node:net', 'node:http', 'node:child_process', 'better-sqlite3', 'undici'];
  const lines = [
    ...impure,
    ...modules.map((name, index) => `export { b${index} } from '${name}';`),
    "import c from 'node:fs';",
    "import type { D } from 'undici';",
  ];
  const allowed = [
    'export const d = (d: D) => [c, d];',
    "export const e = new Date('2026-01-31T00:00:00Z').toISOString();",
    'export const f = [Date.parse(e), Date.UTC(2026, 0, 31), new Date(0), Math.max(1, 2)];',
    "export { Type } from 'typebox';",
    "export { g } from './g.ts';",
  ];
  const text = [...lines, ...allowed].join('\n');
  const pure = ['src/contract/a.ts', 'src/ledger/fold.ts', 'src/ledger/state.ts', 'src/outbound/retry.ts'];
  const free = ['src/ledger/record.ts', 'src/outbound/client.ts'];
  const files = Object.fromEntries([...pure, ...free].map((path) => [path, text]));
  t.strictSame(
    await found(scratchHouse(t, files), 'plugin'),
    pure.flatMap((path) => lines.map((_, index) => `${path}:${index + 1} plugin`)).sort(),
  );
});

t.test('the rules for pure files name files that are there', async (t) => {
  const { default: settings } = await import('../biome.json', { with: { type: 'json' } });
  const pure = settings.overrides.find(({ plugins }) => plugins?.includes('./test/house/pure.grit'));
  for (const path of pure?.includes ?? []) {
    t.ok(existsSync(new URL(`../${path.replace('**', '')}`, import.meta.url)), path);
  }
});
