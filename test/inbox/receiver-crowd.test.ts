import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import t, { type Test } from 'tap';
import { createReceiver } from '../../src/inbox/receiver.ts';
import { closeListener } from '../../src/security/listener.ts';
import { createReceivingCounts } from '../../src/telemetry/counts.ts';

/** The maximum number of connections of the receiver. */
const CROWD = 512;

async function listening(t: Test, dropped = () => {}): Promise<number> {
  const app = createReceiver({
    verify: () => ({ eventId: 'msg_1' }),
    accept: async () => {},
    refuse: () => {},
    dropped,
    counts: createReceivingCounts(() => new Date(), []),
    isAlive: async () => true,
    isReady: async () => true,
  });
  t.teardown(() => closeListener(app));
  await app.listen({ host: '127.0.0.1', port: 0 });
  return (app.server.address() as { port: number }).port;
}

t.test('idle connections are dropped for a delivery', async (t) => {
  let dropped = 0;
  const port = await listening(t, () => {
    dropped += 1;
  });
  const crowd: Socket[] = [];
  t.teardown(() => {
    for (const socket of crowd) socket.destroy();
  });
  for (let count = 0; count < CROWD; count += 1) {
    const socket = connect(port, '127.0.0.1').on('error', () => {});
    crowd.push(socket);
    socket.write('GET /livez HTTP/1.1\r\nHost: a\r\n\r\n');
    await once(socket, 'data');
  }
  const deliver = () => fetch(`http://127.0.0.1:${port}/webhooks`, { method: 'POST', body: '{}' });
  const first = await deliver().then(
    (answer) => answer.status,
    () => 'dropped',
  );
  t.equal(first, 'dropped', 'idle connections take every slot');
  t.equal(dropped, 1, 'the drop is counted');
  t.equal((await deliver()).status, 204, 'the retry is accepted');
});

t.test('bytes that are not HTTP get a status, the security headers and nothing else', async (t) => {
  const port = await listening(t);
  const socket = connect(port, '127.0.0.1');
  socket.write('GET / HTTP/9.9\r\n\r\n');
  const [answer] = await once(socket, 'data');
  const [status, ...headers] = String(answer).split('\r\n');
  t.equal(status, 'HTTP/1.1 400 Bad Request');
  t.strictSame(
    headers.map((header) => header.split(':')[0]),
    [
      ...['Cache-Control', 'X-Content-Type-Options', 'Referrer-Policy', 'Content-Security-Policy'],
      ...['Connection', 'Content-Length', '', ''],
    ],
  );
});
