import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import BetterSqlite3 from 'better-sqlite3';
import t from 'tap';
import { sqlitePath } from '../../src/database/open.ts';
import { DEFAULT_EMPLOYER_IDS, DEFAULT_SEED, makeWorld } from '../../src/simulator/world.ts';
import { eventually } from '../support/eventually.ts';
import { type Front, startFront } from '../support/front.ts';
import { deliver, eventOf } from '../support/load.ts';
import { breaches } from '../support/oracle.ts';
import { setStage } from '../support/stage.ts';

const TWO_DAYS_MS = 2 * 86_400_000;
const SHIFTED_CLOCK = new URL('../support/shifted-clock.ts', import.meta.url).href;
const world = makeWorld(DEFAULT_SEED);
const [MAPLE = ''] = DEFAULT_EMPLOYER_IDS;

t.test('clock jumps of two days cause no retry storm and leave nothing stuck', async (t) => {
  let front = {} as Front;
  let shiftMs = 0;
  const now = () => new Date(Date.now() + shiftMs);
  const stage = await setStage(t, {
    start: false,
    simulator: { now },
    variables: { CENSUS_MAX_AGE: '30d' },
    before: async (url) => {
      front = await startFront(t, url, 'hang');
      return front.url;
    },
  });
  const { api, simulator, databaseUrl, keys, variables, folder } = stage;
  variables.CLOCK_SHIFT_FILE = join(folder, 'clock');
  const jump = (ms: number): void => {
    shiftMs = ms;
    writeFileSync(variables.CLOCK_SHIFT_FILE as string, String(ms));
  };
  jump(0);
  const { port } = await stage.start({ preload: SHIFTED_CLOCK });
  const handle = new BetterSqlite3(sqlitePath(databaseUrl), { readonly: true });
  t.teardown(() => handle.close());
  const leases = handle
    .prepare<[], string>("select lease_expires_at from outbox where state = 'sending'")
    .pluck();
  const attempts = handle.prepare<[], number>('select count(*) from delivery_attempts').pluck();
  const allCompleted = (count: number) =>
    eventually(
      'every sync is completed',
      () => api.list('/v1/census-syncs'),
      (all) => all.length === count && all.every(({ state }) => state === 'completed'),
    );
  const acknowledged = [0, 1, 2, 3].map((index) => eventOf('clock', index));
  const send = async (index: number) =>
    (await deliver(port, keys.webhookSecret, acknowledged[index] as (typeof acknowledged)[number], now()))
      .status;

  t.equal(await send(0), 204);
  for (const [employerId, census] of world) {
    t.equal((await api.call('PUT', `/v1/employers/${employerId}/census`, census)).status, 200);
    await simulator.requestCensus(employerId);
  }
  await eventually(
    'two uploads are in flight',
    () => front.met.get('hang'),
    (met) => met === 2,
  );

  await t.test('forward: uploads in flight keep their claims and are sent once', async (t) => {
    jump(TWO_DAYS_MS);
    await eventually(
      'an event with the new time is accepted',
      () => send(1),
      (status) => status === 204,
    );
    const ahead = new Date(Date.now() + TWO_DAYS_MS - 60_000).toISOString();
    await eventually(
      'the claims are renewed with the new time',
      () => leases.all(),
      (until) => until.length === 2 && until.every((one) => one > ahead),
    );
    t.equal(attempts.get(), 2, 'no claim was taken over');
    front.letThrough();
    await allCompleted(2);
    t.equal(simulator.requests().length, 2);
  });

  await t.test('back: work scheduled, claimed or started before the jump is not stuck', async (t) => {
    front.mode = 'reset';
    t.equal((await api.call('POST', `/v1/employers/${MAPLE}/census/sync`)).status, 202);
    await eventually(
      'the upload failed',
      () => front.met.get('reset') ?? 0,
      (met) => met > 0,
    );
    t.equal(await send(2), 204);
    jump(0);
    await eventually(
      'an event with the old time is accepted',
      () => send(3),
      (status) => status === 204,
    );
    front.mode = 'pass';
    await allCompleted(3);
    t.equal(simulator.requests().length, 3);
    t.ok((attempts.get() ?? 0) < 12, `no storm: ${attempts.get()} attempts`);
  });

  await stage.settled();
  t.strictSame(await breaches({ databaseUrl, acknowledged }), []);
  t.equal((await fetch(`${stage.sidecar.receiver}/readyz`)).status, 200);
  t.equal(await stage.sidecar.end('SIGTERM'), 0);
});
