/** More connections than the public listener accepts, each holding its place by another trick. */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import t from 'tap';
import { eventually } from '../support/eventually.ts';
import { deliver, eventOf } from '../support/load.ts';
import { setStage } from '../support/stage.ts';

const CONNECTIONS = 520;
const ACCEPTED_WITHIN_MS = 10_000;
/** What a connection sends at once, and then a byte of each second for as long as it is open. */
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
  const { sidecar, keys } = await setStage(t);
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
      const accepted = () => deliver(sidecar.port, keys.webhookSecret, event).catch(() => null);
      await eventually('the delivery is accepted', accepted, (answer) => answer?.status === 204);
      const tookMs = Math.round(performance.now() - began);
      t.comment(`accepted after ${tookMs} ms`);
      t.ok(tookMs < ACCEPTED_WITHIN_MS, `accepted after ${tookMs} ms`);
      const open = () => {
        // Writing shows a client that sends nothing that its connection is gone.
        for (const socket of crowd) socket.write('x');
        return crowd.filter((socket) => !socket.destroyed).length;
      };
      await eventually('every connection is closed', open, (count) => count === 0);
    });
  }
});

/** Opens a connection that never closes by itself and sends a byte of `drip` each second. */
async function hold(port: number, first: string, drip: string): Promise<Socket> {
  const socket = connect({ host: '127.0.0.1', port, allowHalfOpen: true });
  socket.on('error', () => {}).resume();
  await Promise.race([once(socket, 'connect'), once(socket, 'close')]);
  socket.write(first);
  const dripping = setInterval(() => {
    if (drip !== '') socket.write(drip);
  }, 1_000);
  socket.once('close', () => clearInterval(dripping));
  return socket;
}
