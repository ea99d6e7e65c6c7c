import { gzipSync } from 'node:zlib';
import { signEvent } from '../../src/simulator/sign.ts';
import { termination } from '../contract/samples.ts';
import { post } from '../inbox/deliver.ts';
import { engineOf, onEitherEngine } from '../support/engine.ts';
import { eventually } from '../support/eventually.ts';
import { deliver, eventOf } from '../support/load.ts';
import { scrape } from '../support/scrape.ts';
import { setStage } from '../support/stage.ts';

const SSN = '000-73-9182';

onEitherEngine('metrics and activity count received, rejected and applied events', async (t) => {
  const stage = await setStage(t);
  const { keys, api } = stage;
  const { port } = stage.sidecar;
  const secret = keys.webhookSecret;
  const metrics = () => scrape(stage.sidecar.api, keys);
  const signed = (body: string, id = 'msg_refused', now = new Date()) => signEvent(secret, id, now, body);

  const events = [0, 1, 2].map((index) => eventOf('known', index));
  for (const event of events) t.equal((await deliver(port, secret, event)).status, 204);
  const [first] = events as [(typeof events)[0]];
  t.equal((await deliver(port, secret, first)).status, 204, 'a duplicate');
  t.equal((await deliver(port, secret, { ...first, body: `{"ssn":"${SSN}"}` })).status, 204, 'a conflict');
  t.equal((await deliver(port, secret, { id: 'msg_odd', body: `{"ssn":"${SSN}"}` })).status, 204);
  const ignored = { id: 'msg_new', body: '{"id":"e","event_type":"new.type","data":{}}' };
  t.equal((await deliver(port, secret, ignored)).status, 204);

  const bad = { ...signed('{}'), 'svix-signature': 'v1,AAAA' };
  t.equal((await post(port, {}, '{}')).status, 401, 'headers');
  t.equal((await post(port, signed('{}', 'msg_old', new Date(0)), '{}')).status, 401, 'timestamp');
  t.equal((await post(port, bad, '{}')).status, 401, 'signature');
  t.equal((await post(port, bad, '{}')).status, 401, 'and again');
  t.equal((await post(port, signed('\ufffd'), Buffer.of(0xff))).status, 401, 'encoding');
  t.equal((await post(port, { ...signed('{}'), 'content-encoding': 'gzip' }, gzipSync('{}'))).status, 415);
  t.equal((await post(port, signed('{}'), Buffer.alloc(300_000))).status, 413);
  await stage.settled();

  const change = await api.call('POST', '/v1/employee-changes/termination', termination);
  t.equal(change.status, 202);
  const rejected = async () => (await metrics()).of('attempts_total{outcome="rejected"}');
  await eventually('the service rejected the change because it does not know the employee', rejected, 1);
  const scraped = await metrics();

  const expected = {
    webhooks_received_total: 14,
    webhooks_verified_total: 7,
    'webhooks_refused_total{cause="headers"}': 1,
    'webhooks_refused_total{cause="timestamp"}': 1,
    'webhooks_refused_total{cause="signature"}': 2,
    'webhooks_refused_total{cause="encoding"}': 1,
    'webhooks_refused_total{cause="compressed"}': 1,
    'webhooks_refused_total{cause="size"}': 1,
    'webhooks_refused_total{cause="unreadable"}': 0,
    webhooks_unstored_total: 0,
    log_lines_dropped_total: 0,
    webhooks_duplicates_total: 2,
    webhooks_conflicts_total: 1,
    acknowledgement_seconds_count: 7,
    'acknowledgement_seconds_bucket{le="+Inf"}': 7,
    commit_seconds_count: 7,
    commit_events_sum: 7,
    'events_applied_total{outcome="applied"}': 3,
    'events_applied_total{outcome="ignored"}': 1,
    'events_applied_total{outcome="quarantined"}': 1,
    events_pending: 0,
    apply_lag_seconds: 0,
    events_quarantined: 1,
    events_conflicts: 1,
    'requests{state="pending"}': 0,
    'requests{state="sending"}': 0,
    'requests{state="rejected"}': 1,
    requests_oldest_seconds: 0,
    circuit_breaker_paused: 0,
    ready: 1,
    'attempts_total{outcome="delivered"}': 0,
    'attempts_total{outcome="rejected"}': 1,
    'api_request_seconds_count{route="POST /v1/employee-changes/termination"}': 1,
    'payroll_run_seconds_count{work="finalize"}': 0,
    'api_shed_total{reason="event-loop"}': 0,
  };
  for (const [series, value] of Object.entries(expected)) t.equal(scraped.of(series), value, series);
  t.ok((scraped.of('ledger_position') ?? 0) >= 3);
  t.ok((scraped.of('database_bytes') ?? 0) > 10_000);
  t.ok((scraped.of('last_event_age_seconds') ?? 100) < 60);
  for (const thread of engineOf(t) === 'sqlite' ? ['main', 'api', 'receiver'] : ['main', 'api']) {
    t.ok((scraped.of(`heap_used_bytes{thread="${thread}"}`) ?? 0) > 1_000_000, thread);
    // A thread that started just now may have no sample yet.
    t.type(scraped.of(`event_loop_delay_seconds_count{thread="${thread}"}`), 'number', thread);
  }
  t.ok((scraped.of('process_resident_memory_bytes') ?? 0) > 10_000_000, 'the default process metrics');

  const ids = ['emp-', 'ded-', 'msg_', 'employer-', termination.employee_id];
  for (const secret of [SSN, keys.token, keys.apiKey, ...ids])
    t.notMatch(scraped.text, secret, 'neither ids nor personal data nor secrets');

  const { minutes, ...activity } = await api.get('/v1/activity');
  const counts = { pending: 0, quarantined: 1, conflicts: 1 };
  t.match(activity, { events: counts, circuit_breaker: { state: 'active' } });
  let acknowledged = 0;
  for (const minute of minutes) acknowledged += minute.acknowledged;
  t.equal(acknowledged, 7, 'from the receiver thread');
});
