/** Failures of a census sync, and their recovery. */
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DEFAULT_SEED, makeWorld } from '../../src/simulator/world.ts';
import { onEitherEngine } from '../support/engine.ts';
import { eventually } from '../support/eventually.ts';
import { deliver, eventOf } from '../support/load.ts';
import { temporaryFolder } from '../support/memory.ts';
import { makeKeys } from '../support/settings.ts';
import { setStage, syncIn } from '../support/stage.ts';

const world = makeWorld(DEFAULT_SEED);
const census = world.get('maple-bakery');

onEitherEngine('with a folder as the source and a key in a file', async (t) => {
  const folder = temporaryFolder('test');
  t.teardown(() => rmSync(folder, { recursive: true }));
  const write = (employerId: string, content: unknown) =>
    writeFileSync(join(folder, `${employerId}.json`), JSON.stringify(content));
  const keyFile = join(folder, 'key');
  const keys = makeKeys();
  writeFileSync(keyFile, keys.apiKey);
  const stage = await setStage(t, {
    keys,
    variables: {
      BENEFITS_API_KEY: undefined,
      BENEFITS_API_KEY_FILE: keyFile,
      CENSUS_SOURCE: `dir:${folder}`,
    },
  });
  const { api, simulator } = stage;
  const uploads = () => simulator.requests().filter(({ status }) => status === 200).length;

  await t.test(
    'a census that breaks the contract fails its sync by field, and a corrected census succeeds',
    async (t) => {
      const [first, ...others] = census?.employees ?? [];
      write('maple-bakery', {
        ...census,
        employees: [{ ...first, address: { ...first?.address, state: 'Texas' } }, ...others],
      });
      await simulator.requestCensus('maple-bakery');
      const failed = await syncIn(api, 'maple-bakery', 'failed');
      t.match(failed, {
        reason: /^the census breaks the contract in 1 place$/,
        problem_count: 1,
        problems: [{ path: 'employees[0].address.state', rule: String }],
      });
      t.match(await api.check('census-syncs'), { result: 'fail', count: 1 });
      t.strictSame(simulator.requests(), [], 'nothing was sent');

      write('maple-bakery', census);
      t.equal((await api.call('POST', '/v1/employers/maple-bakery/census/sync')).status, 202);
      const syncs = await eventually(
        'both syncs are completed',
        () => api.list('/v1/census-syncs?employer_id=maple-bakery'),
        (all) => all.every(({ state }) => state === 'completed'),
      );
      t.equal(syncs.length, 2);
      t.equal(uploads(), 1, 'one upload completed both');
      t.match(await api.check('census-syncs'), { result: 'pass' });
      t.equal((await api.get('/v1/censuses')).source, 'dir');
    },
  );

  await t.test('a census rejected by the service fails its sync with the status', async (t) => {
    write('nobody', census);
    t.equal((await api.call('POST', '/v1/employers/nobody/census/sync')).status, 202);
    t.match((await syncIn(api, 'nobody', 'failed')).reason, 'the service responded with 404');
  });

  await t.test('a wrong key pauses sending, which resumes once the key file is corrected', async (t) => {
    // The key read at startup stays in use until it is rejected, as after a rotation at the service.
    const rotated = await setStage(t, {
      keys: { ...keys, apiKey: 'the-new-key-of-the-service' },
      variables: {
        BENEFITS_API_KEY: undefined,
        BENEFITS_API_KEY_FILE: keyFile,
        CENSUS_SOURCE: `dir:${folder}`,
      },
    });
    write('harbor-clinic', world.get('harbor-clinic'));
    await Promise.all(['maple-bakery', 'harbor-clinic'].map(rotated.simulator.requestCensus));
    await eventually(
      'sending is paused',
      () => rotated.api.check('circuit-breaker-paused'),
      ({ result }) => result === 'fail',
    );
    const statuses = rotated.simulator.requests().map(({ status }) => status);
    t.ok(
      statuses.every((status) => status === 401),
      'the service rejected the key',
    );
    const during = await deliver(rotated.sidecar.port, keys.webhookSecret, eventOf('closed', 0));
    t.equal(during.status, 204, 'events are accepted during the outage');

    writeFileSync(keyFile, 'the-new-key-of-the-service');
    for (const employerId of ['maple-bakery', 'harbor-clinic']) {
      await syncIn(rotated.api, employerId, 'completed');
    }
    t.match(await rotated.api.check('circuit-breaker-paused'), { result: 'pass' });
    const refused = rotated.simulator.requests().filter(({ status }) => status === 401).length;
    t.ok(refused < 10, `${refused} requests during the outage`);
  });
});
