/** A listener accepts fewer connections than these, each held open by a different trick. */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import t from 'tap';
import { DEFAULT_SEED, makeWorld } from '../../src/simulator/world.ts';
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

t.test('the private listener serves a request within 10 s of', async (t) => {
  const stage = await setStage(t);
  const port = Number(new URL(stage.sidecar.api).port);
  const { api } = stage;
  const holding = (count: number, first: string) =>
    Promise.all(Array.from({ length: count }, () => hold(port, first, 'x')));
  const servedWithin = async (call: () => Promise<{ status: number } | null>) => {
    const began = performance.now();
    await eventually('the request is served', () => call().catch(() => null), { status: 200 }, 60_000);
    return Math.round(performance.now() - began);
  };

  for (const line of ['GET /sign-in', 'POST /nowhere', 'POST /v1/employee-changes']) {
    await t.test(`260 connections that drip a body to ${line}`, async (t) => {
      const crowd = await holding(260, `${line} HTTP/1.1\r\nhost: a\r\ncontent-length: 100000\r\n\r\n`);
      t.teardown(() => {
        for (const socket of crowd) socket.destroy();
      });
      const tookMs = await servedWithin(() => api.call('GET', '/v1/events?limit=1'));
      t.ok(tookMs < stretched(ACCEPTED_WITHIN_MS), `served after ${tookMs} ms`);
    });
  }
});

t.test('three slow census uploads do not block another one', async (t) => {
  const { sidecar, api, keys } = await setStage(t);
  const port = Number(new URL(sidecar.api).port);
  const head = `PUT /v1/employers/acme/census HTTP/1.1\r\nhost: a\r\nauthorization: Bearer ${keys.token}\r\n`;
  const dripping = `${head}content-type: application/json\r\ncontent-length: 100000\r\n\r\n{`;
  const crowd = await Promise.all(Array.from({ length: 3 }, () => hold(port, dripping, ' ')));
  t.teardown(() => {
    for (const socket of crowd) socket.destroy();
  });
  const census = makeWorld(DEFAULT_SEED).get('maple-bakery');
  const put = () => api.call('PUT', '/v1/employers/maple-bakery/census', census);
  await eventually('a slow upload loses its slot', put, { status: 200 });
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
