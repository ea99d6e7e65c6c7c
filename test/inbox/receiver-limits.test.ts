/** Limits of a request's size. Slow clients: test/faults/slow-clients.test.ts. */
import { once } from 'node:events';
import { connect } from 'node:net';
import t from 'tap';
import { BODY_LIMIT_BYTES, createReceiver } from '../../src/inbox/receiver.ts';
import { signEvent } from '../../src/simulator/sign.ts';
import { post, SECRET, startReceiver } from './deliver.ts';
import { rawSocket, requestText, statusOf } from './raw-socket.ts';

const BODY = '{"event_type":"a"}';

function signed(body: string) {
  return signEvent(SECRET, 'msg_1', new Date(), body);
}

t.test('a body of 256 KiB is accepted and one byte more is rejected', async (t) => {
  const { port, accepted } = await startReceiver(t);
  const largest = 'x'.repeat(BODY_LIMIT_BYTES);
  t.equal((await post(port, signed(largest), largest)).status, 204);
  const { status, body } = await post(port, signed(`${largest}x`), `${largest}x`);
  t.equal(status, 413);
  t.equal(body, '');
  t.equal(accepted.length, 1);
});

t.test('a delivery does not wait for the large bodies that arrived before it', async (t) => {
  const verified: number[] = [];
  const app = createReceiver({
    verify(_headers, body) {
      verified.push(body.length);
      return { refused: 'signature' };
    },
    accept: async () => {},
    refuse: () => {},
    acknowledged: () => {},
    isAlive: async () => true,
    isReady: async () => true,
  });
  t.teardown(() => app.close());
  const deliver = (body: string) => app.inject({ method: 'POST', url: '/webhooks', payload: body });
  const large = Array.from({ length: 50 }, () => deliver('x'.repeat(BODY_LIMIT_BYTES)));
  await Promise.all([...large, deliver(BODY)]);
  t.equal(verified.length, 51);
  t.ok(verified.indexOf(BODY.length) < 25, `verified after ${verified.indexOf(BODY.length)} large bodies`);
});

t.test('an endless chunked body is rejected at the limit, and the connection is closed', async (t) => {
  const { port, accepted } = await startReceiver(t);
  const { socket, closed } = await rawSocket(t, port);
  socket.write(requestText('/webhooks', { ...signed(BODY), 'transfer-encoding': 'chunked' }));
  const piece = `4000\r\n${'x'.repeat(0x4000)}\r\n`;
  const pour = () => {
    while (!socket.destroyed && socket.write(piece));
  };
  socket.on('drain', pour);
  pour();
  t.equal(statusOf(await closed), 413);
  t.ok(socket.bytesWritten < 64 * BODY_LIMIT_BYTES, `not read indefinitely: ${socket.bytesWritten} bytes`);
  t.strictSame(accepted, []);
});

t.test('bytes that are not HTTP get a status, the security headers and nothing else', async (t) => {
  const { port } = await startReceiver(t);
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
