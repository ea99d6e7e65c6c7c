/** Tables fit 80 columns, whatever they hold, and show everything with --wide. */
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import t from 'tap';
import { type Column, createOutput, printTable, WIDTH, wrapped } from '../../src/cli/output.ts';
import { EMPLOYER, employ } from '../support/payroll.ts';
import fc from '../support/seeded.ts';
import { here, jsonOf } from './harness.ts';
import { optionsOn, PAY_DATE, payrollStage } from './payroll-stage.ts';

/** Returns the lines of a table on a stream that is no terminal. */
async function printed<Row>(columns: readonly Column<Row>[], rows: readonly Row[], wide = false) {
  const stdout = new PassThrough();
  const out = createOutput({ stdout, stderr: new PassThrough() }, {}, () => {});
  printTable({ ...out, wide }, columns, rows);
  stdout.end();
  return (await text(stdout)).trimEnd().split('\n');
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

t.test('a table that is too wide shortens marked columns, then drops columns by priority', async (t) => {
  t.strictSame(await printed(COLUMNS, [ROW]), [
    `id${' '.repeat(40)}time                  note`,
    `${ROW.id}  2026-07-01T08:00:00Z  word word word…`,
  ]);
});

t.test('--wide shows all columns in full, with times to the second', async (t) => {
  const [, row] = await printed(COLUMNS, [ROW], true);
  t.equal(row, `${ROW.id}  2026-07-01T08:00:00Z  ${ROW.note}  end`);
});

t.test('columns of money are right-aligned, and columns without values are not', async (t) => {
  const columns: Column<string>[] = [
    ['amount', (amount) => amount],
    ['ends', () => null],
    ['id', () => 'x'],
  ];
  t.strictSame(await printed(columns, ['$1,205.27', '-']), [
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

t.test('no table is wider than 80 columns', async (t) => {
  const fit = fc.constantFrom(0, 1, 2, 3, 'cut' as const);
  const column = fc.record({ fit, width: fc.nat(120) });
  const property = fc.asyncProperty(fc.array(column, { minLength: 1, maxLength: 12 }), async (given) => {
    const columns = given.map(
      ({ width, fit }, index): Column<null> => [`h${index}`, () => 'v'.repeat(width), fit],
    );
    const lines = await printed(columns, [null]);
    return lines.every((line) => line.length <= WIDTH);
  });
  await fc.assert(property);
  t.pass();
});

const LONG = `long-${'x'.repeat(90)}`;

t.test('every table of the commands fits with long values', async (t) => {
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
  const policy = { effective_from: '2026-01-01', scheme: 'first-checks', arrears: 'include' };
  const code = {
    line_of_coverage: 'voluntary_short_term_disability',
    side: 'employee',
    code: 'x'.repeat(60),
  };
  await succeed('policy', 'put', file('policy.json', JSON.stringify(policy)), '--employer', EMPLOYER);
  await succeed(
    'codes',
    'put',
    file('codes.json', JSON.stringify({ codes: [code] })),
    '--employer',
    EMPLOYER,
  );
  await succeed(
    'token',
    'create',
    '--name',
    'n'.repeat(64),
    '--scope',
    'ledger:read',
    'runs:read',
    'runs:write',
  );
  await run('create', LONG, ...optionsOn(PAY_DATE));
  await run('create', 'r1', ...optionsOn(PAY_DATE), '--employee', 'emp-1');
  const audited = file('audit.csv', `employee_id,line_of_coverage,member_amount\n${LONG},dental,1.00\n`);
  await succeed('census', 'sync', '--employer', EMPLOYER);

  const ofEmployer = ['--employer', EMPLOYER];
  const tables: string[][] = [
    ['events', 'list'],
    ['deductions', 'list'],
    ['deductions', 'versions', LONG],
    ['change', 'list'],
    ['token', 'list'],
    ['run', 'list'],
    ['run', 'show', 'r1'],
    ['run', 'audit', 'r1', audited],
    ['schedule', 'show', ...ofEmployer],
    ['policy', 'show', ...ofEmployer],
    ['codes', 'show', ...ofEmployer],
    ['census', 'show', ...ofEmployer],
    ['retention', '--dry-run'],
    ['keys', 'rotate'],
    ['simulate', '--scenario', 'list'],
  ];
  t.equal(jsonOf(reported).accepted, 1);
  for (const argv of tables) {
    for (const isTTY of [false, true]) {
      const { stdout } = await here(t, { ...env, NO_COLOR: '1' }, argv, { isTTY });
      t.not(stdout, '', argv.join(' '));
      const isLong = (line: string) => [...line].length > WIDTH;
      t.strictSame(stdout.split('\n').filter(isLong), [], argv.join(' '));
    }
  }
  for (const [noun = '', ...verb] of tables.slice(0, 4)) {
    t.match(
      (await succeed(noun, ...verb, '--wide')).stdout,
      LONG,
      `${noun} --wide shows long values in full`,
    );
  }
});
