/** The sidecar embedded in another program, with a function as the census source. */
import type { Test } from 'tap';
import type { Census } from '../src/contract/census.ts';
import { type CensusFunction, createSidecar, readConfig, type SidecarOptions } from '../src/index.ts';
import { silentLog } from '../src/telemetry/log.ts';
import { type SimulatorOptions, startSimulator } from '../src/testing.ts';
import { apiAt } from './support/api.ts';
import { newDatabaseUrl, onEitherEngine } from './support/engine.ts';
import { eventually } from './support/eventually.ts';
import { makeKeys, type Variables, variablesFor } from './support/settings.ts';
import { syncIn } from './support/stage.ts';

type Given = { variables?: Variables; options?: Partial<SidecarOptions>; simulator?: SimulatorOptions };

async function embed(t: Test, given: Given) {
  const keys = makeKeys();
  const secrets = [keys.webhookSecret];
  const options = { apiKey: keys.apiKey, secrets, employeesEach: 3, ...given.simulator };
  const simulator = await startSimulator(options);
  t.teardown(simulator.close);
  const variables = variablesFor(await newDatabaseUrl(t), simulator.url, keys);
  const config = readConfig({ ...variables, ...given.variables });
  const sidecar = await createSidecar(config, { log: silentLog, ...given.options });
  t.teardown(sidecar.stop);
  simulator.subscribe(`${sidecar.receiver}/webhooks`);
  const uploads = () => simulator.requests().filter(({ path }) => path.endsWith('/census'));
  return { simulator, sidecar, uploads, api: apiAt(() => sidecar.api, keys) };
}

class PayrollClosed extends Error {
  override name = 'PayrollClosed';
}

const thrown: [string, unknown, RegExp][] = [
  ['an error with a code', Object.assign(new Error('Jane Doe'), { code: 'ETIMEDOUT' }), /failed: ETIMEDOUT$/],
  ['an error of a class', new PayrollClosed('Jane Doe'), /failed: PayrollClosed$/],
  ['a code that is not a word', { code: 'Jane Doe' }, /failed: an error without a code$/],
];
const unusable: [string, unknown, RegExp][] = [
  ['null: no census', null, /^the census function has no census for this employer$/],
  ['an object without employees', { organization: {} }, /returned neither a census/],
  ['a stream of texts', { [Symbol.asyncIterator]: textStream }, /returned a part that is not bytes$/],
];
type Case = { error?: unknown; given?: unknown; reason: RegExp };
const CASES = new Map<string, Case>([
  ...thrown.map(([name, error, reason]): [string, Case] => [`throws ${name}`, { error, reason }]),
  ...unusable.map(([name, given, reason]): [string, Case] => [`gives ${name}`, { given, reason }]),
]);

onEitherEngine('with a census function', async (t) => {
  const functions = new Map<string, (...given: Parameters<CensusFunction>) => unknown>();
  const census = (async (...given) => functions.get(given[0])?.(...given)) as CensusFunction;
  const { simulator, api, uploads } = await embed(t, {
    options: { census },
    simulator: { employerIds: ['acme', 'maple-bakery', 'harbor-clinic', ...CASES.keys()] },
  });
  const uploadsOf = (employerId: string) =>
    uploads().filter(({ path }) => decodeURIComponent(path).includes(`/${employerId}/`));

  await t.test('it is called when the service requests a census, and its result is uploaded', async (t) => {
    const asked: string[] = [];
    const { organization, employees: [one] = [] } = simulator.world.get('maple-bakery') as Census;
    // One chunk holds fewer employees.
    const employees = Array.from({ length: 600 }, (_, number) => ({ ...one, employee_id: `e-${number}` }));
    functions.set('maple-bakery', (employerId) => {
      asked.push(employerId);
      return { organization, employees: employees.map((each) => ({ ...each, pay_group: 'crew' })) };
    });
    await simulator.requestCensus('maple-bakery');
    t.match(await syncIn(api, 'maple-bakery', 'completed'), { reason: null });
    t.strictSame(asked, ['maple-bakery']);
    t.equal((await api.get('/v1/censuses')).source, 'function', 'the source is shown in the API');
    const [{ status, body } = {}, ...others] = uploadsOf('maple-bakery');
    t.strictSame([status, body, others], [200, { organization, employees }, []], 'without the pay group');
  });

  await t.test('it may return chunks of any size from a shared buffer', async (t) => {
    let returned = 0;
    async function* parts(text: string): AsyncGenerator<Uint8Array> {
      const shared = Buffer.alloc(1_000);
      try {
        for (let at = 0; at < text.length; at += 777) {
          const length = shared.write(text.slice(at, at + 777), 100, 'latin1');
          yield shared.subarray(100, 100 + length);
        }
      } finally {
        returned += 1;
      }
    }
    const given = simulator.world.get('harbor-clinic');
    functions.set('harbor-clinic', () => parts(JSON.stringify(given)));
    await simulator.requestCensus('harbor-clinic');
    await syncIn(api, 'harbor-clinic', 'completed');
    t.strictSame(uploadsOf('harbor-clinic')[0]?.body, given);
    t.equal(returned, 1, 'the stream was closed');
  });

  await t.test('a census that breaks the contract fails its sync by row and field', async (t) => {
    const employees = [{ employee_id: 'one' }, undefined];
    functions.set('acme', () => ({ ...simulator.world.get('acme'), employees }));
    await simulator.requestCensus('acme');
    const { problems } = await syncIn(api, 'acme', 'failed');
    const paths = problems.map(({ path }: { path: string }) => path);
    t.ok(paths.includes('employees[0].first_name') && paths.includes('employees[1]'));
    t.strictSame(uploadsOf('acme'), []);
  });

  await t.test('an error becomes the reason of the sync, without its message', async (t) => {
    const employerIds = [...CASES.keys()];
    for (const [employerId, { error, given }] of CASES) {
      functions.set(employerId, () => {
        if (error !== undefined) throw error;
        return given;
      });
    }
    await Promise.all(employerIds.map(simulator.requestCensus));
    // All employers at once, each fixed as soon as its reason is seen, because the backoff doubles with each
    // attempt.
    const waiting = new Set(employerIds);
    await eventually(
      'each sync has a reason and is completed later',
      async () => {
        for (const sync of await api.list('/v1/census-syncs')) {
          const { employer_id, reason, state } = sync;
          if (state !== 'completed' && /census function/.test(reason ?? '') && waiting.delete(employer_id)) {
            t.match(reason, CASES.get(employer_id)?.reason, employer_id);
            t.notMatch(JSON.stringify(sync), 'Doe');
            t.strictSame(uploadsOf(employer_id), []);
            functions.set(employer_id, () => simulator.world.get(employer_id));
          }
        }
        const { data } = await api.get('/v1/census-syncs?state=completed&limit=100');
        return new Set(data.map(({ employer_id }: { employer_id: string }) => employer_id));
      },
      (completed) => waiting.size === 0 && employerIds.every((id) => completed.has(id)),
    );
    for (const employerId of employerIds) t.equal(uploadsOf(employerId).length, 1, employerId);
  });
});

onEitherEngine('a stop aborts a running function and waits for it as for a request', async (t) => {
  const asked = Promise.withResolvers<AbortSignal>();
  const census: CensusFunction = (_employerId, { signal }) => {
    asked.resolve(signal);
    return new Promise(() => {});
  };
  const { simulator, sidecar } = await embed(t, { options: { census } });
  await simulator.requestCensus('maple-bakery');
  const signal = await asked.promise;
  t.equal(signal.aborted, false);
  await sidecar.stop();
  await eventually('it is told', () => signal.aborted, true);
});

onEitherEngine('a function together with a configured source is rejected', async (t) => {
  const census: CensusFunction = async () => null;
  const embedding = embed(t, { variables: { CENSUS_SOURCE: 'dir:/tmp' }, options: { census } });
  const message = /^CENSUS_SOURCE must be push when a function provides the census$/;
  await t.rejects(embedding, { code: 'CONFIG', message });
});

async function* textStream(): AsyncGenerator<string> {
  yield '{}';
}
