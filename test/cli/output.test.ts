/** Tables are printed in full, except on a terminal that is too narrow. Ids are never cut. */
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { parse } from 'csv-parse/sync';
import t, { type Test } from 'tap';
import { type Column, createOutput, printTable, WIDTH, wrapped } from '../../src/cli/output.ts';
import { receive } from '../api/deliver.ts';
import { EMPLOYER, employ } from '../support/payroll.ts';
import fc from '../support/seeded.ts';
import { environment, here, jsonOf, type Ran, type Variables, withDatabase } from './harness.ts';
import { optionsOn, PAY_DATE, payrollStage } from './payroll-stage.ts';

type Terminal = { columns?: number; isTTY?: boolean; env?: Record<string, string>; wide?: boolean };

/** Returns the lines of a table on a terminal, and the note below it. */
async function printed<Row>(columns: readonly Column<Row>[], rows: readonly Row[], terminal: Terminal = {}) {
  const { isTTY = true, env = {}, wide = false } = terminal;
  const size = terminal.columns === undefined ? {} : { columns: terminal.columns };
  const stdout = Object.assign(new PassThrough(), { isTTY, ...size });
  const stderr = new PassThrough();
  const out = createOutput({ stdout, stderr }, { NO_COLOR: '1', ...env }, () => {});
  printTable({ ...out, wide }, columns, rows);
  stdout.end();
  stderr.end();
  return { lines: (await text(stdout)).trimEnd().split('\n'), note: await text(stderr) };
}

const ROW = {
  id: 'x'.repeat(40),
  time: '2026-07-01T08:00:00.123Z',
  note: 'word '.repeat(20).trim(),
  last: 'end',
};
const COLUMNS: readonly Column<typeof ROW>[] = [
  ['id', (row) => row.id],
  ['time', (row) => row.time, 1],
  ['note', (row) => row.note, 'cut'],
  ['last', (row) => row.last, 2],
];

const FULL = `${ROW.id}  2026-07-01T08:00:00Z  ${ROW.note}  end`;

t.test('a terminal that is too narrow shortens texts, then drops columns, and names both', async (t) => {
  t.strictSame(await printed(COLUMNS, [ROW]), {
    lines: [
      `id${' '.repeat(40)}time                  note`,
      `${ROW.id}  2026-07-01T08:00:00Z  word word word…`,
    ],
    note: 'Not shown: last. Shortened: note. Add --wide to see all columns in full.\n',
  });
});

t.test('no id is cut, however narrow the terminal is', async (t) => {
  const { lines } = await printed(COLUMNS, [ROW], { columns: 20 });
  t.strictSame(lines[1], `${ROW.id}  word word word…`);
});

t.test('a table is printed in full without a terminal, with --wide, and where it fits', async (t) => {
  const whole: Terminal[] = [
    { isTTY: false },
    { isTTY: false, env: { COLUMNS: '40' } },
    { wide: true },
    { columns: 200 },
    { columns: 40, env: { COLUMNS: '200' } },
  ];
  for (const terminal of whole) {
    const { lines, note } = await printed(COLUMNS, [ROW], terminal);
    t.strictSame([lines[1], note], [FULL, ''], JSON.stringify(terminal));
  }
  for (const COLUMNS_ of ['', '0', 'wide']) {
    const { lines } = await printed(COLUMNS, [ROW], { columns: 200, env: { COLUMNS: COLUMNS_ } });
    t.equal(lines[1], FULL, 'a COLUMNS that is no width is ignored');
  }
});

t.test('columns of money are right-aligned, and columns without values are not', async (t) => {
  const columns: Column<string>[] = [
    ['amount', (amount) => amount],
    ['ends', () => null],
    ['id', () => 'x'],
  ];
  t.strictSame((await printed(columns, ['$1,205.27', '-'])).lines, [
    '   amount  ends  id',
    '$1,205.27  -     x',
    '        -  -     x',
  ]);
});

t.test('a quoted command is never broken', async (t) => {
  t.strictSame(wrapped('Run "benefits-sidecar keys rotate", then start again.', 30), [
    'Run',
    '"benefits-sidecar keys rotate",',
    'then start again.',
  ]);
});

t.test('a table is wider than the terminal only by columns that are always shown', async (t) => {
  const fit = fc.constantFrom(undefined, 1, 2, 3, 'cut' as const);
  const column = fc.record({ fit, width: fc.nat(120) });
  const property = fc.asyncProperty(fc.array(column, { minLength: 1, maxLength: 12 }), async (given) => {
    const columns = given.map(
      ({ width, fit }, index): Column<null> =>
        fit === undefined
          ? [`h${index}`, () => 'v'.repeat(width)]
          : [`h${index}`, () => 'v'.repeat(width), fit],
    );
    const { lines } = await printed(columns, [null]);
    const least = given.map(({ width, fit }, index) =>
      typeof fit === 'number'
        ? 0
        : 2 + Math.max(`h${index}`.length, fit === 'cut' ? Math.min(width, 16) : width),
    );
    const most = Math.max(WIDTH, least.reduce((sum, width) => sum + width, 0) - 2);
    return lines.every((line) => line.length <= most);
  });
  await fc.assert(property);
  t.pass();
});

const LONG = `long-${'x'.repeat(90)}`;

t.test('no table of the commands cuts an id on a terminal', async (t) => {
  const { env, db, deduct, run, file } = await payrollStage(t);
  const succeed = async (...argv: string[]) => {
    const ran = await here(t, { ...env, NO_COLOR: '1' }, argv);
    t.equal(ran.code, 0, `${argv.join(' ')}: ${ran.stderr}`);
    return ran;
  };
  await employ(db, LONG);
  await deduct(LONG, { id: LONG, employee_id: LONG, line_of_coverage: 'voluntary_short_term_disability' });
  await deduct('evt-bad', { id: 'ded-bad', member_contribution: 5, employee_id: LONG });
  const changes = `employee_id,termination_date\n${LONG},2026-12-31\n`;
  const reported = await succeed('change', 'termination', file('leavers.csv', changes), '--json');
  const policy = { effective_from: '2026-01-01', applies_on: 'period_end', open_items: 'include' };
  const line_of_coverage = 'voluntary_short_term_disability';
  const codes = [{ line_of_coverage, side: 'employee', code: 'x'.repeat(60) }];
  const ofEmployer = ['--employer', EMPLOYER];
  await succeed('policy', 'put', file('policy.json', JSON.stringify(policy)), ...ofEmployer);
  await succeed('codes', 'put', file('codes.json', JSON.stringify({ codes })), ...ofEmployer);
  await succeed('token', 'create', '--name', 'n'.repeat(64), '--scope', 'ledger:read', 'runs:read');
  await run('create', LONG, ...optionsOn('2026-07-31'));
  await run('create', 'r1', ...optionsOn(PAY_DATE), '--employee', 'emp-1');
  const audited = file('audit.csv', `employee_id,line_of_coverage,member_amount\n${LONG},dental,1.00\n`);
  await succeed('census', 'sync', ...ofEmployer);

  const tables = [
    ...['events list', 'deductions list', `deductions versions ${LONG}`, 'change list', 'token list'],
    ...['run list', 'run show r1', `run audit r1 ${audited}`, 'retention --dry-run', 'keys rotate'],
    ...['schedule', 'policy', 'codes', 'census'].map((noun) => `${noun} show ${ofEmployer.join(' ')}`),
  ].map((command) => command.split(' '));
  t.equal(jsonOf(reported).accepted, 1);
  for (const argv of tables) {
    const plain = await here(t, { ...env, NO_COLOR: '1' }, argv);
    t.not(plain.stdout, '', argv.join(' '));
    const { stdout } = await here(t, { ...env, NO_COLOR: '1' }, argv, { isTTY: true });
    const ids = stdout.split(/\s+/).filter((word) => word.startsWith('long-'));
    for (const id of ids) t.equal(id, LONG, `${argv.join(' ')}: no id is cut`);
  }
  for (const [noun = '', ...verb] of tables.slice(0, 4))
    t.match((await succeed(noun, ...verb)).stdout, LONG, `${noun} shows long values in full in a pipe`);
});

/** Clears the screen in two ways, reorders the text after it, and begins a forged line. */
const HOSTILE = 'x\u001b[2J\u009b2J\u007f\u0007\u202e\u2066\ny\r';
/** A file name without the line break, because the name's suffix selects the format. */
const ONE_LINE = HOSTILE.replaceAll(/[\r\n]/g, '');

const ESC = '\u001b';
const STYLE = new RegExp(`${ESC}\\[(?:1|2|22|31|32|33|39)m`, 'g');

/** Everything that may reach a terminal: text, line ends and the command line's colors. */
function assertHarmless(t: Test, { stdout, stderr }: Ran, name: string): void {
  const rest = `${stdout}${stderr}`.replaceAll(STYLE, '');
  t.notMatch(rest, /[^\P{Cc}\n]|[\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/u, name);
  t.notMatch(rest, /^y/m, `${name}: no forged line`);
}

async function harmless(t: Test, env: Variables, argv: string[], isTTY = true): Promise<Ran> {
  const ran = await here(t, env, argv, { isTTY });
  assertHarmless(t, ran, argv.slice(0, 2).join(' '));
  return ran;
}

t.test('arguments are quoted without their control characters', async (t) => {
  const { env } = await withDatabase(t);
  for (const argv of [
    [HOSTILE],
    ['events', HOSTILE],
    ['events', 'list', `--${HOSTILE}`],
    ['events', 'list', '--state', HOSTILE],
    ['events', 'show', HOSTILE],
    ['events', 'dismiss', HOSTILE, '--reason', HOSTILE, '--yes'],
    ['run', 'taken', 'r', `${ONE_LINE}.csv`],
    ['change', 'show', HOSTILE],
    ['deductions', 'versions', HOSTILE],
    ['census', 'validate', `${ONE_LINE}.json`],
    ['census', 'stage', `${ONE_LINE}.csv`, '--employer', HOSTILE],
    ['token', 'revoke', HOSTILE, '--yes'],
    ['restore', HOSTILE],
    ['copy', '--from', `sqlite:${HOSTILE}`, '--to', 'postgres://127.0.0.1:9/x'],
    ['migrate', HOSTILE],
  ]) {
    const ran = await harmless(t, env, argv);
    t.not(ran.code, 0);
    t.match(ran.stderr, '\\u001b[2J\\u009b2J\\u007f', `${argv.join(' ')}: it is shown escaped`);
  }
});

t.test('the stack of an error is printed without control characters', async (t) => {
  const debug = { ...environment(t), LOG_LEVEL: 'debug' };
  const ran = await here(t, debug, ['census', 'validate', `${ONE_LINE}.json`], { isTTY: true });
  t.match(ran.stderr, /\n\s+at /);
  t.notMatch(ran.stderr, /[^\P{Cc}\n]/u);
});

t.test('stored text is shown escaped, and JSON keeps its exact value', async (t) => {
  const { env, db } = await withDatabase(t);
  await receive(db, [{ eventId: 'msg_evil', body: Buffer.from(ONE_LINE) }]);
  t.match((await harmless(t, env, ['events', 'show', 'msg_evil'], false)).stdout, '\\u007f\\u0007');
  for (const isTTY of [true, false]) {
    const ran = await harmless(t, env, ['events', 'show', 'msg_evil', '--json'], isTTY);
    t.equal(jsonOf(ran).body, ONE_LINE);
  }
});

t.test('programs receive exact CSV and JSON, terminals no control characters', async (t) => {
  const { run, deduct, env, db } = await payrollStage(t);
  // A payroll line shows the employee's id as the service wrote it.
  const employee = 'emp\u007f\u009b2J\u202e-1';
  await employ(db, employee);
  await deduct('evt-3', { id: 'ded-3', employee_id: employee });
  t.equal((await run('create', 'r1', ...optionsOn(PAY_DATE), '--employee', employee)).code, 0);
  const lines = ['run', 'lines', 'r1'];
  const csv = await here(t, env, [...lines, '--csv']);
  const [{ employee_id } = {}] = parse(csv.stdout, { columns: true }) as Record<string, string>[];
  t.equal(employee_id, employee);
  t.match((await harmless(t, env, [...lines, '--csv'])).stdout, /^r1,.*,emp\\u007f\\u009b2J\\u202e-1,/m);
  for (const isTTY of [true, false]) {
    const ran = await harmless(t, env, [...lines, '--json'], isTTY);
    t.equal(jsonOf(ran).employee_id, employee);
    t.match((await harmless(t, env, lines, isTTY)).stdout, 'emp\\u007f\\u009b2J\\u202e-1');
  }
});
