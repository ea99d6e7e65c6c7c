/** A listener accepts fewer connections than these, each held open by a different trick. */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import t from 'tap';
import { eventually } from '../support/eventually.ts';
import { eventOf } from '../support/load.ts';
import { setStage } from '../support/stage.ts';
import { stretched } from '../support/stretched.ts';

const CONNECTIONS = 520;
const ACCEPTED_WITHIN_MS = 10_000;
/** The bytes that a connection sends first, and then one per second while it is open. */
const TRICKS: Record<string, { first: string; drip: string }> = {
  'send nothing': { first: '', drip: '' },
  'trickle headers': { first: 'POST /webhooks HTTP/1.1\r\nhost: a\r\nx: ', drip: 'x' },
  'ignore the FIN that follows a 401': {
    first: 'POST /webhooks HTTP/1.1\r\nhost: a\r\nconnection: close\r\ncontent-length: 2\r\n\r\n{}',
    drip: 'x',
  },
  'ignore the FIN that follows a 400': { first: 'not HTTP\r\n\r\n', drip: 'x' },
  'trickle a body that no route reads': {
    first: 'POST /elsewhere HTTP/1.1\r\nhost: a\r\ncontent-length: 100000\r\n\r\n',
    drip: 'x',
  },
};

t.test('a signed delivery is accepted within 10 s of 520 connections that', async (t) => {
  const { sidecar, send } = await setStage(t);
  let number = 0;
  for (const [name, { first, drip }] of Object.entries(TRICKS)) {
    await t.test(name, async (t) => {
      const crowd = await Promise.all(
        Array.from({ length: CONNECTIONS }, () => hold(sidecar.port, first, drip)),
      );
      t.teardown(() => {
        for (const socket of crowd) socket.destroy();
      });
      const began = performance.now();
      const event = eventOf('crowd', number++);
      const accepted = () => send(event).catch(() => null);
      await eventually('the delivery is accepted', accepted, { status: 204 });
      const tookMs = Math.round(performance.now() - began);
      t.comment(`accepted after ${tookMs} ms`);
      t.ok(tookMs < stretched(ACCEPTED_WITHIN_MS), `accepted after ${tookMs} ms`);
      const open = () => {
        // A client that sends nothing notices the closed connection only when it writes.
        for (const socket of crowd) socket.write('x');
        return crowd.filter((socket) => !socket.destroyed).length;
      };
      await eventually('every connection is closed', open, 0);
    });
  }
});

/** Opens a connection that the client never closes, and sends a byte of `drip` each second. */
async function hold(port: number, first: string, drip: string): Promise<Socket> {
  const socket = connect({ host: '127.0.0.1', port, allowHalfOpen: true });
  socket.on('error', () => {}).resume();
  await Promise.race([once(socket, 'connect'), once(socket, 'close')]);
  socket.write(first);
  // A connection that was closed before it was open never clears its interval, and must not keep the process alive.
  const dripping = setInterval(() => {
    if (drip !== '') socket.write(drip);
  }, 1_000).unref();
  socket.once('close', () => clearInterval(dripping));
  return socket;
}
