import { spawn } from 'node:child_process';
import { once } from 'node:events';
import t from 'tap';

const LOG = new URL('../../src/telemetry/log.ts', import.meta.url);
/** Far more than waits in memory and in a pipe. */
const LINES = 20_000;

/** Logs many lines, then waits for its standard input, which no thread that waits for a pipe would read. */
const PROGRAM = `
  const { createLog, droppedLines, flushLog } = await import('${LOG}');
  const log = createLog('info', false);
  for (let line = 0; line < ${LINES}; line += 1) log.warn({ reason: 'x'.repeat(200) }, 'said');
  process.stderr.write(droppedLines() + '\\n');
  process.stdin.once('data', async () => {
    await flushLog();
    process.exit(0);
  });
`;

t.test('lines of a log whose reader stalls are dropped, counted and reported', async (t) => {
  for (const reads of [true, false]) {
    const child = spawn(process.execPath, ['--input-type=module', '-e', PROGRAM]);
    t.teardown(() => child.kill('SIGKILL'));
    const [report] = (await once(child.stderr, 'data')) as [Buffer];
    const dropped = Number(report.toString());
    t.ok(dropped > 0 && dropped < LINES, `${dropped} lines were dropped while nothing read`);
    if (!reads) {
      child.stdin.write('end');
      t.strictSame(await once(child, 'exit'), [0, null], 'an end does not wait for the reader');
      continue;
    }
    let logged = '';
    for await (const part of child.stdout.setEncoding('utf8')) {
      logged += part;
      if (logged.includes('dropped') && logged.endsWith('\n')) child.stdin.write('end');
    }
    const lines = logged.trimEnd().split('\n');
    t.equal(lines.length, LINES - dropped + 1);
    const reported = { level: 'warn', count: dropped, msg: /dropped/ };
    t.match(JSON.parse(lines.at(-1) as string), reported, 'when it flows again');
  }
});
