import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { stripVTControlCharacters } from 'node:util';
import t from 'tap';
import { summaryOf } from '../../src/cli/checks.ts';
import { describeFailure } from '../../src/cli/failure.ts';
import { createOutput } from '../../src/cli/output.ts';
import { createProgram } from '../../src/cli/program.ts';
import { databaseDamaged } from '../../src/database/errors.ts';
import { EMPLOYER } from '../support/payroll.ts';
import { MAIN } from '../support/sidecar.ts';
import { execute } from './executable.ts';
import { commandsWith, environment, here, jsonOf, withDatabase, withFixtures } from './harness.ts';
import { optionsOn, PAY_DATE, payrollStage } from './payroll-stage.ts';

t.test('help and the version go to stdout with exit code 0', async (t) => {
  const help = await here(t, {}, ['--help']);
  t.match(help, { code: 0, stdout: /serve[\s\S]*doctor[\s\S]*census/, stderr: '' });
  t.match(await here(t, {}, ['--version']), { code: 0, stdout: /^\d+\.\d+\.\d+\n$/, stderr: '' });
  const ofCommand = await here(t, {}, ['run', 'create', '--help']);
  t.match(ofCommand.stdout, /^Usage: benefits-sidecar run create /);
  t.strictSame(await here(t, {}, ['help', 'run', 'create']), ofCommand, 'help of several words');
});

t.test('no option of a command group hides one of its commands', async (t) => {
  const out = createOutput({ stdout: new PassThrough(), stderr: new PassThrough() }, {}, () => {});
  const program = await createProgram(out, () => async () => {});
  const groups = program.commands.filter(({ commands }) => commands.length > 0);
  t.ok(groups.length > 0);
  for (const group of groups) t.strictSame(group.options, [], group.name());
});

const WRONG_USAGE = [
  ...['', 'nonsense', 'help nonsense', 'help run nonsense', 'migrate twice', 'readiness --employer '],
  ...[
    'events',
    'events lst',
    'events list --limit 0',
    'events list --limit 1001',
    'events list --state lost',
  ],
  ...['events list --from 2026-02-30', 'events list --dismissed maybe', 'events list --cursor abc'],
  ...['events show', 'events dismiss msg_1', 'events dismiss msg_1 --reason ', 'events reprocess'],
  ...['events reprocess msg_1 --state applied', 'deductions list --on today'],
  ...[
    'deductions list --line-of-coverage teeth',
    'run create',
    'run create r1',
    'run create r/1 --employer e',
  ],
  ...['run preview --employer e', 'token create --name tok_x --scope all'],
  ...['token create --scope all', 'token create --name x --scope all --expires 90', 'token create --name x'],
  ...['token create --name x --scope everything', 'token create --name x --role boss'],
  ...[
    'token create --name x --scope all --person jo\u00a0smith',
    'census stage a.json',
    'census validate a.xml',
  ],
  ...['change termination', 'change termination a.txt', 'change termination a.json --key-prefix é'],
  ...['census sync --employer ..', 'run list --url ftp://127.0.0.1', 'simulate'],
];

t.test('wrong usage exits with 2, prints nothing on stdout, and names the mistake', async (t) => {
  // A database, so that no other failure comes first.
  const { env } = await withDatabase(t);
  for (const command of WRONG_USAGE) {
    const argv = command === '' ? [] : command.split(' ');
    t.match(await here(t, env, argv), { code: 2, stdout: '', stderr: /./ }, command);
  }
});

t.test('a folder in place of a file is named', async (t) => {
  const { env } = await withDatabase(t);
  const folder = (name: string) => {
    const path = join(t.testdirName, name);
    mkdirSync(path);
    return path;
  };
  const rows = folder('rows.csv');
  const organization = folder('census.organization.json');
  const census = join(t.testdirName, 'census.csv');
  writeFileSync(census, 'employee_id\n');
  const commands: [command: string, path: string, named?: string][] = [
    ['policy put --employer e', folder('policy.json')],
    ['change termination', rows],
    ['import deductions', rows],
    ['census stage --employer e', rows],
    ['census stage --employer e', census, organization],
    ['audit verify --heads', folder('heads')],
    ['restore --yes', folder('backup')],
  ];
  for (const [command, path, named = path] of commands) {
    const { code, stderr } = await here(t, env, [...command.split(' '), path]);
    t.not(code, 0, command);
    t.ok(stderr.includes(named), `${command}: ${stderr}`);
  }
});

t.test('a command needs only the variables that it reads', async (t) => {
  const { env } = await withDatabase(t);
  const { BENEFITS_ENVIRONMENT = '', DATABASE_URL = '' } = env;
  const { cli } = commandsWith(t, { BENEFITS_ENVIRONMENT, DATABASE_URL });
  for (const command of ['events list', 'deductions list', 'token list'])
    t.match(await cli(command), { code: 0 }, command);
  t.match(await cli('readiness'), { stdout: /checks/ });
  t.match(await commandsWith(t, {}).cli('keys generate'), { code: 0 });
});

const FAILURES: Record<string, readonly [changed: Record<string, string>, command: string]> = {
  ': BENEFITS_ENVIRONMENT is not set.*doctor': [{ BENEFITS_ENVIRONMENT: '' }, 'events list'],
  '^benefits-sidecar: DATABASE_URL must be': [{ DATABASE_URL: 'mysql://x' }, 'events list'],
  'there is no database at .*sidecar.db: .*migrate': [{}, 'deductions list'],
  '/no/such.json does not exist': [{}, 'census validate /no/such.json'],
  'DATA_KEYS entry 1 must be': [{ DATA_KEYS: 'k1:short' }, 'audit keys'],
};
t.test('a failure prints one line, and LOG_LEVEL=debug adds the stack', async (t) => {
  const env = environment(t);
  for (const [line, [changed, command]] of Object.entries(FAILURES)) {
    const [given, argv] = [{ ...env, ...changed }, command.split(' ')];
    const ran = await here(t, given, argv);
    t.match(ran, { code: 1, stdout: '', stderr: new RegExp(line) }, line);
    t.equal(ran.stderr.trimEnd().split('\n').length, 1, line);
    const debugged = await here(t, { ...given, LOG_LEVEL: 'debug' }, argv);
    t.match(debugged.stderr, /\n\s+at /, line);
  }
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
  const { environment: of, applied } = jsonOf(first);
  t.match([of, applied[0]], ['sandbox', '0001_database']);
  t.match(await here(t, env, ['migrate']), { code: 0, stdout: '', stderr: /up to date/ });
});

const RUN = ['--employer', EMPLOYER, '--frequency', 'biweekly'];
const PERIOD = ['--period-start', '2026-07-01', '--period-end', '2026-07-14'];

t.test('missing options of a run are named as options', async (t) => {
  const { env } = await withDatabase(t);
  for (const command of [['create', 'r1'], ['preview']]) {
    const { code, stderr } = await here(t, env, ['run', ...command, '--pay-date', PAY_DATE]);
    t.equal(code, 2);
    const missing = ['employer', 'frequency', 'period-start', 'period-end'];
    const lines = missing.map((option) => `  --${option}: is required\n`).join('');
    t.equal(stderr, `benefits-sidecar: options are missing or wrong:\n${lines}`);
  }
});

t.test('wrong values of options name the options', async (t) => {
  const { env } = await withDatabase(t);
  const reversed = ['--period-start', '2026-07-15', '--period-end', '2026-07-14'];
  const wrong: [code: number, argv: string[], message: string][] = [
    [1, reversed, 'cannot be computed: --period-end: must not be before period_start'],
    [
      1,
      [...PERIOD, '--kind', 'off_cycle'],
      'cannot be computed: --employee: is required for an off_cycle run',
    ],
    [
      2,
      [...PERIOD, '--employee', 'a', ''],
      'missing or wrong: --employee[1]: must have at least 1 character',
    ],
  ];
  for (const [code, argv, message] of wrong) {
    const ran = await here(t, env, ['run', 'preview', ...RUN, '--pay-date', PAY_DATE, ...argv]);
    t.match(ran, { code, stdout: '' });
    t.match(ran.stderr, message);
  }
});

t.test('a run that cannot be computed names options, and with a file its fields', async (t) => {
  const { run, file } = await payrollStage(t);
  const unknown = optionsOn(PAY_DATE).map((text) => (text === EMPLOYER ? 'typo' : text));
  const stderr = /: --employer: is unknown: check the ID/;
  t.match(await run('create', 'r1', ...unknown), { code: 1, stderr });
  const employee = await run('create', 'r1', ...optionsOn(PAY_DATE), '--employee', 'typo');
  t.match(employee, { code: 1, stderr: /: --employee: / });
  const body = { employer_id: 'typo', pay_frequency: 'biweekly', pay_date: PAY_DATE };
  const period = { period_start: '2026-07-01', period_end: '2026-07-14' };
  const whole = file('run.json', JSON.stringify({ ...body, ...period }));
  t.match(await run('create', 'r1', whole), { code: 1, stderr: /: employer_id: is unknown/ });
  const part = file('part.json', JSON.stringify(body));
  t.match(await run('create', 'r1', part), { code: 1, stderr: /period_start: is required/ });
});

/** A module that changes the version Node reports. */
const pretend = (version: string): string[] => [
  '--import',
  `data:text/javascript,Object.defineProperty(process.versions, 'node', { value: '${version}' })`,
];

t.test('Node 22.19 or newer is required, which an older one shows before anything is loaded', async (t) => {
  const line = /^benefits-sidecar needs Node 22\.19 or newer, and this is 22\.18\.0: .*\n$/;
  t.match(await execute(t, {}, ['--help'], pretend('22.18.0')), { code: 1, stdout: '', stderr: line });
  t.match(await execute(t, {}, ['--version'], pretend('22.19.0')), { code: 0, stderr: '' });
});

t.test('a command ends quietly when its output pipe closes', async (t) => {
  const { env } = await withFixtures(t);
  const child = spawn(process.execPath, [MAIN, 'events', 'list'], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  const complained = text(child.stderr);
  child.stdout.destroy();
  const [code] = await once(child, 'close');
  t.strictSame([code, await complained], [0, '']);
});

const coded = (code: string) => Object.assign(new Error('from the engine'), { code });

t.test('after a disk failure the last line advises verify before a restore', async (t) => {
  const codes = ['CORRUPT', 'CORRUPT_INDEX', 'NOTADB', 'IOERR_FSYNC', 'IOERR'];
  const failures = codes.map((code) => coded(`SQLITE_${code}`));
  for (const failure of [...failures, databaseDamaged('/data/sidecar.db-wal', 'without its header')]) {
    const line = describeFailure(failure);
    t.match(line, /check the disk.*start again and run "benefits-sidecar verify", which names lost events/);
    t.match(line, /which names lost events.*restore a backup only if/);
    t.notMatch(line, /is damaged/);
  }
});

t.test('a summary counts what did not pass', async (t) => {
  const of = (...results: ('pass' | 'warn' | 'fail' | 'accepted' | 'unknown')[]) =>
    summaryOf(results.map((result) => ({ result })));
  t.equal(of('pass', 'pass'), 'all 2 checks passed');
  t.equal(of('pass', 'warn'), '1 warning of 2 checks');
  const all = of('fail', 'fail', 'warn', 'accepted', 'unknown', 'pass');
  t.equal(all, '2 failures, 1 warning, 1 accepted, and 1 not checked of 6 checks');
});

for (const [command, id] of Object.entries({ readiness: 'events-pending', doctor: 'certificates' })) {
  t.test(`${command} ends with a summary, and shows what passed only with --all`, async (t) => {
    const { cli } = await withDatabase(t);
    const plain = await cli(command);
    t.notMatch(plain.stdout, /^pass/m);
    t.match(plain.stdout, / checks( passed)?\.( |\n)/);
    t.match(plain.stderr, 'Add --all to see the checks that passed.');
    const all = await cli(command, '--all');
    t.match(all.stdout, new RegExp(`^pass  ${id}`, 'm'));
    t.equal(all.stderr, '');
    t.equal(all.stdout.split('\n').at(-2), plain.stdout.split('\n').at(-2), 'the same summary');
  });
}
