/** Requests while the API thread is late or short of memory. With a whole sidecar: test/faults/pressure.test.ts. */
import type { AddressInfo } from 'node:net';
import t, { type Test } from 'tap';
import type { PressureLimits } from '../../src/api/pressure.ts';
import { FIRST_TOKEN, start } from '../api/start.ts';
import { eventually } from '../support/eventually.ts';
import { read } from '../support/scrape.ts';

async function listen(t: Test, pressure: PressureLimits) {
  const running = await start(t, { pressure });
  await running.app.listen({ host: '127.0.0.1', port: 0 });
  const { port } = running.app.server.address() as AddressInfo;
  const headers = { authorization: `Bearer ${FIRST_TOKEN}` };
  const ask = (path: string) => fetch(`http://127.0.0.1:${port}${path}`, { headers });
  const status = async (path: string) => {
    const answer = await ask(path);
    await answer.body?.cancel();
    return answer.status;
  };
  return { ...running, ask, status };
}

/** Blocks the thread for most of the time, until released. */
function busy(t: Test): () => void {
  const holding = setInterval(() => {
    const until = performance.now() + 60;
    while (performance.now() < until);
  }, 0);
  const stop = () => clearInterval(holding);
  t.teardown(stop);
  return stop;
}

t.test('while the thread is late, all requests except health and metrics are rejected', async (t) => {
  const { ask, status, logged } = await listen(t, { loopDelayMs: 20, connections: 0, heapBytes: 0 });
  const stop = busy(t);
  const refused = await eventually('it refuses', () => ask('/v1/events'), { status: 503 });
  t.match(refused.headers.get('retry-after'), /^\d+$/);
  t.match(refused.headers.get('content-type'), /^application\/problem\+json/);
  const type = 'urn:benefits-sidecar:problem:unavailable';
  t.match(await refused.json(), { type, status: 503, detail: /^Too many requests at once\. Wait 2 seconds/ });
  t.equal(await status('/v1/nothing'), 503, 'even an unknown path');
  for (const path of ['/livez', '/readyz', '/metrics']) t.equal(await status(path), 200, path);
  const counted = read(await (await ask('/metrics')).text());
  t.ok((counted.of('api_shed_total{reason="event-loop"}') ?? 0) >= 2);
  t.equal(counted.of('api_shed_total{reason="heap"}'), 0);
  stop();
  await eventually('it answers again', () => status('/v1/events'), 200);
  const warnings = logged.filter(({ message }) => message.startsWith('requests were refused'));
  t.ok(warnings.length > 0, 'the rejections are logged');
  t.match(warnings[0], { level: 'warn', fields: { reason: 'event-loop', count: 1 } });
  for (const { level } of logged) t.not(level, 'error', 'the requests are not logged');
});

t.test('a few requests are served however late the thread is', async (t) => {
  const { app, status } = await listen(t, { loopDelayMs: 20, connections: 8, heapBytes: 0 });
  const stop = busy(t);
  await eventually('it is late', () => app.isUnderPressure(), true);
  for (let asked = 0; asked < 5; asked += 1) t.equal(await status('/v1/events'), 200, 'one is answered');
  const many = () => Promise.all(Array.from({ length: 12 }, () => status('/v1/events')));
  await eventually('twelve concurrent requests are too many', many, (statuses) => statuses.includes(503));
  stop();
});

t.test('requests are rejected when memory runs out', async (t) => {
  const { status } = await listen(t, { loopDelayMs: 1, connections: 100, heapBytes: 1 });
  await eventually('it refuses', () => status('/v1/events'), 503);
  t.equal(await status('/livez'), 200);
});
