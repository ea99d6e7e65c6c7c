/** Follows the README's walk-through in real shells, with its own commands. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { eventually } from '../support/eventually.ts';
import { lastingPort } from '../support/settings.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const page =
  readFileSync(join(ROOT, 'README.md'), 'utf8').split('## Finalize your first payroll run')[1] ?? '';
const blocks = [...page.matchAll(/^```(sh|text)\n(.*?)^```$/gms)].map(([, language, text = '']) => ({
  language,
  text,
}));

/** Deductions of maple-bakery in the world that the simulator generates. */
const ENROLLED = 19;

const skip = spawnSync('bash', ['--version']).error === undefined ? false : 'bash is not installed';

t.test(
  'the walk-through of the README ends in a finalized run, with the output it shows',
  { skip },
  async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'readme-'));
    const [service, receiver, api] = [await lastingPort(), await lastingPort(), await lastingPort()];
    /** The same commands on free ports, with the database in a folder of this test. */
    const adapted = (text: string) =>
      text
        .replaceAll('data/sandbox', folder)
        .replace('. fixtures/sandbox.sh', sandbox)
        .replace(
          ' simulate ',
          ` simulate --port ${service} --webhook-url http://127.0.0.1:${receiver}/webhooks `,
        );
    const sandbox = readFileSync(join(ROOT, 'fixtures/sandbox.sh'), 'utf8')
      .replace('http://127.0.0.1:8090', `http://127.0.0.1:${service}`)
      .replaceAll('./data/sandbox', folder)
      .concat(`export RECEIVER_PORT=${receiver} API_PORT=${api}\n`);
    const { PATH, HOME, NODE_COMPILE_CACHE } = process.env;
    const shell = (script: string) =>
      spawn('bash', ['-eu', '-c', script], { cwd: ROOT, env: { PATH, HOME, NODE_COMPILE_CACHE } });
    const [simulate = '', serve = '', ...rest] = blocks.map(({ language, text }) =>
      language === 'sh' ? adapted(text) : text,
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
      const child = shell(script.replace(/^benefits-sidecar /m, 'exec node src/main.ts '));
      running.push(child);
      let output = '';
      for (const stream of [child.stdout, child.stderr]) {
        stream?.setEncoding('utf8').on('data', (part: string) => {
          output += part;
        });
      }
      await eventually(
        String(isUp),
        () => output,
        (text) => isUp.test(text),
      );
    };
    await start(simulate, /Waiting for/);
    await start(serve, /private listener ready/);

    const run = async (script: string) => {
      const child = shell(script);
      let [output, errors] = ['', ''];
      child.stdout?.setEncoding('utf8').on('data', (part: string) => {
        output += part;
      });
      child.stderr?.setEncoding('utf8').on('data', (part: string) => {
        errors += part;
      });
      const [code] = await once(child, 'close');
      return { code, output, errors };
    };
    const list = `${sandbox}benefits-sidecar deductions list --employer maple-bakery --json`;
    await eventually(
      'every employee has enrolled',
      () => run(list),
      ({ output }) => {
        return output.split('"ded_').length > ENROLLED;
      },
    );
    const commands = rest.filter((_, index) => blocks[index + 2]?.language === 'sh');
    const { code, output, errors } = await run(commands.join(''));
    t.equal(code, 0, errors);
    const shown = rest.filter((_, index) => blocks[index + 2]?.language === 'text');
    t.equal(shown.length, 3);
    for (const text of shown) t.ok(output.includes(text.trimEnd()), text);
  },
);
