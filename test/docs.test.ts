/** The docs match the code: links lead somewhere, commands exist, and lists are complete. */
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Command } from 'commander';
import t from 'tap';
import { createOutput } from '../src/cli/output.ts';
import { createProgram } from '../src/cli/program.ts';
import { DEVELOPMENT } from '../src/dev/program.ts';
import { generatedPages, PART_NAMES } from '../tools/docs.ts';
import { variables } from './config-samples.ts';
import { parseYaml } from './support/yaml.ts';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');
const pages = globSync(['*.md', 'llms.txt', '.github/**/*.md', 'bench/*.md', '{db,docs,fixtures}/**/*.md'], {
  cwd: ROOT,
}).sort();
const manifest = JSON.parse(read('package.json')) as Record<string, Record<string, string>>;

/** Returns the first capture group of every match. */
function captures(text: string, pattern: RegExp): string[] {
  return [...text.matchAll(pattern)].map(([, group = '']) => group);
}

function between(text: string, before: string, after: string): string {
  return text.split(before)[1]?.split(after)[0] ?? '';
}

/** Returns the captures of all pages that fail `isRight`, as `page: capture`. */
function wrongOnPages(pattern: RegExp, isRight: (capture: string, page: string) => boolean): string[] {
  return pages.flatMap((page) =>
    captures(read(page), pattern)
      .filter((capture) => !isRight(capture, page))
      .map((capture) => `${page}: ${capture}`),
  );
}

/** Returns the anchors of a page's headings, as GitHub makes them. */
function anchorsOf(page: string): string[] {
  const headings = captures(read(page).replace(/^```.*?^```/gms, ''), /^#+ (.+)$/gm);
  return headings.map((text) =>
    text
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );
}

t.test('every link has a target file and heading', async (t) => {
  const leads = (target: string, page: string): boolean => {
    const [path = '', anchor] = target.split('#');
    const file = path === '' ? page : join(dirname(page), path);
    return existsSync(join(ROOT, file)) && (anchor === undefined || anchorsOf(file).includes(anchor));
  };
  t.strictSame(wrongOnPages(/\]\((?!https?:)([^)\s]+)\)/g, leads), []);
  t.strictSame(wrongOnPages(/\bsrc(?:set)?="([^"]+)"/g, leads), []);
});

t.test('the list of pages links to every page of the docs', async (t) => {
  const linked = captures(read('docs/README.md'), /\]\(([\w/-]+\.md)/g).map((page) => `docs/${page}`);
  const unlinked = pages.filter(
    (page) => /^docs\/(internals\/)?(?!README)[\w-]+\.md$/.test(page) && !linked.includes(page),
  );
  t.strictSame(unlinked, []);
});

/** A page longer than this is two pages. */
const PAGE_WORDS = 1_800;
/** Users read at most this much, without generated parts. */
const PAGES = 24;
const WORDS = 22_000;

/** Returns how many words of the page are written by hand. */
function wordsOf(page: string): number {
  const written = page.replace(/^<!-- generated [^\n]*\n.*?^<!-- end -->/gms, '');
  return written.match(/\S+/g)?.length ?? 0;
}

t.test('the docs of users stay short', async (t) => {
  const ofUsers = pages.filter((page) => /^docs\/[^/]+$/.test(page));
  const words = ofUsers.map((page) => [page, wordsOf(read(page))] as const);
  for (const [page, count] of words)
    t.ok(count <= PAGE_WORDS, `${page} has ${count} words of ${PAGE_WORDS}: shorten or split it`);
  t.ok(ofUsers.length <= PAGES, `${ofUsers.length} pages of ${PAGES}: extend an existing page`);
  const all = words.reduce((sum, [, count]) => sum + count, 0);
  t.ok(all <= WORDS, `${all} words of ${WORDS}: shorten what two pages state`);
});

t.test('every path in code type, and every page that the code names, exists', async (t) => {
  const exists = (path: string) => existsSync(join(ROOT, path));
  t.strictSame(wrongOnPages(/`((?:src|db|docs|test|bench|fixtures|\.ci)\/[\w./-]*)`/g, exists), []);
  const named = globSync('src/**/*.ts', { cwd: ROOT }).flatMap((path) =>
    captures(read(path), /\b((?:db|docs|fixtures)\/[\w/-]+\.md)/g),
  );
  t.ok(named.length > 10);
  for (const path of named) t.ok(exists(path), path);
});

t.test('every command, option and script in the docs exists', async (t) => {
  const out = createOutput({ stdout: process.stdout, stderr: process.stderr }, {}, () => {});
  const act = () => async () => {};
  for (const tree of [await createProgram(out, act), await createProgram(out, act, [], DEVELOPMENT)]) {
    const isCommand = (line: string) => commandExists(tree, line.split(/ {2,}|[#)]/)[0] ?? '');
    const commands = new RegExp(`${tree.name()} ([a-z][^\`\\n"]*)["\`\\n]`, 'g');
    t.strictSame(wrongOnPages(commands, isCommand), []);
  }
  const isScript = (name: string) => Object.hasOwn(manifest.scripts ?? {}, name);
  t.strictSame(wrongOnPages(/npm (?:run )?((?<=run )[\w:-]+|test\b)/g, isScript), []);
});

/** Returns whether a line is a command with its own options. */
function commandExists(tree: Command, line: string): boolean {
  let command = tree;
  for (const word of line.trim().split(/\s+/)) {
    const next = command.commands.find((sub) => sub.name() === word);
    if (word === '--help') return true;
    if (next === undefined && command.commands.length > 0) return false;
    command = next ?? command;
    if (word.startsWith('--') && !command.options.some(({ long }) => long === word)) return false;
  }
  return command.commands.length === 0;
}

t.test('every error message that the docs explain is in the code', async (t) => {
  const messages = captures(
    between(read('docs/operations.md'), '## Error messages', '## Commands at'),
    /^\| `([^`]+)` \|/gm,
  );
  const code = globSync('src/**/*.ts', { cwd: ROOT }).map(read).join('\n');
  const parts = (message: string) => message.split('…').map((part) => part.trim());
  t.ok(messages.length > 8, `${messages.length} messages`);
  for (const message of messages) for (const part of parts(message)) t.ok(code.includes(part), message);
});

type ComposeService = { environment: Record<string, string>; secrets: string[] };
type Compose = { services: Record<string, ComposeService>; secrets: Record<string, unknown> };

t.test('compose.yaml sets variables that exist and gives each service its secret files', async (t) => {
  const [compose] = parseYaml(read('compose.yaml')) as [Compose];
  for (const [name, { environment, secrets }] of Object.entries(compose.services)) {
    const known = (variable: string) =>
      name === 'postgres' ? variable.startsWith('POSTGRES_') : variables().has(variable);
    for (const variable of Object.keys(environment)) t.ok(known(variable), `${name}: ${variable}`);
    const files = Object.entries(environment).filter(([variable]) => variable.endsWith('_FILE'));
    t.strictSame(files.map(([, path]) => path.replace('/run/secrets/', '')).sort(), secrets.toSorted(), name);
    for (const secret of secrets) t.ok(Object.hasOwn(compose.secrets, secret), `${name}: ${secret}`);
  }
});

t.test('the example of an environment sets variables that exist', async (t) => {
  const set = captures(read('docs/examples/environment'), /^([A-Z_]+)=/gm);
  t.ok(set.length > 0);
  for (const name of set) t.ok(variables().has(name), name);
});

t.test('the generated parts of the docs are what `npm run docs` writes', async (t) => {
  const generated = await generatedPages();
  for (const [path, page] of generated) t.equal(read(path), page, `${path} is old: run npm run docs`);
  const names = [...generated.values()].flatMap((page) =>
    captures(page, /^ *(?:<!--|#) generated by npm run docs \((.+)\)/gm),
  );
  t.strictSame(names.toSorted(), [...new Set(names)].toSorted(), 'each part is on one page');
  t.strictSame(
    PART_NAMES.filter((name) => !names.includes(name)),
    [],
    'each part is on a page',
  );
});

t.test('every dependency has a decision that names it', async (t) => {
  const decisions = pages
    .filter((page) => page.startsWith('docs/internals/decisions/'))
    .map(read)
    .join('\n');
  const chosen = Object.keys({ ...manifest.dependencies, ...manifest.devDependencies });
  const unnamed = chosen.filter((name) => !name.startsWith('@types/') && !decisions.includes(`\`${name}\``));
  t.strictSame(unnamed, []);
});
