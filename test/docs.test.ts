import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Command } from 'commander';
import t from 'tap';
import type { Context } from '../src/cli/context.ts';
import { createOutput } from '../src/cli/output.ts';
import { createTree } from '../src/cli/tree.ts';
import { systemClock } from '../src/clock.ts';
import { readConfig } from '../src/config.ts';
import { SCOPES } from '../src/security/tokens.ts';
import { REQUIRED } from './config-samples.ts';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');
const pages = globSync(['*.md', '{db,docs,fixtures}/**/*.md'], { cwd: ROOT }).sort();
const manifest = JSON.parse(read('package.json')) as Record<string, Record<string, string>>;

/** All that the groups of a pattern caught, over all places. */
function caught(text: string, pattern: RegExp): string[] {
  return [...text.matchAll(pattern)].map(([, group = '']) => group);
}

/** Headings as links name them. */
function anchorsOf(page: string): string[] {
  const headings = caught(read(page).replace(/^```.*?^```/gms, ''), /^#+ (.+)$/gm);
  return headings.map((text) =>
    text
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );
}

t.test('every link between files leads to a file, and to a heading that is there', async (t) => {
  for (const page of pages) {
    for (const target of caught(read(page), /\]\(([^)\s]+)\)/g)) {
      if (/^https?:/.test(target)) continue;
      const [path = '', anchor] = target.split('#');
      const file = path === '' ? page : relative(ROOT, join(ROOT, dirname(page), path));
      const leads = existsSync(join(ROOT, file)) && (!anchor || anchorsOf(file).includes(anchor));
      t.ok(leads, `${page}: ${target}`);
    }
  }
});

t.test('every file of the project that is named in code type is there', async (t) => {
  for (const page of pages) {
    for (const path of caught(read(page), /`((?:src|db|docs|test|bench|\.ci)\/[\w./-]+)`/g)) {
      t.ok(existsSync(join(ROOT, path)), `${page}: ${path}`);
    }
  }
});

t.test('a named constant of the limits is in the file that it is linked to', async (t) => {
  const limits = read('docs/architecture.md').split('## Limits')[1] ?? '';
  for (const [, name = '', path = ''] of limits.matchAll(/\[`(\w+)`\]\(\.\.\/([^)]+)\)/g)) {
    t.match(read(path), new RegExp(`\\b${name}\\b`), `${path}: ${name}`);
  }
});

t.test('the README names every variable of the configuration, and no other', async (t) => {
  const asked = new Set<string>();
  const env = new Proxy<Record<string, string>>(REQUIRED, {
    get: (given, name: string) => {
      asked.add(name);
      return given[name];
    },
  });
  readConfig(env);
  const table = read('README.md').split('### Configuration')[1]?.split('###')[0] ?? '';
  const rows = caught(table, /^\| (`[A-Z].*?) \|/gm);
  const named = rows.flatMap((row) =>
    caught(row, /`([A-Z_]+)`/g).flatMap((name) => (row.includes('°') ? [name, `${name}_FILE`] : [name])),
  );
  t.strictSame(named.sort(), [...asked].sort());
});

t.test('every command and option in the docs is one that there is', async (t) => {
  const out = createOutput({ stdout: process.stdout, stderr: process.stderr }, {}, () => {});
  const context: Context = { env: {}, out, now: systemClock, stopped: () => AbortSignal.abort() };
  const tree = createTree(context, () => {});
  for (const page of pages) {
    const text = read(page).replaceAll('benefits-sidecar="', '');
    for (const line of caught(text, /benefits-sidecar ([a-z][^`\n"|]*)(?=[`\n])/g)) {
      t.equal(problemOf(tree, line.split(/\s+(?:#| {2})/)[0] ?? ''), null, `${page}: ${line}`);
    }
    for (const [script = ''] of caught(text, /npm (?:run )?(test:?\w*|(?<=run )[\w:]+)/g).map((name) => [
      name,
    ])) {
      t.ok(manifest.scripts?.[script], `${page}: npm run ${script}`);
    }
  }
});

/** What is wrong with a command line, or null. Several subcommands may be named at once, as in `token create|list`. */
function problemOf(tree: Command, line: string): string | null {
  let command = tree;
  for (const word of line.trim().split(/\s+/)) {
    const next = command.commands.find((sub) => sub.name() === word);
    if (next !== undefined) command = next;
    else if (command.commands.length > 0) return `there is no command ${word}`;
    const [option = ''] = word.split('=');
    if (!option.startsWith('--')) continue;
    if (!command.options.some(({ long }) => long === option)) return `it has no ${option}`;
  }
  return command.commands.length > 0 ? 'it names a group, not a command' : null;
}

t.test('docs/states.md has exactly the states that the schema allows', async (t) => {
  const allowed = new Map<string, string[]>();
  for (const file of globSync('db/sqlite/*.sql', { cwd: ROOT })) {
    for (const [, table = '', body = ''] of read(file).matchAll(/CREATE TABLE (\w+) \((.*?)^\)/gms)) {
      const [states] = caught(body, /CHECK \(state IN \(([^)]*)\)\)/g);
      if (states !== undefined) allowed.set(table, caught(states, /'(\w+)'/g));
    }
  }
  const drawn = new Map<string, string[]>();
  const page = read('docs/states.md');
  for (const [, table = '', states = ''] of page.matchAll(/^\| `(\w+)` \| (`.*`) \|$/gm)) {
    drawn.set(table, caught(states, /`(\w+)`/g));
  }
  t.strictSame(new Map([...drawn].sort()), new Map([...allowed].sort()));

  for (const [, table = '', diagram = ''] of page.matchAll(/^## .*\(`(\w+)`\)\n+```mermaid\n(.*?)^```/gms)) {
    const names = caught(diagram.replaceAll('[*]', ''), /^ *(\w+) -->/gm);
    const targets = caught(diagram, /--> (\w+)/g);
    t.strictSame([...new Set([...names, ...targets])].sort(), drawn.get(table)?.toSorted(), table);
  }
});

t.test('docs/security.md names every scope, and every field of a log line', async (t) => {
  const page = read('docs/security.md');
  const table = page.split('| scope | may |')[1]?.split('\n\n')[0] ?? '';
  t.strictSame(caught(table, /`([a-z]+(?::[a-z]+)?)`/g).sort(), [...SCOPES].sort());
  const fields = caught(
    read('src/observe/log.ts').split('LogFields')[1]?.split('}>')[0] ?? '',
    /^ {2}(\w+):/gm,
  );
  const told = page.split('src/observe/log.ts)):')[1]?.split('.\n')[0] ?? '';
  t.strictSame(caught(told, /`(\w+)`/g).sort(), fields.sort());
});

t.test('every dependency has a decision that names it', async (t) => {
  const decisions = pages
    .filter((page) => page.startsWith('docs/decisions/'))
    .map(read)
    .join('\n');
  for (const name of Object.keys({ ...manifest.dependencies, ...manifest.devDependencies })) {
    if (name.startsWith('@types/')) continue;
    t.ok(decisions.includes(`\`${name}\``), name);
  }
});
