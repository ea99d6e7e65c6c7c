/** The demo as users start it. test/faults/demo-fails.test.ts covers failures. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import t, { type Test } from 'tap';
import type { DeductionView } from '../../src/ledger/deductions.ts';
import { dollars } from '../../src/money.ts';
import { DEFAULT_SEED, makeWorld } from '../../src/simulator/world.ts';
import { collect } from '../support/collect.ts';

const PROJECT = fileURLToPath(new URL('../../', import.meta.url));
const COLUMNS = 80;
const STEPS = 9;
/** 256 bits in base64url: the form of the token and of the demo's keys. */
const KEY = /[A-Za-z0-9_-]{43,}/g;

type Running = { child: ChildProcess; stdout: () => string; stderr: () => string };

/** Starts the real executable with its own folder for scratch folders. */
function start(t: Test, scratch: string, ...options: string[]): Running {
  const child = spawn(process.execPath, ['src/main.ts', 'demo', ...options], {
    cwd: PROJECT,
    env: { TMPDIR: scratch, NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE },
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
    .map((state) =>
      [
        state.employee_id,
        state.line_of_coverage,
        dollars(state.member_contribution),
        dollars(state.employer_contribution),
        state.period,
        state.effective_end?.slice(0, 10) ?? '-',
      ].join(' '),
    )
    .sort();
}

/** A printed line of a run with the explanation below it. */
const PRINTED_LINE =
  /^ {3}(\S+) {2}(\w+) +(-?\$[\d,]+\.\d\d) \+ +(-?\$[\d,]+\.\d\d) {2}(.*)\n((?: {8}.*\n)+)/gm;
const SHARE =
  /([\d,]+\.\d\d) monthly × 12 = ([\d,.]+) a year; check (\d+) of (\d+)(?:;| takes the rest: [^=]* =) ([\d,.]+)/g;
const WHOLE = /([\d,]+\.\d\d) (\w+) on each \2 check(?!, rounded)/g;
const cents = (amount: string | undefined): number => Math.round(Number(amount?.replace(/[$,]/g, '')) * 100);

/** Asserts that the text printed below each payroll amount explains it to the cent. */
function assertExplained(t: Test, printed: string): void {
  const lines = [...printed.matchAll(PRINTED_LINE)];
  const count = (words: string) => lines.filter(([, , , , , what = '']) => what.startsWith(words)).length;
  t.equal(count('new'), 7 + 8, 'all lines of the first runs');
  t.equal(count('ended, was'), 1);
  t.equal(count('adjustment'), 2);
  let shares = 0;
  for (const [, , , member, employer, what = '', below = ''] of lines) {
    const text = below.replace(/\n +/g, ' ').trim();
    const results: number[] = [];
    for (const [, amount, year, check, checks, share] of text.matchAll(SHARE)) {
      shares += 1;
      t.equal(cents(year), cents(amount) * 12);
      const each = Math.floor(cents(year) / Number(checks));
      const last = cents(year) - each * (Number(checks) - 1);
      t.equal(cents(share), check === checks ? last : each);
      results.push(cents(share));
    }
    for (const [, amount] of text.matchAll(WHOLE)) results.push(cents(amount));
    if (what.startsWith('adjustment')) {
      const [, due, was, difference] = /(\S+) due, (\S+) finalized: (\S+)/.exec(text) ?? [];
      t.equal(cents(due), results[0]);
      t.equal(cents(difference), cents(due) - cents(was));
      t.equal(cents(difference), cents(member), 'an adjustment is the difference of rounded amounts');
      t.equal(employer, '$0.00');
    } else if (what.startsWith('ended')) t.strictSame([member, employer], ['$0.00', '$0.00']);
    else {
      const amounts = [member, employer].filter((amount) => amount !== '$0.00').map(cents);
      t.strictSame(results, amounts, `${member} and ${employer} are explained`);
    }
  }
  t.ok(shares >= 15, 'including shares of a year in the first run and in the adjustments');
  t.match(printed, /employees pay \$1,193\.27, the employer \$2,609\.91\./, 'the monthly run');
  t.match(
    printed,
    /employees pay \$1,205\.27, the employer \$2,609\.91\./,
    'the next run has $6.00 more and a $6.00 adjustment',
  );
  t.match(printed, /medical +\$6\.00 \+ +\$0\.00 {2}adjustment\n +run maple-bakery-/);
  t.match(printed, 'Not in the run: maple-bakery-005 (other_frequency).');
  t.match(printed, 'ok  The check employees-not-scheduled fails: no pay schedule covers them.');
  t.match(printed, 'Payroll accepts employees-not-scheduled by name');
  t.match(printed, 'ok  Every employee of harbor-clinic with a deduction is in a run.');
  t.match(printed, 'flags: retro_pre_tax');
  t.match(printed, /flags: .*retro_refund/);
}

t.test(
  'demo --once plays every step, explains each amount, returns 0 and leaves nothing behind',
  async (t) => {
    const scratch = t.testdir();
    const running = start(t, scratch, '--once');
    const exitCode = await exitCodeOf(running);
    t.equal(running.stderr(), '');
    t.equal(exitCode, 0);
    t.strictSame(readdirSync(scratch), []);

    const text = running.stdout();
    const steps = text.match(/^\d\. /gm) ?? [];
    t.strictSame(
      steps,
      Array.from({ length: STEPS }, (_, index) => `${index + 1}. `),
    );
    t.match(text, `All ${STEPS} steps succeeded`);
    t.match(
      text,
      /^Maple Bakery Inc \(maple-bakery\)\nemployee +coverage +employee pays +employer pays +period +ends$/m,
    );
    t.match(text, /^maple-bakery-001 +medical +\$171\.00 +\$\d+\.\d\d +monthly +-$/m);
    t.match(text, /^harbor-clinic-001 +dental +\$\d+\.\d\d +\$\d+\.\d\d +monthly +\d{4}-\d\d-\d\d$/m);

    assertExplained(t, text);

    const ours = text.replaceAll(scratch, '');
    t.strictSame(ours.match(KEY), null, 'no key, secret or token');
    t.notMatch(ours, 'whsec_');
    t.notMatch(ours, '\u001b', 'no colors unless it is a terminal');
    for (const { employees } of makeWorld(DEFAULT_SEED).values()) {
      for (const { ssn, email, dob, phone_number } of employees) {
        const personal = [ssn, email, dob, phone_number].filter((value) => value !== undefined);
        t.notOk(
          personal.some((value) => ours.includes(value)),
          'nothing personal',
        );
      }
    }
    t.strictSame(
      ours.split('\n').filter((line) => line.length > COLUMNS),
      [],
    );
  },
);

t.test('the demo stays up, the printed commands work, and Ctrl-C ends it', async (t) => {
  const scratch = t.testdir();
  const running = start(t, scratch);
  const { child, stdout } = running;
  while (!stdout().includes('Ctrl-C ends the demo') && child.exitCode === null)
    await once(child.stdout!, 'data');
  const text = stdout();

  const [, api, token = ''] = /^ {2}export API=(\S+) TOKEN=(\S+)$/m.exec(text) ?? [];
  t.strictSame(text.replaceAll(scratch, '').match(KEY), [token], 'the token is the only key shown');
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
  t.match(
    running.stderr(),
    /^benefits-sidecar: cannot create a scratch folder in \/nonexistent \(ENOENT\): set TMPDIR/,
  );
});
