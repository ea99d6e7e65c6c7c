import { parse } from 'csv-parse/sync';
import t, { type Test } from 'tap';
import { receive } from '../api/deliver.ts';
import { employ } from '../support/payroll.ts';
import { environment, here, jsonOf, type Ran, type Variables, withDatabase } from './harness.ts';
import { optionsOn, PAY_DATE, payrollStage } from './payroll-stage.ts';

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
    ['events', 'list', '--limit', HOSTILE],
    ['events', 'list', '--state', HOSTILE],
    ['events', 'show', HOSTILE],
    ['events', 'dismiss', HOSTILE, '--reason', HOSTILE, '--yes'],
    ['run', 'show', HOSTILE],
    ['run', 'taken', 'r', `${ONE_LINE}.csv`],
    ['change', 'show', HOSTILE],
    ['deductions', 'versions', HOSTILE],
    ['census', 'validate', `${ONE_LINE}.json`],
    ['census', 'stage', `${ONE_LINE}.csv`, '--employer', HOSTILE],
    ['token', 'revoke', HOSTILE, '--yes'],
    ['replay', HOSTILE],
    ['restore', HOSTILE],
    ['simulate', '--fault', HOSTILE],
    ['copy', '--from', `sqlite:${HOSTILE}`, '--to', 'postgres://127.0.0.1:9/x'],
    ['migrate', HOSTILE],
  ]) {
    const ran = await harmless(t, env, argv);
    t.not(ran.code, 0);
    t.match(ran.stderr, '\\u001b[2J\\u009b2J\\u007f', `${argv.join(' ')}: it is shown escaped`);
  }
});

t.test('suggestions of commander stay on one line', async (t) => {
  const { stderr } = await harmless(t, environment(t), ['events', 'lst']);
  t.match(stderr, /^error: unknown command 'lst'\n\(Did you mean list\?\)$/m);
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

t.test(
  'files and programs receive exact CSV and JSON, terminals receive no control characters',
  async (t) => {
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
  },
);
