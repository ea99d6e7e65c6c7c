import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { execute } from './executable.ts';
import { withFixtures } from './harness.ts';

/** A module that changes the version Node reports. */
const pretend = (version: string): string[] => [
  '--import',
  `data:text/javascript,Object.defineProperty(process.versions, 'node', { value: '${version}' })`,
];

for (const version of ['18.20.0', '20.20.2', '22.18.0']) {
  t.test(`Node ${version} is rejected in one line before anything is loaded`, async (t) => {
    const { code, stdout, stderr } = await execute(t, {}, ['--help'], pretend(version));
    t.equal(code, 1);
    t.equal(stdout, '');
    t.match(
      stderr,
      new RegExp(`^benefits-sidecar needs Node 22\\.19 or newer, and this is ${version}: .*\\n$`),
    );
  });
}

for (const version of ['22.19.0', '24.0.0']) {
  t.test(`Node ${version} is accepted`, async (t) => {
    const { code, stdout } = await execute(t, {}, ['--help'], pretend(version));
    t.equal(code, 0);
    t.match(stdout, 'Usage: benefits-sidecar');
  });
}

t.test('a command ends quietly when its output pipe closes', async (t) => {
  const { env } = await withFixtures(t);
  const main = fileURLToPath(new URL('../../src/main.ts', import.meta.url));
  const child = spawn(process.execPath, [main, 'events', 'list'], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  let stderr = '';
  child.stderr.on('data', (part) => {
    stderr += part;
  });
  child.stdout.destroy();
  const [code] = await once(child, 'close');
  t.equal(code, 0);
  t.equal(stderr, '');
});
