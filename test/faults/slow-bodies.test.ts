/** A body that is too slow loses its connection. Time during which this process is busy or stopped does not count. */
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { connect, type Socket } from 'node:net';
import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises';
import t, { type Test } from 'tap';
import {
  discountPauses,
  endSlowBodies,
  limitConnections,
  refuseProtocol,
} from '../../src/security/listener.ts';
import { eventually } from '../support/eventually.ts';

/** Starts a server that rejects slow bodies, and returns its port. */
async function measuring(
  t: Test,
  server: Server,
  slowest: Parameters<typeof endSlowBodies>[1],
  everyMs: number,
): Promise<number> {
  endSlowBodies(server, slowest, everyMs);
  server.on('clientError', refuseProtocol);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => server.close());
  return (server.address() as { port: number }).port;
}

t.test('only a body slower than the minimum rate is rejected with 408', async (t) => {
  const server = createServer(async (request, response) => {
    // A reader that is busy for longer than the measuring window.
    if (request.url === '/busy') await pause(2_500);
    let bytes = 0;
    try {
      for await (const part of request) bytes += part.length;
    } catch {
      // The body was too slow.
      return;
    }
    response.end(`${bytes}`);
  });
  limitConnections(server, 10);
  const port = await measuring(t, server, { bytes: 1_000, withinMs: 1_000 }, 20);
  /** Sends a body in so many chunks and returns the first line and the end of the response. */
  const send = async (path: string, part: number, parts: number, everyMs: number) => {
    const socket = connect(port, '127.0.0.1');
    t.teardown(() => socket.destroy());
    let heard = '';
    socket
      .on('error', () => {})
      .on('data', (text) => {
        heard += text;
      });
    socket.write(
      `POST ${path} HTTP/1.1\r\nhost: a\r\ncontent-length: ${part * parts}\r\nconnection: close\r\n\r\n`,
    );
    for (let sent = 0; sent < parts && !socket.destroyed && heard === ''; sent += 1) {
      socket.write('x'.repeat(part));
      if (everyMs > 0) await pause(everyMs);
    }
    if (!socket.destroyed) await new Promise((resolve) => socket.once('close', resolve));
    return `${heard.split('\r\n')[0]} ${heard.split('\r\n').at(-1)}`;
  };
  const [dripping, steady, busy] = await Promise.all([
    send('/', 1, 10_000, 20),
    send('/', 20_000, 30, 50),
    send('/busy', 2_000_000, 1, 0),
  ]);
  t.match(dripping, /^HTTP\/1.1 408 /, 'a dripping body');
  t.match(steady, /^HTTP\/1.1 200 OK .*600000$/, 'slow and steady');
  t.match(busy, /^HTTP\/1.1 200 OK .*2000000$/, 'a body with a slow reader');
});

t.test('a request that arrives while the process is stopped is served', async (t) => {
  const [limitMs, checkMs] = [500, 50];
  const server = createServer({ connectionsCheckingInterval: checkMs }, (request, response) => {
    request.resume().on('end', () => response.end('served'));
  });
  server.headersTimeout = limitMs;
  server.requestTimeout = limitMs;
  server.keepAliveTimeout = limitMs;
  server.setTimeout(limitMs);
  discountPauses(server, checkMs);
  const port = await measuring(t, server, { bytes: 1_000, withinMs: limitMs }, checkMs);
  const started: Record<string, [sent: string, rest: string]> = {
    'in its headers': ['POST / HTTP/1.1\r\n', 'host: a\r\ncontent-length: 2\r\n\r\n{}'],
    'in its body': ['POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 2\r\n\r\n{', '}'],
    'before it starts': ['', 'GET / HTTP/1.1\r\nhost: a\r\n\r\n'],
    'between requests': ['GET / HTTP/1.1\r\nhost: a\r\n\r\n', 'GET / HTTP/1.1\r\nhost: a\r\n\r\n'],
  };
  for (const [when, [sent, rest]] of Object.entries(started)) {
    const socket = connect(port, '127.0.0.1');
    t.teardown(() => socket.destroy());
    const [accepted] = (await once(server, 'connection')) as [Socket];
    socket.write(sent);
    await eventually('it is read', () => accepted.bytesRead, sent.length);
    if (when === 'between requests') await once(socket, 'data');
    socket.write(rest);
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 3 * limitMs);
    const ended = once(socket, 'close').then(() => ['closed']);
    t.match(String((await Promise.race([once(socket, 'data'), ended]))[0]), /^HTTP\/1.1 200 /, when);
  }
});

t.test('time during which the thread works is no slowness of the client', async (t) => {
  const request = Promise.withResolvers<void>();
  const server = createServer(async (incoming, response) => {
    request.resolve();
    for await (const _ of incoming);
    response.end();
  });
  const socket = connect(await measuring(t, server, { bytes: 1_000, withinMs: 300 }, 5), '127.0.0.1');
  t.teardown(() => socket.destroy());
  const responded = once(socket, 'data');
  socket.write('POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 2\r\n\r\nx');
  await request.promise;
  for (let turn = 0; turn < 40; turn += 1) {
    const until = performance.now() + 20;
    while (performance.now() < until);
    await nextTurn();
  }
  socket.write('x');
  t.match(String(await responded), /^HTTP\/1.1 200 OK/);
});

t.test('a destroyed request without a socket is no longer measured', async (t) => {
  const server = createServer((request) => {
    request.resume();
    // undici does this when it destroys a request that was passed as a body.
    setImmediate(() => {
      (request as { socket: Socket | null }).socket = null;
    });
  });
  const socket = connect(await measuring(t, server, { bytes: 1_000, withinMs: 100 }, 5), '127.0.0.1');
  socket.write('POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 10\r\n\r\nx');
  const [response] = await once(socket, 'data');
  t.match(String(response), /^HTTP\/1.1 408 /, 'the connection still ends because it is slow');
  if (!socket.destroyed) await once(socket, 'close');
});
