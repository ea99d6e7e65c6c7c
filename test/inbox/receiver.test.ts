import type { OutgoingHttpHeaders } from 'node:http';
import { gzipSync } from 'node:zlib';
import t from 'tap';
import { notStored } from '../../src/inbox/intake-channel.ts';
import { signEvent } from '../../src/simulator/sign.ts';
import { deliver, post, SECRET, send, startReceiver } from './deliver.ts';
import { rawSocket, requestText, statusOf } from './raw-socket.ts';

const BODY = '{"event_type":"a"}';

function signed(body = BODY, id = 'msg_1') {
  return signEvent(SECRET, id, new Date(), body);
}

t.test('an acknowledgment is a 204 without a body', async (t) => {
  const { port, accepted } = await startReceiver(t);
  const { status, headers, body } = await deliver(port, 'msg_1', BODY);
  t.equal(status, 204);
  t.equal(body, '');
  t.strictSame(Object.keys(headers).sort(), ['connection', 'date', 'keep-alive']);
  t.equal(accepted.length, 1);
});

t.test('a rejected delivery gets the same response for every cause, and nothing is accepted', async (t) => {
  const { port, accepted, refused } = await startReceiver(t);
  const deliveries = [
    requestText('/webhooks', { 'content-length': '0' }),
    requestText('/webhooks', { ...signed(), 'svix-timestamp': '1', 'content-length': '18' }, BODY),
    requestText('/webhooks', { ...signed(), 'svix-signature': 'v1,x', 'content-length': '18' }, BODY),
    requestText('/webhooks', { ...signed('\ufffd'), 'content-length': '1' }),
  ];
  const answers: string[] = [];
  for (const [index, text] of deliveries.entries()) {
    const { socket, answers: heard } = await rawSocket(t, port);
    socket.write(text);
    if (index === deliveries.length - 1) socket.write(Buffer.of(0xff));
    const [answer] = await heard(1);
    answers.push((answer as string).replace(/^Date: .*\r\n/m, ''));
  }
  t.strictSame(
    refused,
    ['headers', 'timestamp', 'signature', 'encoding'],
    'the causes are counted separately',
  );
  t.equal(new Set(answers).size, 1, 'the sender cannot distinguish them');
  t.equal(statusOf(answers[0] as string), 401);
  t.match(answers[0], /\r\ncontent-length: 0\r\n/);
  t.match(answers[0], /\r\n\r\n$/, 'no body');
  t.strictSame(accepted, []);
});

t.test('a body of any content type, or without one, arrives byte for byte', async (t) => {
  const { port, accepted } = await startReceiver(t);
  const body = ' {"note" : "Zo\u00eb \ufeff", "a":1, "a":2}\r\n';
  const types = [
    'application/json',
    'application/json; charset=iso-8859-1',
    'text/plain',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    ...'application/octet-stream nonsense a/b/c ;'.split(' '),
    '',
  ];
  for (const type of types)
    t.equal((await post(port, { ...signed(body), 'content-type': type }, body)).status, 204, `'${type}'`);
  t.equal((await post(port, signed(body), body)).status, 204, 'none');
  t.equal(accepted.length, types.length + 1);
  for (const arrival of accepted) t.equal(arrival.body.toString(), body);
});

t.test('a body with a content encoding is rejected and never inflated', async (t) => {
  const { port, accepted, refused } = await startReceiver(t);
  const inflated = 'x'.repeat(64 * 1024 * 1024);
  const bomb = gzipSync(inflated);
  const encodings = ['gzip', 'GZIP', 'br', 'deflate', 'zstd', 'nonsense', 'identity, gzip', 'utf-16'];
  for (const encoding of encodings) {
    const headers = { ...signed(BODY), 'content-encoding': encoding };
    const { status, body } = await post(port, headers, encoding === 'gzip' ? bomb : BODY);
    t.equal(status, 415, `'${encoding}'`);
    t.equal(body, '');
  }
  t.strictSame(accepted, []);
  t.strictSame(new Set(refused), new Set(['compressed']), 'it is not counted as a rejected signature');
});

t.test('a body without an encoding is accepted under the names that senders give it', async (t) => {
  const { port, accepted } = await startReceiver(t);
  const encodings = ['identity', 'Identity', '', 'utf-8', 'UTF-8', 'utf8', 'identity, utf-8'];
  for (const encoding of encodings) {
    const headers: OutgoingHttpHeaders = { ...signed(BODY), 'content-encoding': encoding };
    t.equal((await post(port, headers, BODY)).status, 204, `'${encoding}'`);
  }
  t.equal(accepted.length, encodings.length);
  const unsigned = await post(port, { 'content-encoding': 'utf-8' }, BODY);
  t.equal(unsigned.status, 401, 'the signature decides');
});

t.test('every other request is refused by cause, and no response has a body', async (t) => {
  const { port, accepted, refused } = await startReceiver(t);
  const requests: [method: string, path: string, status: number, cause: string][] = [
    ['GET', '/webhooks', 404, 'method'],
    ['PUT', '/webhooks', 404, 'method'],
    ['DELETE', '//Webhooks/', 404, 'method'],
    ['OPTIONS', '/webhooks', 404, 'method'],
    ['POST', '/', 404, 'path'],
    ['POST', '/livez', 404, 'path'],
    ['POST', '/webhooks/1', 404, 'path'],
    ['POST', '/api/webhooks', 404, 'path'],
    ['GET', '/', 404, 'path'],
    ['GET', '/v1/deductions', 404, 'path'],
    ['GET', '/docs', 404, 'path'],
    ['GET', '/metrics', 404, 'path'],
    ['GET', '/%zz', 404, 'path'],
    ['GET', `/${'x'.repeat(5_000)}`, 404, 'path'],
  ];
  for (const [method, path, expected, cause] of requests) {
    const body = method === 'GET' ? '' : BODY;
    const headers = { ...signed(), 'content-length': body.length };
    const answer = await send(port, method, path, headers, body);
    t.equal(answer.status, expected, `${method} ${path.slice(0, 40)}`);
    t.equal(answer.body, '', `${method} ${path.slice(0, 40)} has no body`);
    t.equal(refused.pop(), cause, `${method} ${path.slice(0, 40)} is counted`);
  }
  t.strictSame([accepted, refused], [[], []]);
});

t.test('an expectation or a tunnel that Node.js refuses by itself is handled as any request', async (t) => {
  const { port, accepted, refused } = await startReceiver(t);
  const headers = { ...signed(), 'content-length': String(BODY.length), expect: '200-ok' };
  const requests = [
    [requestText('/webhooks', headers, BODY), 204],
    [requestText('/other', headers, BODY), 404],
    [requestText('receiver:443', {}, '', 'CONNECT'), 404],
  ] as const;
  for (const [text, status] of requests) {
    const { socket, answers } = await rawSocket(t, port);
    socket.write(text);
    t.equal(statusOf((await answers(1))[0] as string), status, text.slice(0, 12));
  }
  t.strictSame([accepted.length, refused], [1, ['path', 'method']]);
});

t.test('the path is the same with other slashes and in other letters', async (t) => {
  const { port, accepted, refused } = await startReceiver(t);
  const paths = [
    '/webhooks?a=1',
    '/webhooks/',
    '//webhooks',
    '/Webhooks',
    '/WEBHOOKS//',
    '/webhooks/?a=1',
    '/%77ebhooks',
  ];
  for (const path of paths) {
    const { status } = await send(port, 'POST', path, { ...signed(), 'content-length': BODY.length }, BODY);
    t.equal(status, 204, path);
  }
  t.equal(accepted.length, paths.length);
  t.strictSame(refused, []);
});

t.test('a delivery that cannot be stored gets 503 with Retry-After and no body', async (t) => {
  const errors = [notStored(), new Error('secret detail'), Object.assign(new Error(), { statusCode: 200 })];
  for (const error of errors) {
    const { port, refused } = await startReceiver(t, { accept: () => Promise.reject(error) });
    const { status, headers, body } = await deliver(port, 'msg_1', BODY);
    t.equal(status, 503, error.constructor.name);
    t.match(headers['retry-after'], /^[1-9]\d*$/);
    t.equal(body, '');
    t.strictSame(refused, ['unstored']);
  }
});

t.test('livez passes while the storing thread responds, readyz while it can commit', async (t) => {
  let ready = true;
  const { port } = await startReceiver(t, { isReady: async () => ready });
  for (ready of [true, false, true]) {
    const live = await send(port, 'GET', '/livez');
    t.match(live, { status: 200, body: '' });
    const { status, body } = await send(port, 'GET', '/readyz');
    t.match({ status, body }, { status: ready ? 200 : 503, body: '' });
  }
});
