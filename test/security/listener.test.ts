/** Connections that end. Slow ones: test/faults/slow-bodies.test.ts and slow-clients.test.ts. */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import t, { type Test } from 'tap';
import { createReceiver, type ReceiverParts } from '../../src/inbox/receiver.ts';
import { closeListener } from '../../src/security/listener.ts';

const parts = {
  verify: () => ({ eventId: 'msg_1' }),
  refuse: () => {},
  acknowledged: () => {},
  isAlive: async () => true,
  isReady: async () => true,
};

t.test('a request in flight does not keep a closing listener open', async (t) => {
  const arrived = Promise.withResolvers<void>();
  const stored = Promise.withResolvers<void>();
  const accept = () => {
    arrived.resolve();
    return stored.promise;
  };
  const app = createReceiver({ ...parts, accept });
  await app.listen({ host: '127.0.0.1', port: 0 });
  const { port } = app.server.address() as { port: number };
  const socket = connect(port, '127.0.0.1');
  socket.write('POST /webhooks HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}');
  await arrived.promise;
  const closed = closeListener(app);
  stored.resolve();
  const [answer] = await once(socket, 'data');
  t.match(String(answer), /^HTTP\/1\.1 204/, 'the request in flight gets its response');
  await closed;
  await once(socket, 'close');
  t.pass('the keep-alive connection is closed with the listener');
});

/** Returns how to connect to a receiver, with sockets that stay open after the receiver ends them. */
async function listening(
  t: Test,
  changes: Partial<ReceiverParts> = {},
  paused: () => void = () => {},
): Promise<() => Socket> {
  const app = createReceiver({ ...parts, accept: async () => {}, ...changes });
  app.server.on('connection', (socket: Socket) => socket.once('pause', paused));
  t.teardown(() => closeListener(app));
  await app.listen({ host: '127.0.0.1', port: 0 });
  const { port } = app.server.address() as { port: number };
  return () => {
    const socket = connect({ host: '127.0.0.1', port, allowHalfOpen: true });
    t.teardown(() => socket.destroy());
    return socket;
  };
}

t.test('a client that reads only after it has sent its whole body still receives the response', async (t) => {
  // `GET /livez` responds when the buffers of its unread body are full.
  const full = Promise.withResolvers<boolean>();
  const connected = await listening(t, { isAlive: () => full.promise }, () => full.resolve(true));
  const length = 8 * 1024 * 1024;
  const requests = { 413: 'POST /webhooks', 404: 'POST /elsewhere', 200: 'GET /livez' };
  for (const [status, request] of Object.entries(requests)) {
    const socket = connected().pause();
    const written = Promise.withResolvers<void>();
    socket.on('error', written.reject);
    socket.write(`${request} HTTP/1.1\r\nhost: a\r\ncontent-length: ${length}\r\n\r\n`);
    socket.write(Buffer.alloc(length), () => written.resolve());
    await written.promise;
    const closed = once(socket, 'close').then(() => ['closed without a response']);
    const [response] = await Promise.race([once(socket.resume(), 'data'), closed]);
    t.match(String(response), new RegExp(`^HTTP/1.1 ${status} .*^connection: close`, 'ims'));
    socket.destroy();
  }
});

t.test('nothing after the last response on a connection is a request', async (t) => {
  let accepted = 0;
  const accept = async () => {
    accepted += 1;
  };
  const connected = await listening(t, { accept });
  const socket = connected().resume();
  socket.write('GET /livez HTTP/1.1\r\nhost: a\r\ncontent-length: 2\r\n\r\n');
  await once(socket, 'end');
  socket.write('{}');
  await writeUntilClosed(socket, 'POST /webhooks HTTP/1.1\r\nhost: a\r\ncontent-length: 2\r\n\r\n{}');
  t.equal(accepted, 0);
});

t.test('a client that ignores the end of its connection is disconnected', async (t) => {
  const socket = (await listening(t))().resume();
  socket.write('not HTTP\r\n\r\n');
  await once(socket, 'end');
  await writeUntilClosed(socket, 'x');
  t.pass('disconnected while it is still sending');
});

/** Resolves when the peer has closed the connection, which a write detects. */
async function writeUntilClosed(socket: Socket, text: string): Promise<void> {
  const writing = setInterval(() => socket.write(text), 50);
  socket.on('error', () => {});
  await new Promise((resolve) => socket.once('close', resolve));
  clearInterval(writing);
}
