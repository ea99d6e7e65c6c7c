/** The pages keep up with the code: what they name is there, and what they list is complete. */
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Command } from 'commander';
import t from 'tap';
import { REFUSALS } from '../src/api/problem.ts';
import { createOutput } from '../src/cli/output.ts';
import { createProgram } from '../src/cli/program.ts';
import { systemClock } from '../src/clock.ts';
import { FLAGS } from '../src/payroll/calculation/line.ts';
import { RunBody } from '../src/payroll/runs/body.ts';
import { LEDGER_CHECKS } from '../src/readiness/report.ts';
import { RUN_CHECKS } from '../src/readiness/run-report.ts';
import { SCOPES } from '../src/security/tokens.ts';
import { variables } from './config-samples.ts';
import { parseYaml } from './support/yaml.ts';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');
const pages = globSync(['*.md', '{db,docs,fixtures}/**/*.md'], { cwd: ROOT }).sort();
const manifest = JSON.parse(read('package.json')) as Record<string, Record<string, string>>;

/** What stands under this key, at any depth. */
function under(key: string, value: unknown): unknown[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, inner]) => (name === key ? [inner] : under(key, inner)));
}

/** What the group of a pattern caught, over all places. */
function caught(text: string, pattern: RegExp): string[] {
  return [...text.matchAll(pattern)].map(([, group = '']) => group);
}

/** The part of a text between two others. */
function between(text: string, before: string, after: string): string {
  return text.split(before)[1]?.split(after)[0] ?? '';
}

/** Everything of this pattern that is wrong on some page, as `page: what`. */
function wrongOnPages(pattern: RegExp, isRight: (what: string, page: string) => boolean): string[] {
  return pages.flatMap((page) =>
    caught(read(page), pattern)
      .filter((what) => !isRight(what, page))
      .map((what) => `${page}: ${what}`),
  );
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
  const leads = (target: string, page: string): boolean => {
    const [path = '', anchor] = target.split('#');
    const file = path === '' ? page : join(dirname(page), path);
    return existsSync(join(ROOT, file)) && (anchor === undefined || anchorsOf(file).includes(anchor));
  };
  t.strictSame(wrongOnPages(/\]\((?!https?:)([^)\s]+)\)/g, leads), []);
});

t.test('every file of the project that is named in code type is there', async (t) => {
  const isThere = (path: string) => existsSync(join(ROOT, path));
  t.strictSame(wrongOnPages(/`((?:src|db|docs|test|bench|fixtures|\.ci)\/[\w./-]*)`/g, isThere), []);
});

t.test('a constant in the table of limits is in the file that it links to', async (t) => {
  const limits = read('docs/architecture.md').split('## Limits')[1] ?? '';
  const links = [...limits.matchAll(/\[`(\w+)`\]\(\.\.\/([^)]+)\)/g)];
  const wrong = links.filter(([, name = '', path = '']) => !new RegExp(`\\b${name}\\b`).test(read(path)));
  t.ok(links.length > 0, 'there are some');
  t.strictSame(
    wrong.map(([link]) => link),
    [],
  );
});

t.test('a promise that docs/security.md says is proven is so by a test of that name', async (t) => {
  const proofs = [...read('docs/security.md').matchAll(/"([^"]+)" in \[`[^`]+`\]\(\.\.\/([^)]+)\)/g)];
  const wrong = proofs.filter(([, name = '', path = '']) => !read(path).includes(name));
  t.ok(proofs.length > 0, 'there are some');
  t.strictSame(
    wrong.map(([proof]) => proof),
    [],
  );
});

t.test('docs/security.md proves each of the fifteen promises', async (t) => {
  const table = between(read('docs/security.md'), '| | promise | proven by |', '\n\n');
  const proven = [...table.matchAll(/^\| (\d+) \| [^|]+ \| "/gm)].map(([, number]) => Number(number));
  t.strictSame(
    proven,
    Array.from({ length: 15 }, (_, index) => index + 1),
  );
});

t.test('docs/payroll-runs.md names every field that a run may say, and every flag of a line', async (t) => {
  const page = read('docs/payroll-runs.md');
  const names = [...Object.keys(RunBody.properties), ...FLAGS];
  t.strictSame(
    names.filter((name) => !page.includes(`\`${name}\``) && !page.includes(`"${name}"`)),
    [],
  );
});

t.test('docs/troubleshooting.md names every check, every kind of refusal and every finding', async (t) => {
  const page = read('docs/troubleshooting.md');
  const findings = globSync('src/cli/doctor/*.ts', { cwd: ROOT }).flatMap((path) => [
    ...caught(read(path), /\bfindingsOf\(\s*'([a-z.-]+)'/g),
    ...caught(read(path), /\b(?:id|\w*ID) = '([a-z.-]+)'/g),
    ...caught(read(path), /\b(?:pass|warn|fail|unknown)\(\s*'([a-z.-]+)'/g),
  ]);
  const ids = [...LEDGER_CHECKS, ...RUN_CHECKS].map(({ id }) => id);
  const named = [...ids, ...Object.keys(REFUSALS)];
  t.strictSame(
    named.filter((name) => !page.includes(`\`${name}\``)),
    [],
  );
  const rows = caught(page.split('## What doctor finds')[1] ?? '', /^\| (`[^|]+) \|/gm);
  const listed = rows.flatMap((row) => caught(row, /`([\w.-]+)`/g));
  t.ok(findings.length > 15, 'there are some');
  t.strictSame(
    listed.toSorted(),
    [...new Set([...findings, 'node', 'configuration.NAME'])].toSorted(),
    'what doctor finds, and no more',
  );
});

t.test('a message that docs/troubleshooting.md explains is one that the program says', async (t) => {
  const page = read('docs/troubleshooting.md').split('## It does not start')[1] ?? '';
  const messages = caught(page.split('## What doctor finds')[0] ?? '', /^\| `([^`]+)` \|/gm);
  const code = globSync('src/**/*.ts', { cwd: ROOT }).map(read).join('\n');
  const parts = (message: string) => message.split('…').map((part) => part.trim());
  t.ok(messages.length > 40, `${messages.length} of them`);
  t.strictSame(
    messages.filter((message) => !parts(message).every((part) => code.includes(part))),
    [],
  );
});

t.test('the README names every variable of the configuration, and no other', async (t) => {
  const rows = caught(between(read('README.md'), '### Configuration', '###'), /^\| (`[A-Z].*?) \|/gm);
  const named = rows.flatMap((row) =>
    caught(row, /`([A-Z_]+)`/g).flatMap((name) => (row.includes('°') ? [name, `${name}_FILE`] : [name])),
  );
  t.strictSame(named.sort(), [...variables()].sort());
});

type ComposeService = {
  environment: Record<string, string>;
  secrets: string[];
  ports?: string[];
  volumes?: string[];
};
type Compose = Record<'services' | 'secrets' | 'volumes', Record<string, unknown>>;

t.test(
  'compose.yaml sets variables that there are, and each service gets the files that it names',
  async (t) => {
    const [compose] = parseYaml(read('compose.yaml')) as [Compose];
    const services = Object.entries(compose.services) as [string, ComposeService][];
    t.strictSame(Object.keys(compose.services), ['sidecar', 'sidecar-1', 'sidecar-2', 'postgres']);
    for (const [name, { environment, secrets, volumes = [] }] of services) {
      const foreign = name === 'postgres' ? /^POSTGRES_/ : /^$/;
      const unknown = Object.keys(environment).filter(
        (variable) => !variables().has(variable) && !foreign.test(variable),
      );
      t.strictSame(unknown, [], `${name}: variables`);
      const files = Object.entries(environment).filter(([variable]) => variable.endsWith('_FILE'));
      t.strictSame(
        files.map(([, path]) => path.replace('/run/secrets/', '')).sort(),
        secrets.toSorted(),
        name,
      );
      t.ok(
        secrets.every((secret) => Object.hasOwn(compose.secrets, secret)),
        `${name}: every secret has a file`,
      );
      t.ok(
        volumes.every((volume) => Object.hasOwn(compose.volumes, volume.split(':')[0] ?? '')),
        `${name}: every volume is declared`,
      );
    }
    const ports = services.flatMap(([, { ports = [] }]) => ports.map((port) => port.split(':').at(-2)));
    t.equal(new Set(ports).size, ports.length, 'no port of the machine is taken twice');
  },
);

t.test('the manifests in the docs name variables, files, paths and ports that there are', async (t) => {
  const page = read('docs/kubernetes.md') + read('docs/operations.md');
  const documents = caught(page, /^```yaml\n(.*?)^```/gms).flatMap(parseYaml);
  const pods = documents.flatMap((document) => under('template', document));
  t.equal(pods.length, 2, 'a StatefulSet and a Deployment');
  for (const pod of pods) {
    const env = under('env', pod).flat() as { name: string; value: string }[];
    t.strictSame(
      env.filter(({ name }) => !variables().has(name)),
      [],
    );
    const mounted = (under('volumeMounts', pod).flat() as { mountPath: string }[]).map(
      (mount) => mount.mountPath,
    );
    const files = env.filter(({ name }) => name.endsWith('_FILE')).map(({ value }) => dirname(value));
    t.ok(files.length > 0 && files.every((folder) => mounted.includes(folder)), 'the secrets are mounted');
    const probes = under('httpGet', pod) as { path: string; port: string }[];
    t.strictSame([...new Set(probes.map(({ path }) => path))].sort(), ['/livez', '/readyz']);
    const ports = (under('ports', pod).flat() as { name: string }[]).map(({ name }) => name);
    t.ok(
      probes.every(({ port }) => ports.includes(port)),
      'the probes ask a port that is there',
    );
  }
  const units = caught(page, /^```ini\n(.*?)^```/gms).join('');
  const set = caught(units, /^(?:Environment=)?([A-Z][A-Z_]*)=/gm);
  t.ok(set.length > 0, 'there are some');
  t.strictSame(
    set.filter((name) => !variables().has(name)),
    [],
  );
  const folders = caught(units, /_FILE=(.*)\/\w+$/gm);
  t.strictSame(
    new Set(folders),
    new Set(['/etc/benefits-sidecar/secrets']),
    'each secret is in their folder',
  );
});

t.test('every command, option and script in the docs is one that there is', async (t) => {
  const out = createOutput({ stdout: process.stdout, stderr: process.stderr }, {}, () => {});
  const context = { env: {}, out, now: systemClock, stopped: () => AbortSignal.abort() };
  const tree = await createProgram(context, () => {});
  const isCommand = (line: string) => stands(tree, line.split(/ {2,}|#/)[0] ?? '');
  t.strictSame(wrongOnPages(/benefits-sidecar ([a-z][^`\n"]*)["`\n]/g, isCommand), []);
  const isScript = (name: string) => Object.hasOwn(manifest.scripts ?? {}, name);
  t.strictSame(wrongOnPages(/npm (?:run )?((?<=run )[\w:-]+|test\b)/g, isScript), []);
});

/** Whether a line is a command and its options are the command's. */
function stands(tree: Command, line: string): boolean {
  let command = tree;
  for (const word of line.trim().split(/\s+/)) {
    const next = command.commands.find((sub) => sub.name() === word);
    if (next === undefined && command.commands.length > 0) return false;
    command = next ?? command;
    if (word.startsWith('--') && !command.options.some(({ long }) => long === word)) return false;
  }
  return command.commands.length === 0;
}

t.test('docs/states.md has exactly the states that the schema allows', async (t) => {
  const allowed = new Map<string, string[]>();
  for (const file of globSync('db/sqlite/*.sql', { cwd: ROOT })) {
    for (const [, table = '', body = ''] of read(file).matchAll(/CREATE TABLE (\w+) \((.*?)^\)/gms)) {
      const [states] = caught(body, /CHECK \(state IN \(([^)]*)\)\)/g);
      if (states !== undefined) allowed.set(table, caught(states, /'(\w+)'/g));
    }
  }
  const page = read('docs/states.md');
  const rows = [...page.matchAll(/^\| `(\w+)` \| (`.*`) \|$/gm)];
  const listed = new Map(rows.map(([, table = '', states = '']) => [table, caught(states, /`(\w+)`/g)]));
  t.strictSame(Object.fromEntries(listed), Object.fromEntries(allowed));

  const drawings = [...page.matchAll(/^## [^\n]*\(`(\w+)`\)\n+```mermaid\n(.*?)^```/gms)];
  t.equal(drawings.length, allowed.size, 'each is drawn');
  for (const [, table = '', drawing = ''] of drawings) {
    const drawn = [...caught(drawing, /^ *(\w+) -->/gm), ...caught(drawing, /--> (\w+)/g)];
    t.strictSame([...new Set(drawn)].sort(), allowed.get(table)?.toSorted(), table);
  }
});

t.test('docs/security.md names every scope, and every field of a log line', async (t) => {
  const page = read('docs/security.md');
  const scopes = caught(between(page, '| scope | may |', '\n\n'), /`([a-z]+(?::[a-z]+)?)`/g);
  t.strictSame(scopes.sort(), [...SCOPES].sort());
  const fields = caught(between(read('src/telemetry/log.ts'), 'type LogFields', '}>'), /^ {2}(\w+):/gm);
  t.strictSame(caught(between(page, 'These are the fields:', '.\n'), /`(\w+)`/g).sort(), fields.sort());
});

t.test('every dependency has a decision that names it', async (t) => {
  const decisions = pages
    .filter((page) => page.startsWith('docs/decisions/'))
    .map(read)
    .join('\n');
  const chosen = Object.keys({ ...manifest.dependencies, ...manifest.devDependencies });
  const unnamed = chosen.filter((name) => !name.startsWith('@types/') && !decisions.includes(`\`${name}\``));
  t.strictSame(unnamed, []);
});
