/** The demo as users start it. test/faults/demo-fails.test.ts covers failures. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import t, { type Test } from 'tap';
import type { DeductionView } from '../../src/ledger/deduction-views.ts';
import { dollars } from '../../src/money.ts';
import { DEFAULT_SEED, makeWorld } from '../../src/simulator/world.ts';
import { collect } from '../support/collect.ts';
import { loading } from '../support/loading.ts';

const PROJECT = fileURLToPath(new URL('../../', import.meta.url));
const COLUMNS = 80;
const STEPS = 9;
/** A newcomer reads as many without scrolling. */
const LINES_MAX = 40;
/** 256 bits in base64url: the form of the token and of the demo's keys. */
const KEY = /[A-Za-z0-9_-]{43,}/g;

type Running = { child: ChildProcess; stdout: () => string; stderr: () => string };

/** Starts the real executable with its own folder for scratch folders. */
function start(t: Test, scratch: string, ...options: string[]): Running {
  const child = spawn(process.execPath, ['src/dev/main.ts', 'demo', ...options], {
    cwd: PROJECT,
    env: { TMPDIR: scratch, ...loading() },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  t.teardown(() => child.kill('SIGKILL'));
  return { child, stdout: collect(child.stdout!), stderr: collect(child.stderr!) };
}

async function exitCodeOf({ child }: Running): Promise<number | null> {
  const [code] = (await once(child, 'close')) as [number | null];
  return code;
}

/** Returns the API's list as rows of the table. */
function rowsOf(states: readonly DeductionView[]): string[] {
  return states
    .map((state) => {
      const amounts = [dollars(state.member_contribution), dollars(state.employer_contribution)];
      const terms = [...amounts, state.period, state.effective_end?.slice(0, 10) ?? '-'];
      return [state.employee_id, state.line_of_coverage, ...terms].join(' ');
    })
    .sort();
}

t.test('the demo shows every step in forty lines', async (t) => {
  const running = start(t, t.testdir());
  const { child, stdout } = running;
  while (!stdout().includes('Ctrl-C ends the demo') && child.exitCode === null)
    await once(child.stdout!, 'data');
  const lines = stdout().trimEnd().split('\n');
  t.ok(lines.length <= LINES_MAX, `${lines.length} lines`);
  t.match(stdout(), `All ${STEPS} steps succeeded`);
  t.equal(stdout().match(/^\d\. .*\n {3}ok {2}/gm)?.length, STEPS, 'each step has a result');
  child.kill('SIGINT');
  t.equal(await exitCodeOf(running), 0);
});

t.test('the demo plays every step, its commands work, and Ctrl-C ends it without a trace', async (t) => {
  const scratch = t.testdir();
  const running = start(t, scratch, '--verbose');
  const { child, stdout } = running;
  while (!stdout().includes('Ctrl-C ends the demo') && child.exitCode === null)
    await once(child.stdout!, 'data');
  const text = stdout();
  const steps = text.match(/^\d\. /gm) ?? [];
  t.equal(steps.join(''), '1. 2. 3. 4. 5. 6. 7. 8. 9. ');
  t.match(text, `All ${STEPS} steps succeeded`);
  const head =
    /^Maple Bakery Inc \(maple-bakery\)\nemployee +coverage +employee pays +employer pays +period +ends$/m;
  t.match(text, head);

  // Each step compares the amounts with its own: here is what only the text shows.
  for (const shown of [
    /maple-bakery: 3 runs, employees pay \$1,457\.70, the employer\s+\$3,189\.72\./,
    'Not in the run: maple-bakery-005 (other_frequency).',
    /medical +\$6\.00 \+ +\$0\.00 {2}adjustment\n +Paycheck of /,
  ])
    t.match(text, shown);

  const ours = text.replaceAll(scratch, '');
  const [, api, token = ''] = /^ {2}export API=(\S+) TOKEN=(\S+)$/m.exec(text) ?? [];
  t.strictSame(ours.match(KEY), [token], 'the token is the only key shown');
  t.notMatch(ours, 'whsec_');
  t.notMatch(ours, '\u001b', 'no colors unless it is a terminal');
  for (const { employees } of makeWorld(DEFAULT_SEED).values()) {
    for (const { ssn, email, dob, phone_number } of employees) {
      const personal = [ssn, email, dob, phone_number].filter((value) => value !== undefined);
      const shown = personal.filter((value) => ours.includes(value));
      t.strictSame(shown, [], 'nothing personal');
    }
  }
  const [report = ''] = ours.split('export API=');
  for (const line of report.split('\n')) t.ok(line.length <= COLUMNS, line);

  const curls = [...text.matchAll(/^ {2}curl -H "Authorization: Bearer \$TOKEN" "\$API(\/\S+)"$/gm)];
  t.equal(curls.length, 4);
  for (const [, path] of curls) {
    const answer = await fetch(`${api}${path}`, { headers: { authorization: `Bearer ${token}` } });
    t.equal(answer.status, 200, String(path));
    if (!path?.startsWith('/v1/deductions?')) continue;
    const { data } = (await answer.json()) as { data: DeductionView[] };
    const printed = [...text.matchAll(/^maple-bakery-\d{3} .*$/gm)].map(([row]) => row.replace(/ +/g, ' '));
    t.strictSame(printed.sort(), rowsOf(data), 'the table equals the API response');
  }
  const docs = /In a browser: (\S+)/.exec(text)?.[1] ?? '';
  const authorization = `Basic ${Buffer.from(`anyone:${token}`).toString('base64')}`;
  t.equal((await fetch(docs, { headers: { authorization } })).status, 200);

  child.kill('SIGINT');
  t.equal(await exitCodeOf(running), 0);
  t.equal(running.stderr(), '');
  t.strictSame(readdirSync(scratch), []);
});

t.test("the demo fails with the reason when it can't create its scratch folder", async (t) => {
  const running = start(t, '/nonexistent', '--once');
  t.equal(await exitCodeOf(running), 1);
  t.match(running.stderr(), /cannot create a scratch folder in \/nonexistent \(ENOENT\): set TMPDIR/);
});
