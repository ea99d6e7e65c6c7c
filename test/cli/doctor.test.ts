import { mkdirSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { checkEnvironment } from '../../src/cli/doctor/environment.ts';
import { start } from '../simulator/start.ts';
import {
  environment,
  FIXTURES,
  here,
  jsonOf,
  type Variables,
  withDatabase,
  withFixtures,
} from './surroundings.ts';

type Check = { id: string; result: string; message: string; advice: string | null };

/** What doctor found, by the id of the check. */
async function diagnose(t: Test, env: Variables): Promise<{ code: number; found: Record<string, Check> }> {
  const ran = await here(t, env, ['doctor', '--json']);
  const { healthy, checks } = jsonOf(ran) as { healthy: boolean; checks: Check[] };
  t.equal(healthy, ran.code === 0);
  return { code: ran.code, found: Object.fromEntries(checks.map((check) => [check.id, check])) };
}

/** A service that answers as told. */
async function service(t: Test, answer: RequestListener): Promise<string> {
  const server = createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const always =
  (status: number, headers: Record<string, string> = {}): RequestListener =>
  (_request, response) =>
    void response.writeHead(status, headers).end();

t.test('a healthy sidecar passes, and the service was only read from', async (t) => {
  const { env } = await withFixtures(t);
  const simulator = await start(t, { apiKey: env.BENEFITS_API_KEY as string });
  const source = `dir:${join(FIXTURES, 'census/json')}`;
  const { code, found } = await diagnose(t, {
    ...env,
    BENEFITS_BASE_URL: simulator.url,
    CENSUS_SOURCE: source,
  });
  t.equal(code, 0);
  for (const [id, { result }] of Object.entries(found)) t.equal(result, 'pass', id);
  t.match(found['census-source']?.message, /has 2 censuses/);
  for (const { method, body } of simulator.requests())
    t.match({ method, body }, { method: 'GET', body: null });
});

t.test('every malformed variable is named, at once', async (t) => {
  const bad = {
    BENEFITS_ENVIRONMENT: 'test',
    BENEFITS_BASE_URL: 'somewhere',
    BENEFITS_API_KEY: 'two words',
    WEBHOOK_SECRETS: 'whsec_',
    DATA_KEYS: 'k1',
    DATABASE_URL: 'file',
    RECEIVER_PORT: 'high',
    API_PORT: '65536',
    API_TOKEN: 'short',
    CENSUS_SOURCE: 'ftp://x',
    CENSUS_MAX_AGE: '1 day',
    CENSUS_OVERDUE: '0h',
    LOG_LEVEL: 'loud',
  };
  const { code, found } = await diagnose(t, bad);
  t.equal(code, 1);
  for (const variable of Object.keys(bad)) {
    t.match(found[`configuration.${variable}`], { result: 'fail', message: new RegExp(`^${variable} `) });
  }
  t.match(found.database, { result: 'unknown', message: /needs DATABASE_URL/ });
  t.match(found.service, { result: 'unknown' });
  const people = await here(t, bad, ['doctor']);
  t.match(people.stdout, /FAIL {2}configuration\.API_PORT: API_PORT must be a port.*\n {6}Set it/);
});

t.test('a database that is not there yet is said to be made by the first start', async (t) => {
  const { found } = await diagnose(t, environment(t));
  t.match(found['database.opens'], { result: 'warn', advice: /serve/ });
  const env = { ...environment(t), DATABASE_URL: `sqlite:${FIXTURES}README.md/sidecar.db` };
  t.match((await diagnose(t, env)).found['database.opens'], { result: 'fail', advice: /DATABASE_URL/ });
});

t.test('a database of the other environment fails', async (t) => {
  const { env } = await withDatabase(t);
  const { found } = await diagnose(t, { ...env, BENEFITS_ENVIRONMENT: 'live' });
  t.match(found['database.migrated'], { result: 'fail', message: /belongs to sandbox/ });
});

/** What is configured, and what doctor says of it: null when nothing speaks against the environment. */
const looks: [environment: string, address: string, key: string, warning: RegExp | null][] = [
  ['live', 'https://sandbox.benefits.example/api', 'sk_4f1c', /BENEFITS_BASE_URL looks like sandbox/],
  ['live', 'https://api-test.benefits.example', 'sk_4f1c', /BENEFITS_BASE_URL looks like sandbox/],
  ['live', 'https://api.benefits.example/sandbox/v1', 'sk_4f1c', /BENEFITS_BASE_URL looks like sandbox/],
  ['live', 'https://api.benefits.example', 'sk_test_4f1c', /BENEFITS_API_KEY looks like sandbox/],
  ['live', 'https://sandbox.benefits.example', 'sandbox-4f1c', /_URL and BENEFITS_API_KEY look like sandbox/],
  ['sandbox', 'https://live.benefits.example', 'sk_4f1c', /BENEFITS_BASE_URL looks like live/],
  ['sandbox', 'https://api.benefits.example', 'SK_LIVE_4f1c', /BENEFITS_API_KEY looks like live/],
  ['sandbox', 'https://sandbox.benefits.example', 'sk_test_4f1c', null],
  ['live', 'https://live.benefits.example', 'sk_live_4f1c', null],
  ['live', 'https://contest.benefits.example/delivery', 'sk_4f1c-live', null],
  ['sandbox', 'https://live.sandbox.benefits.example', '4f1clive', null],
];
for (const [environmentName, address, key, warning] of looks) {
  t.test(
    `${address} with a key like ${key} ${warning ? 'speaks against' : 'may be'} ${environmentName}`,
    async (t) => {
      const config = { baseUrl: address, apiKey: key };
      const { result, message, advice } = checkEnvironment(environmentName as 'sandbox' | 'live', config);
      t.equal(result, warning === null ? 'pass' : 'warn');
      t.match(message, warning ?? /^nothing/);
      if (warning !== null) t.match(advice, /docs\/environments\.md/);
      t.notMatch(`${message} ${advice}`, /4f1c/i, 'the key is not told');
    },
  );
}

t.test('an address and a key of the other environment are warned of, and fail nothing', async (t) => {
  const env = {
    ...environment(t),
    BENEFITS_ENVIRONMENT: 'live',
    BENEFITS_BASE_URL: 'http://sandbox.localhost:9',
  };
  const { found } = await diagnose(t, env);
  t.match(found.environment, { result: 'warn', message: /BENEFITS_BASE_URL looks like sandbox/ });
  t.match((await diagnose(t, { ...env, BENEFITS_ENVIRONMENT: 'test' })).found.environment, {
    result: 'unknown',
  });
});

t.test('a data key that is gone fails, naming its id', async (t) => {
  const { env } = await withDatabase(t);
  await here(t, env, ['census', 'stage', join(FIXTURES, 'census/json/maple-bakery.json'), '--employer', 'm']);
  t.match((await diagnose(t, env)).found['data-keys'], {
    result: 'pass',
    message: 'they open what is stored',
  });
  const other = { ...env, DATA_KEYS: `k2:${Buffer.alloc(32).toString('base64')}` };
  t.match((await diagnose(t, other)).found['data-keys'], { result: 'fail', message: /has no key k1/ });
});

t.test('staged censuses are counted, fresh ones apart', async (t) => {
  const { env } = await withDatabase(t);
  const count = async () => (await diagnose(t, env)).found['census-source'];
  t.match(await count(), {
    result: 'warn',
    message: 'push: of 0 employers with a staged census, 0 have a fresh one',
  });
  await here(t, env, ['census', 'stage', join(FIXTURES, 'census/json/maple-bakery.json'), '--employer', 'm']);
  t.match(await count(), { result: 'pass', message: /of 1 employers .* 1 have a fresh one/ });
});

t.test('a key that is refused fails', async (t) => {
  const simulator = await start(t, { apiKey: 'another' });
  const { code, found } = await diagnose(t, { ...environment(t), BENEFITS_BASE_URL: simulator.url });
  t.equal(code, 1);
  t.match(found['service.reachable'], { result: 'pass' });
  t.match(found['service.key'], { result: 'fail', message: /401/, advice: /BENEFITS_API_KEY/ });
});

t.test('what can not be told about the service is said to be unknown', async (t) => {
  const url = await service(t, always(404));
  const { found } = await diagnose(t, { ...environment(t), BENEFITS_BASE_URL: url });
  t.match(found['service.key'], { result: 'unknown', message: /404 with the key and without/ });
});

t.test('a service that redirects, forbids or has trouble is told apart', async (t) => {
  const at = async (status: number) =>
    (await diagnose(t, { ...environment(t), BENEFITS_BASE_URL: await service(t, always(status)) })).found;
  t.match((await at(302))['service.reachable'], { result: 'fail', advice: /final address/ });
  t.match((await at(403))['service.key'], { result: 'warn', message: /403/ });
  t.match((await at(500))['service.reachable'], { result: 'warn', message: /500/ });
});

t.test('a service that does not answer fails, and leaves the rest unknown', async (t) => {
  const { code, found } = await diagnose(t, environment(t));
  t.equal(code, 1);
  t.match(found['service.reachable'], { result: 'fail', message: /ECONNREFUSED/ });
  t.match([found['service.key'], found.clock], [{ result: 'unknown' }, { result: 'unknown' }]);
});

for (const [seconds, result] of [
  [0, 'pass'],
  [55, 'pass'],
  [-55, 'pass'],
  [70, 'fail'],
  [-70, 'fail'],
] as const) {
  t.test(`a clock ${seconds} s off: ${result}`, async (t) => {
    const url = await service(t, (_request, response) => {
      const date = new Date(Date.now() - seconds * 1_000).toUTCString();
      response.writeHead(404, { date }).end();
    });
    const { found } = await diagnose(t, { ...environment(t), BENEFITS_BASE_URL: url });
    t.equal(found.clock?.result, result);
    if (result === 'fail') t.match(found.clock?.message, seconds > 0 ? /ahead/ : /behind/);
  });
}

t.test('a census folder must be there', async (t) => {
  const folder = t.testdir();
  mkdirSync(join(folder, 'empty'));
  const at = async (path: string) =>
    (await diagnose(t, { BENEFITS_ENVIRONMENT: 'sandbox', CENSUS_SOURCE: `dir:${path}` })).found[
      'census-source'
    ];
  t.match(await at(join(folder, 'none')), { result: 'fail', message: /ENOENT/ });
  t.match(await at(join(FIXTURES, 'README.md')), { result: 'fail', message: /not a folder/ });
  t.match(await at(join(folder, 'empty')), { result: 'warn', message: /no census/ });
});

t.test("payroll's census endpoint must answer and take the token", async (t) => {
  const token = 'canary-census-token';
  const url = await service(t, (request, response) => {
    const good = request.headers.authorization === `Bearer ${token}` && request.method === 'GET';
    response.writeHead(good ? 404 : 401).end();
  });
  const at = async (variables: Variables) => {
    const env = { ...variables, CENSUS_SOURCE: `${variables.CENSUS_SOURCE}/{employer_id}` };
    return (await diagnose(t, env)).found['census-source'];
  };
  t.match(await at({ CENSUS_SOURCE: url, CENSUS_SOURCE_TOKEN: token }), { result: 'pass' });
  t.match(await at({ CENSUS_SOURCE: url }), { result: 'fail', message: /refuses the token/ });
  t.match(await at({ CENSUS_SOURCE: 'http://127.0.0.1:9' }), { result: 'fail', message: /ECONNREFUSED/ });
  const ran = await here(t, { CENSUS_SOURCE: `${url}/{employer_id}`, CENSUS_SOURCE_TOKEN: token }, [
    'doctor',
  ]);
  t.notMatch(ran.stdout + ran.stderr, token);
});
