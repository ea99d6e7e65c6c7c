/** Clients that are slow, silent, many or wrong about their length do not keep others from the receiver. */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import t from 'tap';
import { signEvent } from '../../src/simulator/sign.ts';
import { post, SECRET, type Started, startReceiver } from '../inbox/deliver.ts';
import { answersIn, rawSocket, requestText, statusOf } from '../inbox/raw-socket.ts';
import { eventually } from '../support/eventually.ts';

const BODY = '{"event_type":"a"}';
/**
 * The time limits of these tests: short enough to wait for, long enough for a valid request on a busy machine, and far
 * enough apart to tell from the time which one applied.
 */
const TIMES = { headersMs: 2_000, requestMs: 4_000, idleMs: 60_000, checkMs: 50 };

function signed(body: string) {
  return signEvent(SECRET, 'msg_1', new Date(), body);
}

/** Waits until other requests are served while a connection hangs. */
async function othersAreServed({ port }: Started) {
  for (const id of ['msg_a', 'msg_b']) {
    // On its own connection: a kept one may just reach its idle limit. On a busy machine, so may this one.
    const headers = { ...signEvent(SECRET, id, new Date(), BODY), connection: 'close' };
    const deliver = () => post(port, headers, BODY);
    await eventually('others are served', deliver, { status: 204 });
  }
}

t.test('nothing is accepted with a wrong length or host', async (t) => {
  const started = await startReceiver(t, { times: TIMES });
  const { port, accepted } = started;
  const length = (bytes: number | string) => ({ 'content-length': String(bytes) });
  const chunk = `12\r\n${BODY}\r\n0\r\n\r\n`;
  const wrong: [name: string, headers: Record<string, string>, status: number, body?: string][] = [
    ['too short: the remaining text is not a request', length(BODY.length - 5), 400],
    ['too long, then the end', length(BODY.length + 5), 400],
    ['too long, then silence', length(BODY.length + 5), 408],
    ['above the limit', length(99_999_999_999), 413],
    ['negative', length(-1), 400],
    ['not a number', length('x'), 400],
    ['two lengths, as in request smuggling', { ...length(18), 'transfer-encoding': 'chunked' }, 400, chunk],
    ['two Host headers', { Host: 'other', ...length(18) }, 400],
  ];
  for (const [name, headers, status, body = BODY] of wrong) {
    const { socket, closed } = await rawSocket(t, port);
    socket.write(requestText('/webhooks', { ...signed(BODY), ...headers }, body));
    if (name.endsWith('the end')) socket.end();
    // Bytes after too short a body may arrive in time to cut off its response.
    const heard = answersIn(await closed)
      .map(statusOf)
      .filter((heardStatus) => heardStatus !== 401);
    t.strictSame(heard, [status], name);
    const causes = started.refused.splice(0).filter((cause) => cause !== 'signature');
    t.strictSame(causes, [status === 413 ? 'size' : 'unreadable'], `${name} is counted once`);
  }
  t.strictSame(accepted, []);
  await othersAreServed(started);
});

/** Writes a text byte by byte, indefinitely. */
function drip(socket: Socket, texts: Iterable<string>): void {
  const bytes = texts[Symbol.iterator]();
  const dripping = setInterval(() => {
    const { value, done } = bytes.next();
    if (done || socket.destroyed) clearInterval(dripping);
    else socket.write(value);
  }, 5);
  socket.on('close', () => clearInterval(dripping));
}

t.test('a connection is closed in time while others are served when', async (t) => {
  const started = await startReceiver(t, { times: TIMES });
  const start = requestText('/webhooks', { ...signed(BODY), 'content-length': '1000' });
  const slow: Record<string, { before: string; bytes: string; atLeastMs: number }> = {
    'nothing is sent': { before: '', bytes: '', atLeastMs: TIMES.headersMs },
    'headers drip': {
      before: start.slice(0, -4),
      bytes: `\r\nx: ${'x'.repeat(5_000)}`,
      atLeastMs: TIMES.headersMs,
    },
    'headers stop': { before: start.slice(0, 50), bytes: '', atLeastMs: TIMES.headersMs },
    'the body drips': { before: start, bytes: 'x'.repeat(5_000), atLeastMs: TIMES.requestMs },
    'the body stops': { before: `${start}x`, bytes: '', atLeastMs: TIMES.requestMs },
  };
  const closing = Object.entries(slow).map(async ([name, { before, bytes, atLeastMs }]) => {
    const began = performance.now();
    const { socket, closed } = await rawSocket(t, started.port);
    socket.write(before);
    drip(socket, bytes);
    const answer = await closed;
    const tookMs = performance.now() - began;
    return { name, answer, tookMs, atLeastMs };
  });
  await othersAreServed(started);
  for (const { name, answer, tookMs, atLeastMs } of await Promise.all(closing)) {
    t.ok([408, null].includes(statusOf(answer)), `${name}: ${statusOf(answer)}`);
    const isInTime = tookMs >= atLeastMs * 0.9 && tookMs < TIMES.idleMs / 2;
    t.ok(isInTime, `${name}: closed after ${Math.round(tookMs)} ms`);
  }
  t.equal(started.accepted.length, 2, 'only the others');
  t.strictSame(started.refused, Array(4).fill('unreadable'), 'each request is counted once');
});

t.test('a client that does not read its responses is disconnected', async (t) => {
  const started = await startReceiver(t, { times: { idleMs: 1_000, headersMs: 60_000, requestMs: 60_000 } });
  const began = performance.now();
  const { socket } = await rawSocket(t, started.port);
  socket.pause();
  // Errors that a client which only writes gets from a closed connection, at any time from now on.
  const error = new Promise<NodeJS.ErrnoException>((resolve) => socket.on('error', resolve));
  const request = requestText('/livez', {}, '', 'GET');
  const pour = () => {
    while (!socket.destroyed && socket.write(request.repeat(500)));
  };
  socket.on('drain', pour);
  pour();
  await othersAreServed(started);
  t.match((await error).code, /^(ECONNRESET|EPIPE)$/);
  const tookMs = performance.now() - began;
  t.ok(tookMs < 50_000, `closed by the idle limit: ${Math.round(tookMs)} ms`);
  await othersAreServed(started);
});

/** The maximum number of connections of the receiver. */
const CROWD = 512;

t.test('idle connections are dropped for a delivery', async (t) => {
  let dropped = 0;
  const { port } = await startReceiver(t, {
    verify: () => ({ eventId: 'msg_1' }),
    dropped: () => {
      dropped += 1;
    },
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
