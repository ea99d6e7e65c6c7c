/** An overloaded private listener rejects requests, and deliveries are acknowledged as before. */
import { Agent, request } from 'node:http';
import t, { type Test } from 'tap';
import { SECONDS } from '../../src/telemetry/metric.ts';
import { eventually } from '../support/eventually.ts';
import { scrape } from '../support/scrape.ts';
import { setStage } from '../support/stage.ts';
import { stretched } from '../support/stretched.ts';

/** This many versions fill pages of a thousand. */
const SEEDED_EVENTS = 1_100;
/** Concurrent clients that request repeatedly: many times as many as a payroll system has. */
const CALLERS = 240;
/** The provider waits 15 s; about 10 ms are measured. The limit fails only if the receiver is affected. */
const ACKNOWLEDGED_WITHIN_MS = 1_000;

t.test('the API sheds requests under overload, and the receiver is not affected', async (t) => {
  const stage = await setStage(t);
  const { keys, sidecar } = stage;
  await stage.load('seed', { events: SEEDED_EVENTS }).ended;
  await stage.settled();

  const statuses = new Map<number, number>();
  const flood = startFlood(t, `${sidecar.api}/v1/deduction-versions?limit=1000`, keys.token, (status) =>
    statuses.set(status, (statuses.get(status) ?? 0) + 1),
  );
  const ask = (path: string) =>
    fetch(sidecar.api + path, { headers: { authorization: `Bearer ${keys.token}` } });
  const asking = () => ask('/v1/deductions?limit=1');
  const refused = await eventually('requests are refused', asking, { status: 503 });
  t.equal(refused.headers.get('content-type')?.split(';')[0], 'application/problem+json');
  t.match(refused.headers.get('retry-after'), /^\d+$/);
  t.match(await refused.json(), { status: 503, detail: /Too many requests at once/ });
  for (const path of ['/livez', '/readyz', '/metrics'])
    t.equal((await ask(path)).status, 200, `${path} still responds`);

  const before = await scrape(sidecar.api, keys);
  const load = stage.load('flooded', { connections: 2 });
  await load.reached(100);
  await load.stop();
  const after = await scrape(sidecar.api, keys);
  await flood.stop();

  t.strictSame([...load.refusals], [], 'every delivery was acknowledged');
  const grown = (series: string) => (after.of(series) ?? 0) - (before.of(series) ?? 0);
  const all = grown('acknowledgement_seconds_count');
  t.ok(all >= 100);
  const limitS = stretched(ACKNOWLEDGED_WITHIN_MS) / 1_000;
  const withinS = SECONDS.find((bound) => bound >= limitS) ?? '+Inf';
  t.equal(grown(`acknowledgement_seconds_bucket{le="${withinS}"}`), all, `all within ${withinS} s`);
  t.ok((after.of('api_shed_total{reason="event-loop"}') ?? 0) > 0);
  t.ok((statuses.get(503) ?? 0) > 0 && (statuses.get(200) ?? 0) > 0, JSON.stringify([...statuses]));
  // 408: the listener had no time to read the headers.
  for (const status of statuses.keys()) t.ok([200, 408, 503].includes(status), `${status}`);
  const warnings = sidecar.logged().filter(({ msg }) => msg.startsWith('requests were refused'));
  t.ok(warnings.length > 0 && warnings.length < 60, `${warnings.length} log lines, not one per request`);

  const answered = await eventually('it answers again', () => ask('/v1/deductions?limit=1'), { status: 200 });
  await answered.body?.cancel();
});

/** Clients with their own connections that send the next request after each response. */
function startFlood(t: Test, url: string, token: string, onStatus: (status: number) => void) {
  const agent = new Agent({ keepAlive: true, maxSockets: CALLERS });
  let stopped = false;
  const one = () =>
    new Promise<void>((resolve) => {
      const asking = request(url, { agent, headers: { authorization: `Bearer ${token}` } }, (response) => {
        onStatus(response.statusCode ?? 0);
        response.resume().on('close', resolve);
      });
      asking.on('error', () => resolve());
      asking.end();
    });
  const caller = async () => {
    while (!stopped) await one();
  };
  const ended = Promise.all(Array.from({ length: CALLERS }, caller));
  const stop = async () => {
    stopped = true;
    await ended;
    agent.destroy();
  };
  t.teardown(stop);
  return { stop };
}
