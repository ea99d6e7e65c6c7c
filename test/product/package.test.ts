/** The published package: its contents, its entry points, and the examples of the docs. */
import { cpSync, globSync, readFileSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { loadFixtures, startSimulator } from '../../src/testing.ts';
import { deliver } from '../api/deliver.ts';
import { FIRST_TOKEN, NOW, start } from '../api/start.ts';
import { newDatabaseUrl } from '../support/engine.ts';
import { eventually } from '../support/eventually.ts';
import { compile, installPackage, node, run } from '../support/package.ts';
import { makeKeys, variablesFor } from '../support/settings.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const CENSUSES = join(ROOT, 'fixtures/census/json');

const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
  version: string;
  bin: Record<string, string>;
  files: string[];
};

/** Returns the files below a folder, as paths from `root`. */
function filesOf(root: string, folder: string): string[] {
  return globSync(`${folder}/**/*`, { cwd: root, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(root, join(entry.parentPath, entry.name)));
}

/** Returns the only code block of a language in a page, or in one of its sections. */
function example(page: string, language = 'ts', section = ''): string {
  const text = readFileSync(join(ROOT, page), 'utf8');
  const part = section === '' ? text : (text.split(`## ${section}\n`)[1]?.split('\n## ')[0] ?? '');
  const matches = [...part.matchAll(new RegExp(`^\`\`\`${language}\n(.*?)^\`\`\`$`, 'gms'))];
  const [block] = matches.map(([, code = '']) => code);
  if (block === undefined || matches.length > 1)
    throw new Error(`${page} ${section} must have exactly one ${language} block`);
  return block;
}

const readExample = (name: string): string => readFileSync(join(ROOT, 'docs/examples', name), 'utf8');

t.test('the package', async (t) => {
  const folder = await installPackage(t);
  const save = (name: string, text: string): void => writeFileSync(join(folder, name), text);

  await t.test('holds the compiled code with types, the schema and the fixtures, only', async (t) => {
    const code = globSync('**/*.ts', { cwd: join(ROOT, 'src') }).map((name) => name.slice(0, -'.ts'.length));
    const folders = manifest.files.filter((name) => !name.includes('.') && name !== 'dist');
    const expected = [
      ...code.flatMap((name) => [`dist/${name}.js`, `dist/${name}.d.ts`]),
      ...folders.flatMap((name) => filesOf(ROOT, name)),
      ...['package.json', 'README.md', 'LICENSE', 'CHANGELOG.md', 'openapi.json'],
    ];
    const packed = filesOf(join(folder, 'node_modules/benefits-sidecar'), '.');
    t.ok(packed.includes('dist/main.js') && packed.includes('db/0001_database.sql'));
    t.strictSame(packed.toSorted(), expected.toSorted());
  });

  await t.test('each entry point can be imported and exports its functions', async (t) => {
    const entries = {
      'benefits-sidecar': ['createLog', 'createSidecar', 'readConfig'],
      'benefits-sidecar/client': ['createClient'],
      'benefits-sidecar/testing': [
        'loadFixtures',
        'makeNotification',
        'signEvent',
        'startSimulator',
        'verifyNotification',
      ],
    };
    const imports = Object.keys(entries).map(
      (entry) => `Object.keys(await import('${entry}')).sort().join()`,
    );
    const count = `(await import('benefits-sidecar/testing')).loadFixtures().length`;
    const print = `for (const line of [${[...imports, count]}]) console.log(line)`;
    const { ended, said } = node(folder, ['--input-type=module', '--eval', print]);
    t.equal(await ended, 0, said());
    t.strictSame(said().trim().split('\n'), [...Object.values(entries).map((names) => names.join()), '16']);
  });

  await t.test('each of its programs starts', async (t) => {
    for (const [name, main] of Object.entries(manifest.bin)) {
      const { ended, said } = node(folder, [join('node_modules/benefits-sidecar', main), '--version']);
      t.strictSame([await ended, said()], [0, `${manifest.version}\n`], name);
    }
  });

  await t.test('the examples compile, and a call to a missing route does not', async (t) => {
    save('client.ts', example('docs/api.md', 'ts', 'The typed client'));
    save('embedding.ts', readExample('embedding.ts'));
    save('testing.test.ts', readExample('payroll.test.ts'));
    save(
      'wrong.ts',
      example('docs/api.md', 'ts', 'The typed client').replace("'/v1/deductions'", "'/v1/deduction'"),
    );
    const errors = await compile(folder, ['client.ts', 'embedding.ts', 'testing.test.ts', 'wrong.ts']);
    t.match(errors, /wrong\.ts.*'"\/v1\/deduction"'/);
    t.notMatch(errors, /(client|embedding|testing\.test)\.ts\(/);
  });

  await t.test('the client example prints the output that docs/api.md shows', async (t) => {
    const { app, db, call } = await start(t);
    const events = loadFixtures().map(({ id, body }) => ({
      eventId: id,
      body: Buffer.from(JSON.stringify(body)),
    }));
    await deliver(db, events, NOW.toISOString());
    const census = readFileSync(join(CENSUSES, 'maple-bakery.json'), 'utf8');
    await call({ method: 'PUT', url: '/v1/employers/maple-bakery/census', body: census });
    const address = await app.listen({ host: '127.0.0.1', port: 0 });
    save(
      'client.ts',
      example('docs/api.md', 'ts', 'The typed client').replace('http://127.0.0.1:8081', address),
    );
    const { ended, said } = node(folder, ['client.ts'], { TOKEN: FIRST_TOKEN });
    t.equal(await ended, 0, said());
    t.equal(said(), example('docs/api.md', 'text', 'The typed client'));
  });

  await t.test('the embedding example uploads the census on request', async (t) => {
    const keys = makeKeys();
    const simulator = await startSimulator({ apiKey: keys.apiKey, secrets: [keys.webhookSecret] });
    t.teardown(simulator.close);
    cpSync(CENSUSES, join(folder, 'censuses'), { recursive: true });
    const variables = variablesFor(await newDatabaseUrl(t), simulator.url, keys);
    const { end, ended, said } = node(folder, ['embedding.ts'], variables);
    t.teardown(() => end('SIGKILL'));
    const started = /^\{.*"address":"([^"]+)".*"receiving webhooks".*\}$/m;
    await eventually('it receives', said, (text) => started.test(text));
    simulator.subscribe(`${started.exec(said())?.[1]}/webhooks`);
    await simulator.requestCensus('maple-bakery');
    const [upload] = await eventually('it uploads', simulator.requests, ({ length }) => length > 0);
    t.match(upload, { path: '/employer/maple-bakery/census', status: 200 });
    end('SIGTERM');
    t.equal(await ended, 0, said());
  });

  await t.test('the example test passes', async (t) => {
    const { ended, said } = node(folder, ['--test', 'testing.test.ts']);
    t.equal(await ended, 0, said());
    t.match(said(), /pass 2\n.*fail 0\n/s);
  });
});

t.test('a build keeps no module of an earlier build', async (t) => {
  // The compiler is found in a folder above.
  t.testdirName = join(ROOT, '.tap/fixtures/build');
  for (const script of ['build', 'build:image']) {
    const folder = t.testdir({ src: { 'kept.ts': 'export {};' }, dist: { 'deleted.js': '' } });
    for (const name of globSync('{package,tsconfig*}.json', { cwd: ROOT }))
      cpSync(join(ROOT, name), join(folder, name));
    await run('npm', ['run', '--prefix', folder, '--ignore-scripts', '--silent', script]);
    const types = script === 'build' ? ['dist/kept.d.ts'] : [];
    t.strictSame(filesOf(folder, 'dist').toSorted(), [...types, 'dist/kept.js'], script);
  }
});
