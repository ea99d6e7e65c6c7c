/** The sidecar embedded in another program, with a function as the census source. */
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import t, { type Test } from 'tap';
import { createFunctionSource, serveCensus } from '../src/census/source.ts';
import type { Census } from '../src/contract/census.ts';
import type { Employee } from '../src/contract/employee.ts';
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

const parts: [string, unknown, RegExp | string][] = [
  ['an error with a code', Object.assign(new Error('Jane Doe'), { code: 'ETIMEDOUT' }), /failed: ETIMEDOUT$/],
  ['an error of a class', new PayrollClosed('Jane Doe'), /failed: PayrollClosed$/],
  ['an error with a code that is not a word', { code: 'Jane Doe' }, /failed: an error without a code$/],
  ['null', null, /^the census function has no census for this employer$/],
  ['an object without employees', { organization: {} }, /returned neither a census/],
  ['a stream of texts', sharing('{}', (bytes) => bytes.toString()), /returned a part that is not bytes$/],
  ['chunks of a shared buffer', sharing('{"organization":{}}', (bytes) => bytes), '{"organization":{}}'],
];

t.test('what a census function returns is read, and its errors are reported by code or name', async (t) => {
  for (const [name, given, expected] of parts) {
    const census = (async () => {
      if (name.startsWith('an error')) throw given;
      return given;
    }) as CensusFunction;
    const source = createFunctionSource((employerId, port) => serveCensus(census, employerId, port));
    const { content } = await source.fetch('acme', new AbortController().signal);
    if (typeof expected === 'string') t.equal(await text(Readable.from(content)), expected, name);
    else
      await t.rejects(
        text(Readable.from(content)),
        { code: 'CENSUS_SOURCE_FAILED', message: expected },
        name,
      );
  }
});

/** Yields a text in chunks that reuse one buffer. */
async function* sharing(whole: string, chunkOf: (bytes: Buffer) => unknown): AsyncGenerator<unknown> {
  const shared = Buffer.alloc(10);
  for (let at = 0; at < whole.length; at += 7)
    yield chunkOf(shared.subarray(3, 3 + shared.write(whole.slice(at, at + 7), 3)));
}

onEitherEngine('a census function is called on request, and its census is uploaded', async (t) => {
  const asked: string[] = [];
  const census: CensusFunction = async (employerId) => {
    asked.push(employerId);
    return { organization, employees: employees.map((each) => ({ ...each, pay_group: 'crew' })) };
  };
  const { simulator, api, uploads } = await embed(t, { options: { census } });
  const { organization, employees: [one] = [] } = simulator.world.get('maple-bakery') as Census;
  // One part holds fewer employees.
  const employees = Array.from({ length: 600 }, (_, number) => ({
    ...(one as Employee),
    employee_id: `e-${number}`,
  }));
  await simulator.requestCensus('maple-bakery');
  t.match(await syncIn(api, 'maple-bakery', 'completed'), { reason: null });
  t.strictSame(asked, ['maple-bakery']);
  t.equal((await api.get('/v1/censuses')).source, 'function', 'the source is shown in the API');
  const [{ status, body } = {}, ...others] = uploads();
  t.strictSame([status, body, others], [200, { organization, employees }, []], 'without the pay group');
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
