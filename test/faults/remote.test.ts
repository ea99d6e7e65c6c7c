/** Commands at a running sidecar with hostile arguments, and while it restarts or is overloaded. */
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { mock } from 'node:test';
import t from 'tap';
import { systemClock } from '../../src/clock.ts';
import { deductionOf, deliver } from '../api/deliver.ts';
import { here } from '../cli/harness.ts';
import { optionsOn, PAY_DATE } from '../cli/payroll-stage.ts';
import { known, remoteCommands, stage } from '../cli/remote-stage.ts';
import { eventually } from '../support/eventually.ts';

/** By turns. A rule of one kind of value is in the schemas that both sides share. */
const HOSTILE = [
  ...['..', '', 'a/b', 'a\u0001b\u001b[31m', 'x'.repeat(300), '2026-02-31', '-1', '1e3', '%00', '__proto__'],
];
/** Options of commands, not of operations. */
const OF_COMMANDS = new Set(['--url', '--local', '--json', '--wide', '--yes', '--follow', '--csv', '--help']);

t.test('hostile arguments and options are refused the same on the database and at a sidecar', async (t) => {
  mock.timers.enable({ apis: ['Date'], now: Date.now() });
  t.teardown(() => mock.timers.reset());
  const { url, local, remote } = await stage(t);
  await here(t, local, ['run', 'create', 'r1', ...optionsOn(PAY_DATE)]);
  let turn = 0;
  const next = (): string => {
    turn += 1;
    return HOSTILE[turn % HOSTILE.length] as string;
  };
  for (const { command, examples } of await remoteCommands()) {
    const words = (examples[0] ?? []).map((word) => known(word).replace('mb-2026-07', 'r1'));
    const path = words.indexOf(command.name()) + 1;
    const ids = command.registeredArguments.map((_, index) => path + index);
    const cases = [
      ...ids.flatMap((at) => ['.', next()].map((value) => words.with(at, value))),
      ...command.options
        .filter(({ long, required }) => required && !OF_COMMANDS.has(String(long)))
        .flatMap(({ long, flags }) =>
          [next(), ...(flags.endsWith('<id>') ? ['.'] : [])].map((value) => [...words, String(long), value]),
        ),
    ];
    for (const argv of cases) {
      const [there, inPlace] = [await here(t, remote, argv), await here(t, local, argv)];
      const stderr = there.stderr.replace(`At ${url}:\n`, '');
      // A change that succeeds would find another state the second time.
      if (there.code === 0 && there.stderr !== stderr) continue;
      t.strictSame({ ...there, stderr }, inPlace, argv.join(' '));
    }
  }
});

/** Answers as an overloaded sidecar does. */
function sendBusy(response: ServerResponse): void {
  const type = 'urn:benefits-sidecar:problem:unavailable';
  response.writeHead(503, { 'content-type': 'application/problem+json', 'retry-after': '2' });
  response.end(
    JSON.stringify({ type, title: 'Service Unavailable', status: 503, detail: 'Too many requests at once.' }),
  );
}

t.test('deliveries are followed while the sidecar restarts or is overloaded', async (t) => {
  const { db, url, remote } = await stage(t);
  let isDown = false;
  let unanswered = 0;
  const proxy = createServer(({ socket, url: path, headers }, response) => {
    if (isDown) {
      unanswered += 1;
      if (unanswered < 3) socket.destroy();
      else sendBusy(response);
      return;
    }
    const { authorization = '', accept = '' } = headers;
    fetch(`${url}${path}`, { headers: { authorization, accept } }).then(async (answer) => {
      response.writeHead(answer.status, Object.fromEntries(answer.headers));
      response.end(await answer.text());
    });
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  t.teardown(() => proxy.close());
  const env = { ...remote, SIDECAR_URL: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}` };
  const stopping = new AbortController();
  let printed = '';
  const onStdout = (text: string) => {
    printed = text;
  };
  const following = here(t, env, ['events', 'list', '--follow'], { signal: stopping.signal, onStdout });
  let count = 0;
  const arrive = async (id: string) => {
    count += 1;
    await deliver(db, [deductionOf(`${id}-${count}`, {})], systemClock().toISOString());
    return printed.includes(id);
  };
  await eventually(
    'a delivery is printed',
    () => arrive('before'),
    (isPrinted) => isPrinted,
  );
  isDown = true;
  await eventually(
    'a request has no answer',
    async () => unanswered,
    (requests) => requests > 4,
  );
  await arrive('meanwhile');
  isDown = false;
  await eventually(
    'it is printed later',
    async () => printed.includes('meanwhile'),
    (isPrinted) => isPrinted,
  );
  stopping.abort();
  const { code, stderr } = await following;
  t.equal(code, 0);
  t.equal(stderr.split('did not answer').length, 2, 'once');
});
