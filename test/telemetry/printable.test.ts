import { execFile } from 'node:child_process';
import { mock } from 'node:test';
import { promisify, styleText } from 'node:util';
import t from 'tap';
import type { LogFields } from '../../src/telemetry/log.ts';
import { printable, printableLines } from '../../src/telemetry/printable.ts';
import { type Failures, rateLimited, rateLimitedLines } from '../../src/telemetry/rate-limited-log.ts';

/** C0, DEL, C1, separators, and the controls of the bidirectional algorithm. */
const UNPRINTABLE = [
  ...range(0x00, 0x1f),
  ...range(0x7f, 0x9f),
  ...[0x61c, 0x200e, 0x200f, 0x2028, 0x2029],
  ...range(0x202a, 0x202e),
  ...range(0x2066, 0x2069),
].map((code) => String.fromCodePoint(code));

function range(first: number, last: number): number[] {
  return Array.from({ length: last - first + 1 }, (_, index) => first + index);
}

t.test('every control character is escaped, and nothing else is', async (t) => {
  for (let code = 0; code < 0x11_0000; code += 1) {
    const character = String.fromCodePoint(code);
    const isEscaped = UNPRINTABLE.includes(character);
    const expected = isEscaped ? `\\u${code.toString(16).padStart(4, '0')}` : character;
    if (printable(character) !== expected) t.fail(`U+${code.toString(16)}`);
  }
  t.equal(printable('Ωμέγα 李 🙂 \\u001b'), 'Ωμέγα 李 🙂 \\u001b');
});

t.test('line ends are kept, and styled text keeps only the colors of the command line', async (t) => {
  t.equal(printableLines('a\nb\r\n\tc'), 'a\nb\\u000d\n\\u0009c');
  const green = styleText('green', 'pass', { validateStream: false });
  t.equal(printableLines(green, true), green);
  t.equal(printableLines(green), '\\u001b[32mpass\\u001b[39m');
  const title = '\u001b]0;title\u0007';
  for (const sequence of ['\u001b[2J', '\u001b[8m', '\u001b[31;8m', title, '\u009b31m', '\u001b'])
    t.match(printableLines(sequence, true), /^\\u00[19]b[^\p{Cc}]*$/u, JSON.stringify(sequence));
  t.equal(printableLines('a\n[31mb', true), 'a\n[31mb', 'a line may begin like the end of a color sequence');
});

t.test('escaped JSON has the same value, with and without indentation', async (t) => {
  const value = { [UNPRINTABLE.join('')]: [UNPRINTABLE.join(''), '\\u007f', 'é'] };
  for (const space of [0, 2]) {
    const text = printableLines(JSON.stringify(value, null, space));
    t.notMatch(text, /[^\P{Cc}\n]|[\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/u);
    t.strictSame(JSON.parse(text), value);
  }
});

const LOG = new URL('../../src/telemetry/log.ts', import.meta.url);

t.test('a log line contains no control characters, as JSON or as text', async (t) => {
  const reason = UNPRINTABLE.join('');
  const logged = async (forPeople: boolean): Promise<string> => {
    const value = printable(JSON.stringify(reason));
    const program = `import('${LOG}').then(({ createLog }) => {
      createLog('info', ${forPeople}).info({ reason: ${value}, code: 'é' }, 'said');
    })`;
    const { stdout } = await promisify(execFile)(process.execPath, ['-e', program]);
    t.notMatch(stdout, /[^\P{Cc}\n]|[\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/u);
    t.equal(stdout.match(/\n/g)?.length, forPeople ? 3 : 1, stdout);
    t.match(stdout, 'é');
    return stdout;
  };
  t.match(JSON.parse(await logged(false)), { reason, code: 'é', msg: 'said' });
  t.match(await logged(true), /\\u0000.*\\u001b.*\\u007f\\u0080.*\\u009f\\u061c.*\\u2069"\n/);
});

t.test('the first failure is logged immediately, later ones once per second', async (t) => {
  mock.timers.enable({ apis: ['setTimeout'] });
  t.teardown(() => mock.timers.reset());
  const logged: Failures[] = [];
  const failed = rateLimited((failures) => logged.push(failures));

  failed({ code: 'A', count: 1 });
  t.strictSame(logged, [{ code: 'A', count: 1 }]);
  failed({ code: 'A', count: 2 });
  failed({ code: 'B', count: 3 });
  mock.timers.tick(999);
  t.equal(logged.length, 1);
  mock.timers.tick(1);
  t.strictSame(logged.slice(1), [{ code: 'B', count: 5 }]);

  mock.timers.tick(1_000);
  t.equal(logged.length, 2, 'nothing more failed');
  failed({ code: 'C', count: 1 });
  t.strictSame(logged.slice(2), [{ code: 'C', count: 1 }], 'immediately again');
});

t.test('lines that differ in their ids only are counted in one line without them', async (t) => {
  mock.timers.enable({ apis: ['setTimeout'] });
  t.teardown(() => mock.timers.reset());
  const logged: LogFields[] = [];
  const log = rateLimitedLines({ line: (fields) => logged.push(fields), others: () => {} });
  for (const [index, reason] of ['a', 'a', 'b', 'a'].entries())
    log({ reason }, { request_id: String(index + 1) });
  mock.timers.tick(1_000);
  t.strictSame(logged, [
    { reason: 'a', request_id: '1', count: 1 },
    { reason: 'a', count: 2 },
    { reason: 'b', request_id: '3', count: 1 },
  ]);
});
