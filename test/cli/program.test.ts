import { PassThrough } from 'node:stream';
import { stripVTControlCharacters } from 'node:util';
import t from 'tap';
import { createOutput } from '../../src/cli/output.ts';
import { createProgram } from '../../src/cli/program.ts';
import { environment, here, jsonOf, withDatabase, withFixtures } from './harness.ts';

t.test('help and the version go to stdout with exit code 0', async (t) => {
  const help = await here(t, {}, ['--help']);
  t.match(help, { code: 0, stdout: /serve[\s\S]*doctor[\s\S]*census/, stderr: '' });
  t.match(await here(t, {}, ['--version']), { code: 0, stdout: /^\d+\.\d+\.\d+\n$/, stderr: '' });
  t.match(await here(t, {}, ['events', '--help']), { code: 0, stdout: /reprocess/ });
});

t.test('--version is an option of the root only', async (t) => {
  for (const argv of [
    ['serve', '--version'],
    ['events', 'list', '--version'],
  ])
    t.match(await here(t, {}, argv), { code: 2, stdout: '', stderr: /unknown option '--version'/ });
});

t.test('no option of a command group hides one of its commands', async (t) => {
  const out = createOutput({ stdout: new PassThrough(), stderr: new PassThrough() }, {}, () => {});
  const groups = (await createProgram(out, () => async () => {})).commands.filter(
    ({ commands }) => commands.length > 0,
  );
  t.ok(groups.length > 0);
  for (const group of groups) t.strictSame(group.options, [], group.name());
});

const WRONG_USAGE: readonly string[][] = [
  [],
  ['nonsense'],
  ['events'],
  ['events', 'lst'],
  ['events', 'list', '--limit', '0'],
  ['events', 'list', '--limit', '1001'],
  ['events', 'list', '--state', 'lost'],
  ['events', 'list', '--from', '2026-02-30'],
  ['events', 'list', '--dismissed', 'maybe'],
  ['events', 'show'],
  ['events', 'dismiss', 'msg_1'],
  ['events', 'dismiss', 'msg_1', '--reason', '  '],
  ['events', 'reprocess'],
  ['events', 'reprocess', 'msg_1', '--state', 'applied'],
  ['deductions', 'list', '--on', 'today'],
  ['deductions', 'list', '--line-of-coverage', 'teeth'],
  ['help', 'nonsense'],
  ['help', 'run', 'nonsense'],
  ['run', 'create'],
  ['run', 'create', 'r1'],
  ['run', 'create', 'one two', '--employer', 'e'],
  ['run', 'preview', '--employer', 'e'],
  ['run', 'list', '--employer', '..'],
  ['readiness', '--employer', ''],
  ['token', 'create', '--name', 'tok_x', '--scope', 'all'],
  ['token', 'create', '--scope', 'all'],
  ['token', 'create', '--name', 'x', '--scope', 'all', '--expires', '90'],
  ['census', 'stage', 'a.json'],
  ['census', 'validate', 'a.xml'],
  ['census', 'sync', '--employer', '..'],
  ['replay'],
  ['replay', 'a.json', '--url', 'ftp://127.0.0.1'],
  ['replay', 'a.json', '--url', 'http://user:password@127.0.0.1'],
  ['migrate', 'twice'],
  ['events', 'list', '--cursor', 'abc'],
  ['token', 'create', '--name', 'x', '--scope', 'everything'],
];

t.test('wrong usage exits with 2, prints nothing on stdout, and names the mistake', async (t) => {
  // A database, so that no other failure comes first.
  const { env } = await withDatabase(t);
  for (const argv of WRONG_USAGE)
    t.match(await here(t, env, argv), { code: 2, stdout: '', stderr: /./ }, argv.join(' '));
});

t.test('a command needs only the variables that it reads', async (t) => {
  const { env } = await withDatabase(t);
  const { BENEFITS_ENVIRONMENT = '', DATABASE_URL = '' } = env;
  t.equal((await here(t, { BENEFITS_ENVIRONMENT, DATABASE_URL }, ['events', 'list'])).code, 0);
  t.equal((await here(t, { BENEFITS_ENVIRONMENT, DATABASE_URL }, ['token', 'list'])).code, 0);
  t.equal((await here(t, {}, ['keys', 'generate'])).code, 0);
});

const FAILURES: [string, (env: Record<string, string>) => Record<string, string>, string[], RegExp][] = [
  [
    'a missing variable',
    ({ BENEFITS_ENVIRONMENT: _, ...env }) => env,
    ['events', 'list'],
    /^benefits-sidecar: BENEFITS_ENVIRONMENT is not set.*doctor/,
  ],
  [
    'a malformed variable',
    (env) => ({ ...env, DATABASE_URL: 'mysql://somewhere' }),
    ['events', 'list'],
    /^benefits-sidecar: DATABASE_URL must be/,
  ],
  ['no database', (env) => env, ['deductions', 'list'], /there is no database at .*sidecar\.db: .*migrate/],
  ['no such file', (env) => env, ['census', 'validate', '/no/such.json'], /\/no\/such\.json does not exist/],
  ['no such fixture', (env) => env, ['replay', '/no/such.json'], /\/no\/such\.json does not exist/],
  [
    'no such data key',
    (env) => ({ ...env, DATA_KEYS: 'k1:short' }),
    ['census', 'stage', 'a.json', '--employer', 'e'],
    /DATA_KEYS entry 1 must be/,
  ],
];
for (const [name, change, argv, line] of FAILURES) {
  t.test(`a failure prints one line: ${name}`, async (t) => {
    const ran = await here(t, change(environment(t)), argv);
    t.match(ran, { code: 1, stdout: '', stderr: line });
    t.equal(ran.stderr.trimEnd().split('\n').length, 1);
    const debugged = await here(t, { ...change(environment(t)), LOG_LEVEL: 'debug' }, argv);
    t.match(debugged.stderr, /\n\s+at /, 'LOG_LEVEL=debug adds the stack');
  });
}

t.test('a database of the other environment is rejected', async (t) => {
  const { env } = await withDatabase(t);
  const ran = await here(t, { ...env, BENEFITS_ENVIRONMENT: 'live' }, ['events', 'list']);
  t.match(ran, { code: 1, stdout: '', stderr: /belongs to sandbox/ });
});

t.test('colors appear only on terminals and never with NO_COLOR', async (t) => {
  const { env } = await withFixtures(t);
  const plain = await here(t, env, ['events', 'list']);
  const coloured = await here(t, env, ['events', 'list'], { isTTY: true });
  t.equal(stripVTControlCharacters(plain.stdout), plain.stdout);
  t.not(stripVTControlCharacters(coloured.stdout), coloured.stdout);
  const bare = await here(t, { ...env, NO_COLOR: '1' }, ['events', 'list'], { isTTY: true });
  t.equal(stripVTControlCharacters(bare.stdout), bare.stdout);
});

t.test('migrate creates the database and prints the applied migrations once', async (t) => {
  const env = environment(t);
  const first = await here(t, env, ['migrate', '--json']);
  t.equal(first.code, 0);
  t.match(jsonOf(first), { environment: 'sandbox', applied: ['0001_database'] });
  t.match(await here(t, env, ['migrate']), { code: 0, stdout: '', stderr: /up to date/ });
});
