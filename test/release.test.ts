/** What a release is made of besides the package: changelog, bill of materials, and the workflow that tests it. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { parseYaml } from './support/yaml.ts';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');
const manifest = JSON.parse(read('package.json')) as {
  version: string;
  engines: { node: string };
  files: string[];
};
const lock = JSON.parse(read('package-lock.json')) as {
  packages: Record<string, { version: string; dev?: boolean; engines?: { node?: string } }>;
};
const inProduction = Object.entries(lock.packages).filter(([path, { dev }]) => path !== '' && dev !== true);

t.test('the changelog keeps its form, and its newest entry is the version of the package', async (t) => {
  const kinds = ['Added', 'Changed', 'Deprecated', 'Removed', 'Fixed', 'Security'];
  const headings = [...read('CHANGELOG.md').matchAll(/^(##+) (.*)$/gm)];
  const of = (level: string) => headings.filter(([, mark]) => mark === level).map(([, , text = '']) => text);
  const versions = of('##').filter((text) => text !== '[Unreleased]');
  for (const version of versions) t.match(version, /^\[\d+\.\d+\.\d+\] - \d{4}-\d{2}-\d{2}$/);
  t.strictSame(
    of('###').filter((text) => !kinds.includes(text)),
    [],
  );
  t.ok(versions[0]?.startsWith(`[${manifest.version}]`), `${versions[0]}`);
});

t.test('the image holds the folders of the package, and can be written in /data alone', async (t) => {
  const folders = manifest.files.filter((name) => !name.includes('.') && name !== 'dist');
  const [image, context] = [read('Dockerfile'), read('.dockerignore')];
  for (const folder of folders) {
    t.match(image, `COPY ${folder} ./${folder}\n`);
    t.match(context, `!${folder}\n`);
  }
  t.match(image, /^USER node$/m);
  t.match(
    image,
    /^ENV SQLITE_TMPDIR=\/data$/m,
    'where a large sort finds a folder, on a read-only root file system',
  );
});

t.test('the oldest Node that is promised is enough for every package of production', async (t) => {
  const { minVersion, satisfies } = createRequire(import.meta.resolve('fastify'))('semver') as {
    minVersion(range: string): { version: string };
    satisfies(version: string, range: string): boolean;
  };
  const oldest = minVersion(manifest.engines.node).version;
  const others = inProduction.filter(([, { engines }]) => !satisfies(oldest, engines?.node ?? '*'));
  t.strictSame(
    others.map(([path, { engines }]) => `${path} needs ${engines?.node}`),
    [],
  );
});

t.test('the bill of materials is made without a network, of what production installs', async (t) => {
  const env = { ...process.env, npm_config_registry: 'http://127.0.0.1:9', npm_config_offline: 'true' };
  execFileSync(process.execPath, ['tools/sbom.ts'], { cwd: ROOT, env, stdio: 'pipe' });
  const made = JSON.parse(read('sbom.cdx.json')) as {
    components: { name: string; version: string; hashes: unknown[]; 'bom-ref': string }[];
    dependencies: { ref: string; dependsOn: string[] }[];
  };
  t.match(made, {
    bomFormat: 'CycloneDX',
    metadata: { component: { purl: `pkg:npm/benefits-sidecar@${manifest.version}` } },
  });
  const nameOf = (path: string): string =>
    path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length);
  t.strictSame(
    [...new Set(made.components.map(({ name, version }) => `${name}@${version}`))].sort(),
    [...new Set(inProduction.map(([path, { version }]) => `${nameOf(path)}@${version}`))].sort(),
  );
  t.ok(made.components.every(({ hashes }) => hashes.length > 0));
  const known = new Set(made.dependencies.map(({ ref }) => ref));
  t.ok(
    made.dependencies.every(({ dependsOn }) => dependsOn.every((ref) => known.has(ref))),
    'all lead somewhere',
  );
});

type Workflow = {
  permissions: Record<string, string>;
  jobs: Record<
    string,
    { strategy: { matrix: { node: string[] } }; steps: { uses?: string; run?: string }[] }
  >;
};

t.test(
  'the workflow runs .ci/run on the oldest Node that is promised, with no rights and no secrets',
  async (t) => {
    const text = read('.github/workflows/ci.yml');
    const [{ permissions, jobs }] = parseYaml(text) as [Workflow];
    t.strictSame(permissions, { contents: 'read' });
    t.notMatch(text, /secrets\./);
    const [job, ...others] = Object.values(jobs);
    t.strictSame(others, []);
    t.equal(`>=${job?.strategy.matrix.node[0]}`, manifest.engines.node);
    const steps = job?.steps ?? [];
    t.match(steps.at(-1)?.run, /^\.ci\/run \$\{\{ matrix\.node \}\}$/);
    for (const { uses } of steps) if (uses !== undefined) t.match(uses, /@[0-9a-f]{40}$/, 'pinned by commit');
  },
);
