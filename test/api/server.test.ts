import { once } from 'node:events';
import { type ClientRequest, type IncomingMessage, request } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import type { Test } from 'tap';
import type { ApiParts } from '../../src/api/route.ts';
import { createApi } from '../../src/api/server.ts';
import { CENSUS_BYTES_MAX } from '../../src/census/reading.ts';
import { rawSocket, statusOf } from '../inbox/raw-socket.ts';
import { cpuTime } from '../support/cpu-time.ts';
import { onEitherEngine } from '../support/engine.ts';
import { eventually } from '../support/eventually.ts';
import { FIRST_TOKEN, type Running, start } from './start.ts';

const authorization = `Bearer ${FIRST_TOKEN}`;

async function listen(
  t: Test,
  replaced: Partial<ApiParts> = {},
): Promise<Running & { base: string; port: number }> {
  const running = await start(t, replaced);
  await running.app.listen({ host: '127.0.0.1', port: 0 });
  const { port } = running.app.server.address() as AddressInfo;
  return { ...running, port, base: `http://127.0.0.1:${port}` };
}

const test = onEitherEngine.with(listen);

/** Begins an upload of a census. */
function putCensus(port: number, bytes: number, body: string) {
  const headers = { authorization, 'content-type': 'application/json', 'content-length': bytes };
  const put = request({ port, method: 'PUT', path: '/v1/employers/acme/census', headers });
  put.on('error', () => {}).write(body);
  return put;
}

/** Waits for the response to an upload that continues, and ends it. */
async function answerTo(put: ClientRequest): Promise<[status: number | undefined, text: string]> {
  const [response] = (await once(put, 'response')) as [IncomingMessage];
  const answered = await text(response);
  put.destroy();
  return [response.statusCode, answered];
}

test('a census with too large a content length is rejected before it is read', async (t, { port }) => {
  const answer = await answerTo(putCensus(port, CENSUS_BYTES_MAX + 1, '{'));
  t.match(answer, [413, /256 MiB/]);
});

test('a census rejected while it is being sent gets the problem', async (t, { port }) => {
  const answer = await answerTo(putCensus(port, 10_000_000, 'this is not JSON'));
  t.match(answer, [422, /census-refused/]);
});

test('a response to a request with an unread body closes the connection', async (t, { port }) => {
  const unread: Record<string, number> = {
    'GET /livez': 200,
    'GET /v1/events': 401,
    'POST /v1/employers/acme/census': 405,
    'POST /nowhere': 404,
    'GET /%zz': 400,
  };
  for (const [line, status] of Object.entries(unread)) {
    const { socket, closed } = await rawSocket(t, port);
    socket.write(`${line} HTTP/1.1\r\nhost: a\r\ncontent-length: 1000\r\n\r\nx`);
    const heard = await closed;
    t.equal(statusOf(heard), status, line);
    t.match(heard, /^connection: close/im, line);
  }
});

test('two Host headers are 400, on public routes too', async (t, { port }) => {
  for (const path of ['/livez', '/v1/events']) {
    const { socket, answers } = await rawSocket(t, port);
    socket.write(`GET ${path} HTTP/1.1\r\nhost: a\r\nHost: a\r\nauthorization: ${authorization}\r\n\r\n`);
    const [answer] = await answers(1);
    t.equal(statusOf(answer as string), 400, path);
  }
});

test('an aborted upload leaves nothing behind and is not logged as an error', async (t, world) => {
  const { port, db, logged, app } = world;
  const reached = Promise.withResolvers<void>();
  app.server.on('request', (incoming) => incoming.once('data', () => reached.resolve()));
  const answered = Promise.withResolvers<void>();
  app.server.on('request', (_incoming, response) => response.once('close', () => answered.resolve()));
  const put = putCensus(port, 1_000, '{"organization":');
  await reached.promise;
  put.destroy();
  await answered.promise;
  await app.close();
  // The client is gone and does not see the end of the request.
  const partial = () => db.selectFrom('staged_censuses').select('state').execute();
  await eventually('the partial census is deleted', partial, { length: 0 });
  t.strictSame(logged, []);
});

test('no response may be cached or rendered as a page', async (t, { app, port }) => {
  const request = (line: string, ...more: string[]) =>
    [`${line} HTTP/1.1`, 'host: a', `authorization: ${authorization}`, ...more, '', ''].join('\r\n');
  const JSON_TYPE = 'content-type: application/json';
  const all: readonly (readonly [status: number, text: string])[] = [
    [200, request('GET /v1/deductions', 'connection: close')],
    [404, request('GET /nowhere', 'connection: close')],
    [405, request('DELETE /v1/deductions', 'connection: close')],
    [400, request('GET /%zz')],
    [400, request(`GET /v1/deductions/${'a'.repeat(4_000)}`)],
    [400, 'GET /v1/deductions HTTP/1.1\r\nconnection: close\r\n\r\n'],
    [400, 'not HTTP\r\n\r\n'],
    [413, request('PUT /v1/payroll-runs/a', JSON_TYPE, 'content-length: 99999999')],
    [415, request('PUT /v1/payroll-runs/a', 'content-type: text/plain', 'content-length: 1')],
    [417, request('GET /v1/deductions', 'expect: more')],
    [431, request('GET /v1/deductions', `x: ${'a'.repeat(20_000)}`)],
  ];
  const assertProtected = (response: string, status: number) => {
    t.equal(statusOf(response), status);
    t.match(response, /^cache-control: no-store\r$/im, `${status}`);
    t.match(response, /^x-content-type-options: nosniff\r$/im, `${status}`);
    t.match(response, /^referrer-policy: no-referrer\r$/im, `${status}`);
    t.match(response, /^content-security-policy: default-src 'none'/im, `${status}`);
  };
  for (const [status, text] of all) {
    const { socket, closed } = await rawSocket(t, port);
    socket.write(text);
    assertProtected(await closed, status);
  }
  // Node and `endSlowBodies` emit this when time is up.
  const accepted = once(app.server, 'connection') as Promise<[Socket]>;
  const { closed } = await rawSocket(t, port);
  app.server.emit('clientError', { code: 'ERR_HTTP_REQUEST_TIMEOUT' }, (await accepted)[0]);
  assertProtected(await closed, 408);
});

test('headers, bodies, idle time and the number of connections are limited', async (t, { app }) => {
  const { headersTimeout, requestTimeout, timeout, maxConnections } = app.server;
  const limits = [headersTimeout, requestTimeout, timeout, maxConnections];
  t.strictSame(limits, [5_000, 600_000, 300_000, 256]);
});

onEitherEngine('the listener is ready within a second', async (t) => {
  const { parts } = await start(t);
  const { cpuMs } = await cpuTime(async () => {
    const app = createApi(parts);
    t.teardown(() => app.close());
    await app.ready();
  });
  t.ok(cpuMs < 1_000, `${cpuMs} ms of CPU time`);
});
