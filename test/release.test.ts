/** The image, the supported Node versions and the bill of materials match the package. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');
const manifest = JSON.parse(read('package.json')) as {
  name: string;
  version: string;
  engines: { node: string };
  devEngines: { runtime: { version: string } };
  files: string[];
};
const lock = JSON.parse(read('package-lock.json')) as {
  packages: Record<string, { version: string; dev?: boolean; engines?: { node?: string } }>;
};
const inProduction = Object.entries(lock.packages).filter(([path, { dev }]) => path !== '' && dev !== true);

t.test(
  'the image contains the OpenAPI document and every folder of the package, except what only development uses',
  async (t) => {
    const isOther = (name: string) => name.includes('.') || name === 'dist' || name === 'fixtures';
    const folders = manifest.files.filter((name) => !isOther(name));
    const [image, context] = [read('Dockerfile'), read('.dockerignore')];
    for (const folder of folders) {
      t.match(image, `COPY ${folder} ./${folder}\n`);
      t.match(context, `!${folder}\n`);
    }
    t.notMatch(image + context, 'fixtures');
    t.match(image, 'COPY --from=build /app/openapi.json ./\n');
  },
);

t.test('the chart and the changelog have the version of the package', async (t) => {
  const chart = read('charts/benefits-sidecar/Chart.yaml');
  for (const key of ['version', 'appVersion'])
    t.equal(new RegExp(`^${key}: (.*)$`, 'm').exec(chart)?.[1], manifest.version);
  t.match(read('CHANGELOG.md'), `\n## [${manifest.version}] - 20`);
});

t.test('the oldest supported Node runs every production package', async (t) => {
  const { minVersion, satisfies } = createRequire(import.meta.resolve('fastify'))('semver') as {
    minVersion(range: string): { version: string };
    satisfies(version: string, range: string): boolean;
  };
  const oldest = minVersion(manifest.engines.node).version;
  for (const [path, { engines }] of inProduction) t.ok(satisfies(oldest, engines?.node ?? '*'), path);
});

t.test('the pages state the Node versions that the manifest requires', async (t) => {
  const [checkout, installed] = [manifest.devEngines.runtime.version, manifest.engines.node].map((range) =>
    range.replace(/^>=/, ''),
  );
  t.match(read('README.md'), `You need a checkout, npm and Node ${checkout} or later`);
  t.match(read('README.md'), `[${installed} or later](docs/install.md#which-node)`);
  t.match(read('docs/install.md'), `| in a checkout | ${checkout} or later`);
  t.match(read('docs/install.md'), new RegExp(`^\\| as a package.* \\| ${installed} or later \\|`, 'm'));
});

t.test('the bill of materials lists the production packages, without a network', async (t) => {
  const env = { ...process.env, npm_config_registry: 'http://127.0.0.1:9', npm_config_offline: 'true' };
  execFileSync(process.execPath, ['tools/sbom.ts'], { cwd: ROOT, env, stdio: 'pipe' });
  const { metadata, components, dependencies } = JSON.parse(read('sbom.cdx.json')) as {
    metadata: { component: { name: string; version: string } };
    components: { name: string; version: string; hashes: unknown[]; 'bom-ref': string }[];
    dependencies: { ref: string; dependsOn: string[] }[];
  };
  t.match(metadata.component, { name: manifest.name, version: manifest.version }, 'in a folder of any name');
  const nameOf = (path: string): string =>
    path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length);
  t.strictSame(
    [...new Set(components.map(({ name, version }) => `${name}@${version}`))].sort(),
    [...new Set(inProduction.map(([path, { version }]) => `${nameOf(path)}@${version}`))].sort(),
  );
  t.ok(components.every(({ hashes }) => hashes.length > 0));
  const known = new Set(dependencies.map(({ ref }) => ref));
  t.ok(dependencies.every(({ dependsOn }) => dependsOn.every((ref) => known.has(ref))));
});
