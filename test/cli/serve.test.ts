import { once } from 'node:events';
import { createServer, type IncomingMessage, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import t from 'tap';
import { signEvent } from '../../src/simulator/sign.ts';
import { eventually } from '../support/eventually.ts';
import { lastingPort } from '../support/settings.ts';
import { execute, start } from './executable.ts';
import { environment, FIXTURES, here, hereDev, jsonOf, type Variables, WEBHOOK_SECRET } from './harness.ts';

/** Uses its own ports and an unreachable service on another machine. */
function served(t: Parameters<typeof here>[0]): Variables {
  const own = { RECEIVER_HOST: '127.0.0.1', RECEIVER_PORT: '0', API_PORT: '0' };
  return { ...environment(t), ...own, BENEFITS_BASE_URL: 'http://192.0.2.1/api' };
}

const READY = /"private listener ready"/;

t.test('a sidecar that serves', async (t) => {
  const ports = { RECEIVER_PORT: String(await lastingPort()), API_PORT: String(await lastingPort()) };
  const env = { ...served(t), ...ports };
  const serving = start(t, env, ['serve']);
  const receiver = `http://127.0.0.1:${ports.RECEIVER_PORT}`;

  await t.test('its public listener is ready only once the private one accepts', async (t) => {
    const statusOf = (address: string) =>
      fetch(`${address}/readyz`).then(
        ({ status }) => status,
        () => 0,
      );
    await eventually('it is ready', () => statusOf(receiver), 200);
    t.equal(await statusOf(`http://127.0.0.1:${ports.API_PORT}`), 200);
    await serving.shows(READY);
  });

  await t.test('commands work meanwhile, and another sidecar is refused', async (t) => {
    const replayed = await hereDev(t, env, ['replay', FIXTURES]);
    t.equal(replayed.code, 0);
    const token = await here(t, env, ['token', 'create', '--name', 'second', '--scope', 'all']);
    t.equal(token.code, 0);
    const reprocessed = await here(t, env, ['events', 'reprocess', '--state', 'applied', '--json']);
    t.equal(reprocessed.code, 0);
    const listed = await execute(t, env, ['deductions', 'list', '--json']);
    t.equal(jsonOf(listed).data.length > 0, true);
    const second = await execute(t, env, ['serve']);
    t.match(second, { code: 1, stderr: /^benefits-sidecar: another process already serves .*\n$/ });
  });

  await t.test('events list --follow prints deliveries, and refused ones by cause', async (t) => {
    const following = start(t, env, ['events', 'list', '--follow']);
    // Until it follows, deliveries are not printed.
    let isPrinted = false;
    const printed = following.shows(/deliver(y|ies) to another path/).then(() => {
      isPrinted = true;
    });
    const refusedAndPrinted = async () => {
      await fetch(`${receiver}/hooks`, { method: 'POST', body: 'secret content' });
      return isPrinted;
    };
    await eventually('a refused request is printed', refusedAndPrinted, true);
    await printed;
    const body = '{"event_type":"moon.landed","data":{}}';
    const headers = signEvent(WEBHOOK_SECRET, 'msg_followed', new Date(), body);
    await fetch(`${receiver}//webhooks/`, { method: 'POST', headers, body });
    await following.shows(/ {2}msg_followed {2}moon.landed {2}ignored {2}/);
    following.child.kill('SIGINT');
    t.match(await following.ended, { code: 0, signal: null });
  });

  await t.test('SIGINT ends it with 0 after requests in flight are stored and acknowledged', async (t) => {
    const body = '{"id":"evt_1","event_type":"of.no.interest","data":{}}';
    const delivery = request(`${receiver}/webhooks`, {
      method: 'POST',
      headers: {
        ...signEvent(WEBHOOK_SECRET, 'msg_in_flight', new Date(), body),
        'content-length': body.length,
        expect: '100-continue',
      },
    });
    delivery.flushHeaders();
    await once(delivery, 'continue');
    serving.child.kill('SIGINT');
    await serving.shows(/"stopping"/);
    delivery.end(body);
    const [answer] = (await once(delivery, 'response')) as [IncomingMessage];
    t.equal(answer.statusCode, 204);
    const ended = await serving.ended;
    t.match(ended, { code: 0, signal: null, stderr: '' });
    t.match(ended.stdout, /"reason":"SIGINT".*stopping[\s\S]*stopped/);
    const [newest] = jsonOf(await here(t, env, ['events', 'list', '--json'])).data;
    t.match(newest, { id: 'msg_in_flight' });
  });

  await t.test(
    'its log warns of plain HTTP in sandbox, and counts refused deliveries by cause',
    async (t) => {
      const { stdout } = await serving.ended;
      t.match(stdout, /"level":"warn".*"reason":"BENEFITS_BASE_URL".*unencrypted/);
      t.match(stdout, /"level":"warn".*"count":1,"cause":"1 path".*"webhook deliveries were refused"/);
      t.notMatch(stdout, 'secret content');
    },
  );
});

t.test('a port in use prevents the start with one line', async (t) => {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => server.close());
  const port = String((server.address() as AddressInfo).port);
  const { code, stderr } = await execute(t, { ...served(t), API_PORT: port }, ['serve']);
  t.equal(code, 1);
  t.match(stderr, new RegExp(`^benefits-sidecar: .*127\\.0\\.0\\.1:${port}.*\\n$`));
});

t.test('--no-migrate rejects a database that lacks migrations', async (t) => {
  const ran = await here(t, served(t), ['serve', '--no-migrate']);
  t.match(ran, { code: 1, stderr: /lacks \d+ migration.*benefits-sidecar migrate/ });
});

t.test('plain http to another machine prevents the start in live', async (t) => {
  const env = { ...served(t), BENEFITS_ENVIRONMENT: 'live' };
  const line = /^benefits-sidecar: BENEFITS_BASE_URL must be an https:\/\/ address when .*doctor.*\n$/;
  t.match(await here(t, env, ['serve']), { code: 1, stdout: '', stderr: line });
});
