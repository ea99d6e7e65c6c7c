import { type AddressInfo, createServer } from 'node:net';
import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import t from 'tap';
import { RESPONSE_READ_BYTES } from '../../src/outbox/client.ts';
import type { AttemptOutcome, BodyKind } from '../../src/outbox/retry.ts';
import type { Post, Timeouts } from '../../src/outbox/sender.ts';
import { client, PATIENT } from './parts.ts';
import { inTurn, json, stubService } from './stub-service.ts';

const post: Post = {
  kind: 'post',
  path: ['employee-changes', 'demographic'],
  idempotencyKey: 'r-1',
  body: Buffer.from('{"a":1}'),
  timeouts: PATIENT,
};
const never = new AbortController().signal;

function answeredOf(outcome: AttemptOutcome) {
  if (!outcome.responded) throw new Error(`no response: ${outcome.code}`);
  return outcome;
}

t.test('a request has the API key, its idempotency key and its content type', async (t) => {
  const { url, received } = await stubService(t, inTurn(200));
  const outcome = await client(t, `${url}/base/v1`).post(post, never);
  t.equal(answeredOf(outcome).status, 200);
  const path = '/base/v1/employee-changes/demographic';
  t.match(received, [{ method: 'POST', path, body: '{"a":1}' }]);
  t.match(received[0]?.headers, {
    authorization: 'Bearer key-1',
    'idempotency-key': 'r-1',
    'content-type': 'application/json',
    'content-length': '7',
    'user-agent': 'benefits-sidecar/9.9.9',
  });
});

t.test('a stream is sent with its known length', async (t) => {
  const { url, received } = await stubService(t, inTurn(200));
  async function* chunks() {
    yield Buffer.from('{"a":');
    yield Buffer.from('1}');
  }
  const outcome = await client(t, url).post({ ...post, body: { length: 7, chunks: chunks() } }, never);
  t.equal(answeredOf(outcome).status, 200);
  t.equal(received[0]?.body, '{"a":1}');
  t.equal(received[0]?.headers['content-length'], '7');
  t.notOk(received[0]?.headers['transfer-encoding']);
});

t.test('a stream that ends short or throws gets no response', async (t) => {
  const { url, received } = await stubService(t, inTurn(200));
  async function* short() {
    yield Buffer.from('{');
  }
  async function* broken(): AsyncGenerator<Buffer> {
    yield Buffer.from('{');
    throw Object.assign(new Error('no chunk'), { code: 'DECRYPTION_FAILED' });
  }
  const send = (chunks: AsyncGenerator<Buffer>) =>
    client(t, url).post({ ...post, body: { length: 7, chunks } }, never);
  t.match(await send(short()), { responded: false });
  t.match(await send(broken()), { responded: false, code: 'DECRYPTION_FAILED', sent: false });
  t.equal(received.length, 0);
});

t.test('ids are encoded and never change the path', async (t) => {
  const { url, received } = await stubService(t, inTurn(200));
  const sender = client(t, url);
  await sender.post({ ...post, path: ['employer', '../a b/ü?#%2e', 'census'] }, never);
  t.equal(received[0]?.path, '/employer/..%2Fa%20b%2F%C3%BC%3F%23%252e/census');
  for (const id of ['.', '..', '', 'half \ud800']) {
    const outcome = await sender.post({ ...post, path: ['employer', id, 'census'] }, never);
    t.strictSame(outcome, { responded: false, code: 'UNSENDABLE_PATH', sent: false });
  }
  t.equal(received.length, 1);
});

t.test('redirects are not followed', async (t) => {
  const { url, received } = await stubService(t, (response) =>
    response.writeHead(302, { location: '/elsewhere' }).end(),
  );
  t.equal(answeredOf(await client(t, url).post(post, never)).status, 302);
  t.equal(received.length, 1);
});

t.test('an endless response is read up to its limit, and the connection is closed', async (t) => {
  const dropped = Promise.withResolvers<void>();
  const { url } = await stubService(t, (response) => {
    response.writeHead(422, { 'content-type': 'text/plain' });
    response.on('close', dropped.resolve);
    const more = (): void => {
      while (!response.destroyed && response.write('x'.repeat(16_384)));
      if (!response.destroyed) response.once('drain', more);
    };
    more();
  });
  const outcome = answeredOf(await client(t, url).post(post, never));
  t.equal(outcome.status, 422);
  t.equal(outcome.response.length, RESPONSE_READ_BYTES);
  t.equal(outcome.content, 'too-long');
  await dropped.promise;
});

const CONTENTS: [string, BodyKind][] = [
  ['', 'empty'],
  ['\r\n', 'not-json'],
  [' '.repeat(RESPONSE_READ_BYTES), 'not-json'],
  ['{"error":"no such employee","details":{}}', 'json-error'],
  ['{"error":true}', 'json-error'],
  ['{"error":["x"],"ok":false}', 'json-error'],
  ['{"errors":"x"}', 'json-failure'],
  ['{"errors":[{"row":1}]}', 'json-failure'],
  ['{"success":false}', 'json-failure'],
  ['{"success":"False"}', 'json-failure'],
  ['{"success":"","ok":0,"errors":{}}', 'json'],
  ['{"ok":false,"error":null}', 'json-failure'],
  ['{"error":"","errors":[],"success":true,"ok":true}', 'json'],
  ['{"error":{},"errors":null}', 'json'],
  ['{"Success":false}', 'json-failure'],
  ['{"error":"no","Error":null}', 'json-error'],
  ['{"Error":"x"}', 'json-error'],
  ['{"message":"x"}', 'json'],
  ['\ufeff{"message":"x"}\n', 'json'],
  ['"error"', 'json'],
  ['null', 'json'],
  ['<h1>We will be back soon</h1>', 'not-json'],
  ['{"half":', 'not-json'],
  [JSON.stringify('x'.repeat(RESPONSE_READ_BYTES - 2)), 'json'],
  [JSON.stringify('x'.repeat(RESPONSE_READ_BYTES - 1)), 'too-long'],
];

t.test('the kind of a body depends on parsing it, not on its content type', async (t) => {
  const { url } = await stubService(t, (response, _, index) =>
    response.writeHead(200, { 'content-type': 'text/html' }).end(CONTENTS[index]?.[0]),
  );
  const sender = client(t, url);
  for (const [body, content] of CONTENTS)
    t.equal(answeredOf(await sender.post(post, never)).content, content, body.slice(0, 50));
});

t.test('a compressed response is read, although none was asked for, within the same limit', async (t) => {
  const [bomb, error] = ['x'.repeat(RESPONSE_READ_BYTES + 1), '{"error":"x"}'];
  const cases: [encoding: string, body: Buffer, content: BodyKind][] = [
    ['gzip', gzipSync(error), 'json-error'],
    ['GZIP', gzipSync('{}'), 'json'],
    ['deflate', deflateSync('{}'), 'json'],
    ['br', brotliCompressSync('{}'), 'json'],
    ['zstd', zstdCompressSync('{}'), 'json'],
    ['gzip', gzipSync(bomb), 'too-long'],
    ['gzip', Buffer.alloc(0), 'empty'],
    ['gzip', Buffer.from('{}'), 'json'],
    ['gzip', gzipSync('{}').subarray(0, 12), 'not-json'],
  ];
  const { url, received } = await stubService(t, (response, _, index) =>
    response.writeHead(200, { 'content-encoding': cases[index]?.[0] }).end(cases[index]?.[1]),
  );
  const sender = client(t, url);
  for (const [index, [encoding, , content]] of cases.entries())
    t.equal(answeredOf(await sender.post(post, never)).content, content, `${index}: ${encoding}`);
  t.equal(received[0]?.headers['accept-encoding'], 'identity');
});

t.test("Retry-After as a date is counted from the service's own clock", async (t) => {
  const { url } = await stubService(t, (response) => {
    response.sendDate = false;
    const date = 'Thu, 01 Jan 2026 00:00:00 GMT';
    json(response, 503, {}, { date, 'retry-after': date.replace(':00 GMT', ':40 GMT') });
  });
  t.equal(answeredOf(await client(t, url).post(post, never)).retryAfterMs, 40_000);
});

t.test('a response that does not start, stalls or drips times out', async (t) => {
  const { url } = await stubService(t, (response, request) => {
    if (request.path.endsWith('silent')) return;
    response.writeHead(200, { 'content-length': '100' }).write('x');
    if (request.path.endsWith('drip')) {
      const timer = setInterval(() => response.write('x'), 50);
      response.on('close', () => clearInterval(timer));
    }
  });
  const sender = client(t, url);
  const silence = { ...PATIENT, idleMs: 300 };
  const whole = { ...PATIENT, totalMs: 2_000 };
  const sent = (path: string, timeouts: Timeouts) => sender.post({ ...post, path: [path], timeouts }, never);
  const outcomes = await Promise.all([sent('silent', silence), sent('half', silence), sent('drip', whole)]);
  const codes = ['UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_BODY_TIMEOUT', 'TIMEOUT'];
  const refused = codes.map((code) => ({ responded: false, code, sent: true }));
  t.strictSame(outcomes, refused);
});

t.test('a connection that is reset or ends within the response counts as no response', async (t) => {
  const { url } = await stubService(t, (response, request) => {
    if (request.path.endsWith('reset')) response.socket?.resetAndDestroy();
    else {
      const headers = request.path.endsWith('half') ? { 'content-length': '100' } : {};
      response.writeHead(200, headers).write('{}');
      setImmediate(() => response.destroy());
    }
  });
  const sender = client(t, url);
  for (const path of ['reset', 'half', 'chunked'])
    t.match(await sender.post({ ...post, path: [path] }, never), { responded: false, sent: true }, path);
});

t.test('nothing was sent to a service that refuses the connection', async (t) => {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  const outcome = await client(t, `http://127.0.0.1:${port}`).post(post, never);
  t.strictSame(outcome, { responded: false, code: 'ECONNREFUSED', sent: false });
});
