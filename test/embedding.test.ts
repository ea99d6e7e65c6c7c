/** The sidecar embedded in another program, with a function as the census source. */
import type { Test } from 'tap';
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
  const simulator = await startSimulator({
    apiKey: keys.apiKey,
    secrets: [keys.webhookSecret],
    employeesEach: 3,
    ...given.simulator,
  });
  t.teardown(simulator.close);
  const config = readConfig({
    ...variablesFor(await newDatabaseUrl(t), simulator.url, keys),
    ...given.variables,
  });
  const sidecar = await createSidecar(config, { log: silentLog, ...given.options });
  t.teardown(sidecar.stop);
  simulator.subscribe(`${sidecar.receiver}/webhooks`);
  const uploads = () => simulator.requests().filter(({ path }) => path.endsWith('/census'));
  return { simulator, sidecar, uploads, api: apiAt(() => sidecar.api, keys) };
}

onEitherEngine(
  'the function is called when the service requests a census, and its result is uploaded',
  async (t) => {
    const asked: string[] = [];
    const world = new Map<string, unknown>();
    const census: CensusFunction = async (employerId) => {
      asked.push(employerId);
      const given = simulator.world.get(employerId) ?? null;
      world.set(employerId, given);
      // More employees than fit into one chunk.
      return given && { ...given, employees: given.employees.map((one) => ({ ...one, pay_group: 'crew' })) };
    };
    const { simulator, api, uploads } = await embed(t, {
      options: { census },
      simulator: { employeesEach: 600 },
    });
    await simulator.requestCensus('maple-bakery');
    t.match(await syncIn(api, 'maple-bakery', 'completed'), { reason: null });
    t.strictSame(asked, ['maple-bakery']);
    t.equal((await api.get('/v1/censuses')).source, 'function', 'the source is shown in the API');
    t.strictSame(
      uploads().map(({ status, body }) => ({ status, body })),
      [{ status: 200, body: world.get('maple-bakery') }],
      'unchanged except for the pay group',
    );
  },
);

onEitherEngine('a function may return chunks of any size from a shared buffer', async (t) => {
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
  const census: CensusFunction = async (employerId) => parts(JSON.stringify(simulator.world.get(employerId)));
  const { simulator, api, uploads } = await embed(t, { options: { census } });
  await simulator.requestCensus('harbor-clinic');
  await syncIn(api, 'harbor-clinic', 'completed');
  t.strictSame(uploads()[0]?.body, simulator.world.get('harbor-clinic'));
  t.equal(returned, 1, 'the stream was closed');
});

class PayrollClosed extends Error {
  override name = 'PayrollClosed';
}

const thrown: [string, unknown, RegExp][] = [
  ['an error with a code', Object.assign(new Error('Jane Doe'), { code: 'ETIMEDOUT' }), /failed: ETIMEDOUT$/],
  ['an error of a class', new PayrollClosed('Jane Doe'), /failed: PayrollClosed$/],
  ['a value that is not an error', 'Jane Doe', /failed: an error without a code$/],
  ['a code that is not a word', { code: 'Jane Doe' }, /failed: an error without a code$/],
];
const unusable: [string, unknown, RegExp][] = [
  ['null: no census', null, /^the census function has no census for this employer$/],
  ['nothing', undefined, /has no census for this employer$/],
  ['a text', '{}', /gave neither a census/],
  ['an object without employees', { organization: {} }, /gave neither a census/],
  ['a stream of texts', { [Symbol.asyncIterator]: textStream }, /gave a part that is not bytes$/],
];
onEitherEngine(
  "an error of the function becomes the sync's reason, without its message, and the function is called again",
  async (t) => {
    type Case = { error: unknown; given: unknown; reason: RegExp };
    const cases = new Map<string, Case>([
      ...thrown.map(
        ([name, error, reason]) => [`throws ${name}`, { error, given: null, reason }] as [string, Case],
      ),
      ...unusable.map(
        ([name, given, reason]) => [`gives ${name}`, { error: null, given, reason }] as [string, Case],
      ),
    ]);
    const fixed = new Set<string>();
    const census = (async (employerId: string) => {
      const { error, given } = cases.get(employerId) as Case;
      if (fixed.has(employerId)) return simulator.world.get(employerId);
      if (error !== null) throw error;
      return given;
    }) as unknown as CensusFunction;
    const employerIds = [...cases.keys()];
    const { simulator, api, uploads } = await embed(t, { options: { census }, simulator: { employerIds } });
    await Promise.all(employerIds.map(simulator.requestCensus));
    // All employers at once, each fixed as soon as its reason is seen, because the backoff doubles with each
    // attempt.
    await Promise.all(
      [...cases].map(async ([employerId, { reason }]) => {
        const sync = await syncSaying(api, employerId, /census function/);
        t.match(sync.reason, reason, employerId);
        t.notMatch(JSON.stringify(sync), 'Doe');
        const isOfEmployer = ({ path }: { path: string }) =>
          decodeURIComponent(path).includes(`/${employerId}/`);
        t.strictSame(uploads().filter(isOfEmployer), []);
        fixed.add(employerId);
        await syncIn(api, employerId, 'completed');
        t.equal(uploads().filter(isOfEmployer).length, 1);
      }),
    );
  },
);

onEitherEngine('a census that breaks the contract fails its sync by row and field', async (t) => {
  const census = (async (employerId: string) => ({
    ...simulator.world.get(employerId),
    employees: [{ employee_id: 'one' }, undefined],
  })) as unknown as CensusFunction;
  const { simulator, api, uploads } = await embed(t, { options: { census } });
  await simulator.requestCensus('maple-bakery');
  const { problems } = await syncIn(api, 'maple-bakery', 'failed');
  const paths = problems.map(({ path }: { path: string }) => path);
  t.ok(paths.includes('employees[0].first_name') && paths.includes('employees[1]'));
  t.strictSame(uploads(), []);
});

onEitherEngine(
  'a stop aborts the signal of a running function and waits for it no longer than for a request',
  async (t) => {
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
    await eventually('it is told', () => signal.aborted, Boolean);
  },
);

onEitherEngine('a function together with a configured source is rejected', async (t) => {
  const census: CensusFunction = async () => null;
  const embedding = embed(t, { variables: { CENSUS_SOURCE: 'dir:/tmp' }, options: { census } });
  await t.rejects(embedding, {
    code: 'CONFIG',
    message: /^CENSUS_SOURCE must be push where a function gives the census$/,
  });
});

async function* textStream(): AsyncGenerator<string> {
  yield '{}';
}

/** Returns the newest sync of an employer once its reason matches. */
function syncSaying(api: ReturnType<typeof apiAt>, employerId: string, words: RegExp) {
  return eventually(
    `the sync of ${employerId} says ${words}`,
    async () => (await api.get(`/v1/census-syncs?employer_id=${employerId}`)).data[0],
    (sync) => words.test(sync?.reason ?? ''),
  );
}
