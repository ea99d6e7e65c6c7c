/**
 * The benefits service hangs, resets connections and loses responses. Events are still accepted, and uploads
 * arrive.
 */

import { DEFAULT_EMPLOYER_IDS, DEFAULT_SEED, makeWorld } from '../../src/simulator/world.ts';
import { open } from '../database/scratch.ts';
import { onEachEngine } from '../support/engine.ts';
import { eventually } from '../support/eventually.ts';
import { type Front, startFront } from '../support/front.ts';
import { startLoad } from '../support/load.ts';
import { breaches } from '../support/oracle.ts';
import { setStage } from '../support/stage.ts';
import { stretched } from '../support/stretched.ts';

const world = makeWorld(DEFAULT_SEED);
const [MAPLE = '', HARBOR = ''] = DEFAULT_EMPLOYER_IDS;
/** A sanity bound, far above the measured value (npm run bench). */
const P99_MS = 500;

onEachEngine('with a failing service', async (t) => {
  let front = {} as Front;
  const stage = await setStage(t, {
    before: async (url) => {
      front = await startFront(t, url);
      return front.url;
    },
  });
  const { api, simulator, databaseUrl, keys } = stage;
  const db = open(t, databaseUrl);
  const outbox = () => db.selectFrom('outbox').select('state').execute();
  for (const [employerId, census] of world) {
    t.equal((await api.call('PUT', `/v1/employers/${employerId}/census`, census)).status, 200);
  }
  const allCompleted = () =>
    eventually(
      'every sync is completed',
      () => api.list('/v1/census-syncs?limit=1000'),
      (all) =>
        all.filter(({ employer_id }) => world.has(employer_id)).every(({ state }) => state === 'completed'),
    );
  const uploads = (employerId: string) =>
    simulator.requests().filter(({ path }) => path === `/employer/${employerId}/census`);

  await t.test(
    'events are acknowledged and applied while one upload hangs and another is reset',
    async (t) => {
      front.mode = 'hang';
      await simulator.requestCensus(MAPLE);
      await eventually(
        'the upload hangs',
        () => front.met.get('hang'),
        (met) => met === 1,
      );
      const load = startLoad({
        port: stage.sidecar.port,
        secret: keys.webhookSecret,
        series: 'failing',
        connections: 8,
      });
      await load.reached(200);
      // Resets hanging connections too: both uploads are retried and reset again.
      front.mode = 'reset';
      await simulator.requestCensus(HARBOR);
      await eventually(
        'uploads are reset',
        () => front.met.get('reset') ?? 0,
        (met) => met >= 2,
      );
      await load.reached(load.acknowledged.size + 200);
      await load.stop();
      t.strictSame([...load.refusals], []);
      const p99 = Math.round(
        load.times.toSorted((a, b) => a - b)[Math.floor(load.times.length * 0.99)] as number,
      );
      t.ok(p99 < stretched(P99_MS), `p99 ${p99} ms`);
      await stage.settled();
      t.strictSame(await breaches({ databaseUrl, acknowledged: load.acknowledged.values() }), []);
      t.strictSame(simulator.requests(), [], 'the service has received nothing yet');

      front.mode = 'pass';
      await allCompleted();
      for (const employerId of [MAPLE, HARBOR]) t.equal(uploads(employerId).length, 1);
    },
  );

  await t.test(
    'a census whose response was lost is not sent again if the service reports that it has it',
    async (t) => {
      for (const mode of ['lose-answer', 'half-response'] as const) {
        const before = uploads(MAPLE).length;
        front.mode = mode;
        await simulator.requestCensus(MAPLE);
        await eventually(
          `${mode} was met`,
          () => front.met.get(mode),
          (met) => met === 1,
        );
        await allCompleted();
        front.mode = 'pass';
        await eventually('nothing is pending', outbox, (requests) =>
          requests.every(({ state }) => state !== 'pending' && state !== 'sending'),
        );
        t.equal(uploads(MAPLE).length, before + 1);
      }
    },
  );
});
