/** The walk-through of the README, command by command. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { here } from '../cli/harness.ts';
import { eventually } from '../support/eventually.ts';
import { loading } from '../support/loading.ts';
import { lastingPort } from '../support/settings.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const page =
  readFileSync(join(ROOT, 'README.md'), 'utf8').split('## Finalize your first payroll run')[1] ?? '';
const blocks = [...page.matchAll(/^```(sh|text)\n(.*?)^```$/gms)].map(([, language, script = '']) => ({
  language,
  script,
}));

/** Deductions of maple-bakery in the world that the simulator generates. */
const ENROLLED = 19;

const skip = spawnSync('bash', ['--version']).error === undefined ? false : 'bash is not installed';

t.test('the walk-through of the README ends in a finalized run', { skip }, async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'readme-'));
  const [service, receiver, api] = [await lastingPort(), await lastingPort(), await lastingPort()];
  /** The same commands on free ports, with the database in a folder of this test. */
  const adapted = (script: string) =>
    script
      .replaceAll('data/sandbox', folder)
      .replace('. fixtures/sandbox.sh', sandbox)
      .replace(
        '-dev simulate ',
        `-dev simulate --port ${service} --webhook-url http://127.0.0.1:${receiver}/webhooks `,
      );
  const sandbox = readFileSync(join(ROOT, 'fixtures/sandbox.sh'), 'utf8')
    .replace('http://127.0.0.1:8090', `http://127.0.0.1:${service}`)
    .replaceAll('./data/sandbox', folder)
    .concat(`export RECEIVER_PORT=${receiver} API_PORT=${api}\n`);
  const { PATH, HOME } = process.env;
  const shell = (script: string) =>
    spawn('bash', ['-eu', '-c', script], { cwd: ROOT, env: { PATH, HOME, ...loading() } });
  const [simulate = '', serve = '', ...rest] = blocks.map(({ language, script }) =>
    language === 'sh' ? adapted(script) : script,
  );

  const running: ChildProcess[] = [];
  t.teardown(async () => {
    for (const child of running.reverse()) {
      child.kill('SIGTERM');
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
    }
    rmSync(folder, { recursive: true });
  });
  const start = async (script: string, isUp: RegExp): Promise<void> => {
    // `exec` makes the signal reach the process instead of the shell.
    const child = shell(
      script.replace(/^benefits-sidecar(-dev)? /m, (_, dev) => `exec node src/${dev ? 'dev/' : ''}main.ts `),
    );
    running.push(child);
    let output = '';
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (part: Buffer) => {
        output += part;
      });
    await eventually(String(isUp), () => isUp.test(output), true);
  };
  await start(simulate, /Waiting for/);
  await start(serve, /private listener ready/);

  const run = async (script: string) => {
    const child = shell(script);
    const [output, errors] = [text(child.stdout), text(child.stderr)];
    const [code] = await once(child, 'close');
    return { code, output: await output, errors: await errors };
  };
  const env = Object.fromEntries(
    [...sandbox.matchAll(/^export (?!PATH)(\w+)=(.*)$/gm)].map(([, ...pair]) => pair),
  );
  const list = ['deductions', 'list', '--employer', 'maple-bakery', '--json'];
  const enrolled = async () => (await here(t, env, list)).stdout.split('"ded_').length > ENROLLED;
  await eventually('every employee has enrolled', enrolled, true);
  const commands = rest.filter((_, index) => blocks[index + 2]?.language === 'sh');
  const { code, output, errors } = await run(commands.join(''));
  t.equal(code, 0, errors);
  const shown = rest.filter((_, index) => blocks[index + 2]?.language === 'text');
  t.equal(shown.length, 3);
  for (const lines of shown) t.ok(output.includes(lines.trimEnd()), lines);
});
