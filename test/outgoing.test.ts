import { createServer, request } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import type { Test } from 'tap';
import t from 'tap';
import { createHttpSource } from '../src/census/source-http.ts';
import { createClient } from '../src/outbox/client.ts';
import { createAgent, createTransport } from '../src/outgoing.ts';
import { proxyFor, readProxy } from '../src/proxy-config.ts';
import { PATIENT } from './outbox/parts.ts';
import { json, stubService } from './outbox/stub-service.ts';

/** A forward proxy that opens tunnels and forwards requests, for this user and password only. */
async function forwardProxy(t: Test, credentials = 'user:pass-word') {
  const passed: string[] = [];
  const isKnown = (header: string | undefined) =>
    header === `Basic ${Buffer.from(credentials).toString('base64')}`;
  const server = createServer((incoming, response) => {
    passed.push(`${incoming.method} ${incoming.url}`);
    if (!isKnown(incoming.headers['proxy-authorization'])) return response.writeHead(407).end();
    const { method, headers } = incoming;
    const forwarded = request(incoming.url as string, { method: method as string, headers });
    forwarded.on('response', (from) => from.pipe(response.writeHead(from.statusCode as number)));
    return incoming.pipe(forwarded);
  });
  server.on('connect', (incoming, socket) => {
    passed.push(`CONNECT ${incoming.url}`);
    if (!isKnown(incoming.headers['proxy-authorization'])) return socket.end('HTTP/1.1 407 x\r\n\r\n');
    const [host, port] = (incoming.url as string).split(':');
    const onward = connect(Number(port), host, () => socket.write('HTTP/1.1 200 x\r\n\r\n'));
    for (const end of [onward, socket]) end.on('error', () => {});
    return onward.pipe(socket).pipe(onward);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => server.close());
  t.teardown(() => server.closeAllConnections());
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { passed, host, url: `http://user:pass-word@${host}` };
}

const never = new AbortController().signal;
const post = { kind: 'post', path: ['x'], idempotencyKey: 'k', timeouts: PATIENT } as const;
const posting = { ...post, body: Buffer.from('{}') };

t.test('requests to the service and the census source leave through the proxy', async (t) => {
  const proxy = await forwardProxy(t);
  const { url, received } = await stubService(t, (response) => json(response, 200));
  const through = readProxy({ HTTP_PROXY: proxy.url });
  const benefits = { baseUrl: url, apiKey: 'key', apiKeyFile: null };
  const client = createClient(benefits, '9.9.9', () => new Date(), createTransport(through));
  t.teardown(() => client.close());
  t.match(await client.post(posting, never), { responded: true, status: 200 });
  const source = createHttpSource(`${url}/{employer_id}`, null, '9.9.9', through);
  for await (const _ of (await source.fetch('acme', never)).content);
  t.strictSame(proxy.passed, [`POST ${url}/x`, `GET ${url}/acme`]);
  t.equal(received.length, 2);
});

t.test('a proxy that refuses a tunnel sent nothing, and the reason names its status', async (t) => {
  const proxy = await forwardProxy(t, 'other:password');
  const through = readProxy({ https_proxy: proxy.url });
  const benefits = { baseUrl: 'https://benefits.example', apiKey: 'key', apiKeyFile: null };
  const client = createClient(benefits, '9.9.9', () => new Date(), createTransport(through));
  t.teardown(() => client.close());
  const refused = { responded: false, code: 'PROXY_RESPONSE_407', sent: false };
  t.strictSame(await client.post(posting, never), refused);
  t.strictSame(proxy.passed, ['CONNECT benefits.example:443']);
});

const DIRECT = [
  '*',
  'LOCALHOST',
  '.localhost',
  'a, localhost',
  'localhost:PORT',
  'other localhost.',
  '*:PORT',
];
const PROXIED = ['', 'a', 'local', '*.localhost', 'localhost:1', '127.0.0.1', '::1'];

t.test('NO_PROXY excepts hosts, and doctor names the proxy that the agent uses', async (t) => {
  const proxy = await forwardProxy(t);
  const { url } = await stubService(t, (response) => json(response, 200));
  const { port } = new URL(url);
  const address = `http://localhost:${port}/`;
  for (const [isDirect, entries] of [[true, DIRECT] as const, [false, PROXIED] as const]) {
    for (const entry of entries) {
      const through = readProxy({ HTTP_PROXY: proxy.url, NO_PROXY: entry.replace('PORT', port) });
      const agent = createAgent(through);
      const { body } = await agent.request({ origin: address, path: '/', method: 'GET' });
      await body.dump();
      await agent.destroy();
      t.equal(proxy.passed.splice(0).length, isDirect ? 0 : 1, entry);
      t.equal(proxyFor(address, through), isDirect ? null : proxy.host, entry);
    }
  }
});

t.test('an IPv6 address in NO_PROXY has brackets if it has a port', async (t) => {
  const isDirect = (entry: string) => {
    const through = readProxy({ HTTP_PROXY: 'http://proxy:3128', NO_PROXY: entry });
    return proxyFor('http://[::1]:40471/', through) === null;
  };
  const entries = ['::1', '[::1]', '[::1]:40471', '[::1]:1', '::1:40471', '*:40471', '*:1'];
  t.strictSame(entries.filter(isDirect), ['::1', '[::1]', '[::1]:40471', '*:40471']);
});

t.test('HTTPS_PROXY counts for https, and HTTP_PROXY for both; lower case comes first', async (t) => {
  const of = (env: Record<string, string>) =>
    ['https', 'http'].map((scheme) => proxyFor(`${scheme}://benefits.example`, readProxy(env)));
  t.strictSame(of({}), [null, null]);
  t.strictSame(of({ HTTP_PROXY: 'one:3128' }), ['one:3128', 'one:3128']);
  t.strictSame(of({ HTTPS_PROXY: 'http://two:3128' }), ['two:3128', null]);
  t.strictSame(of({ HTTPS_PROXY: 'http://two', https_proxy: 'https://u:p@three' }), ['three', null]);
});
