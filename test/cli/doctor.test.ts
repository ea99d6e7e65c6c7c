import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import type { Test } from 'tap';
import { checkEnvironment, checkUnknown, VARIABLES } from '../../src/cli/doctor/configuration.ts';
import { isMadeUp } from '../../src/cli/doctor/database.ts';
import { holdServeLock, sqlitePath } from '../../src/database/open.ts';
import { transact } from '../../src/database/transaction.ts';
import { SYSTEM } from '../../src/security/audit.ts';
import { createToken } from '../../src/security/tokens.ts';
import { FIRST_TOKEN, variables } from '../config-samples.ts';
import { start } from '../simulator/start.ts';
import { engineOf, onEitherEngine, onSqlite } from '../support/engine.ts';
import { lastingPort } from '../support/settings.ts';
import {
  environment,
  FIXTURES,
  here,
  jsonOf,
  type Variables,
  withDatabase,
  withFixtures,
} from './harness.ts';

type Check = { id: string; result: string; message: string; advice: string | null };

/** Doctor's findings by check id. */
async function diagnose(t: Test, env: Variables): Promise<{ code: number; found: Record<string, Check> }> {
  const ran = await here(t, env, ['doctor', '--json']);
  const { healthy, checks } = jsonOf(ran) as { healthy: boolean; checks: Check[] };
  t.equal(healthy, ran.code === 0);
  return { code: ran.code, found: Object.fromEntries(checks.map((check) => [check.id, check])) };
}

/** A service with the given responses. */
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

onEitherEngine('a healthy sidecar passes and the service receives only reads', async (t) => {
  const { env } = await withFixtures(t);
  // Independent of the umask of the tests.
  if (engineOf(t) === 'sqlite') chmodSync(dirname(sqlitePath(env.DATABASE_URL as string)), 0o700);
  const simulator = await start(t, { apiKey: env.BENEFITS_API_KEY as string });
  const source = `dir:${join(FIXTURES, 'census/json')}`;
  const { code, found } = await diagnose(t, {
    ...env,
    BENEFITS_BASE_URL: simulator.url,
    CENSUS_SOURCE: source,
    API_TOKEN: FIRST_TOKEN,
    RECEIVER_PORT: '0',
    API_PORT: '0',
  });
  t.equal(code, 0);
  for (const [id, { result }] of Object.entries(found)) {
    const isSeen = engineOf(t) === 'sqlite' || !['serving', 'data-loss'].includes(id);
    t.equal(result, isSeen ? 'pass' : 'unknown', id);
  }
  t.match(found['census-source']?.message, /has 2 censuses/);
  for (const { method, body } of simulator.requests())
    t.match({ method, body }, { method: 'GET', body: null });
});

onEitherEngine('every variable is reported with its meaning and without its secret', async (t) => {
  const env = environment(t);
  const file = join(t.testdirName, 'token');
  writeFileSync(file, FIRST_TOKEN, { mode: 0o600 });
  const findings = async (given: Variables) => {
    const { found } = await diagnose(t, given);
    return (name: string) => found[`configuration.${name}`];
  };
  const set = await findings({
    ...env,
    API_TOKEN_FILE: file,
    RETENTION_EVENTS: '400d',
    CENSUS_MAX_AGE: '48h',
    API_HOST: '0.0.0.0',
  });
  const names = [...variables()].filter((name) => !name.endsWith('_FILE'));
  t.ok(names.length > 15);
  for (const name of names) {
    t.match(set(name), { result: name === 'API_HOST' ? 'warn' : 'pass', message: /\S/ }, name);
  }
  t.equal(set('BENEFITS_ENVIRONMENT')?.message, 'sandbox');
  t.equal(set('BENEFITS_API_KEY')?.message, 'set, 19 characters');
  t.equal(set('WEBHOOK_SECRETS')?.message, '1 secret of 32 bytes');
  t.equal(set('DATA_KEYS')?.message, 'k1 encrypts and decrypts');
  t.match(
    set('API_HOST')?.message,
    /^0\.0\.0\.0 \(all addresses of this machine\): other machines can reach/,
  );
  t.equal(set('API_PORT')?.message, '8081 (the default)');
  t.equal(set('API_TOKEN')?.message, `set, ${FIRST_TOKEN.length} characters, from a file`);
  t.match(set('CENSUS_MAX_AGE')?.message, /older than 2d are/);
  t.equal(set('RETENTION_EVENTS')?.message, 'event bodies are deleted after 400d');
  t.match(set('RETENTION_REQUESTS')?.message, /are kept indefinitely \(the default\)$/);
  chmodSync(file, 0o644);
  const shared = await findings({ ...env, API_TOKEN_FILE: file });
  t.match(shared('API_TOKEN'), { result: 'warn', message: /every user .* can read/, advice: /chmod 600/ });
});

onEitherEngine('a port is reported as free, used by a sidecar, or used by another process', async (t) => {
  const port = async (answer: RequestListener) => new URL(await service(t, answer)).port;
  const at = async (variables: Variables) =>
    (await diagnose(t, { ...environment(t), API_PORT: '0', RECEIVER_HOST: '127.0.0.1', ...variables })).found[
      'listeners.receiver'
    ];
  t.match(await at({ RECEIVER_PORT: await port(always(404)) }), {
    result: 'fail',
    message: /responds with 404/,
  });
  t.match(await at({ RECEIVER_HOST: '192.0.2.1' }), { result: 'fail', message: /EADDRNOTAVAIL/ });
  const free = { RECEIVER_PORT: String(await lastingPort()) };
  t.match(await at(free), { result: 'pass', message: /is free/ });
  t.match(await at({ RECEIVER_PORT: 'high' }), { result: 'unknown', message: /needs RECEIVER_PORT/ });
});

onEitherEngine('doctor detects a serving process without blocking it', async (t) => {
  const { env } = await withDatabase(t);
  const serving = async () => (await diagnose(t, env)).found.serving;
  if (engineOf(t) === 'postgres') return t.match(await serving(), { result: 'unknown' });
  t.match(await serving(), { result: 'pass', message: /^no sidecar runs/ });
  const release = holdServeLock(env.DATABASE_URL as string);
  t.match(await serving(), { result: 'pass', message: /^a sidecar runs/ });
  const other = { ...env, RECEIVER_HOST: '127.0.0.1', RECEIVER_PORT: String(await lastingPort()) };
  t.match((await diagnose(t, other)).found['listeners.receiver'], { result: 'warn', message: /although/ });
  const taken = { ...other, API_PORT: new URL(await service(t, always(200))).port };
  const api = async () => (await diagnose(t, taken)).found['listeners.api'];
  t.match(await api(), { result: 'pass', message: /a sidecar listens/ });
  release();
  t.match(await api(), { result: 'fail', message: /another sidecar/, advice: /API_PORT.*or stop it/ });
  t.match(await serving(), { message: /^no sidecar runs/ });
});

onEitherEngine('doctor warns of missing, expiring and guessable tokens', async (t) => {
  const { env, db } = await withDatabase(t);
  const found = async (more: Variables = {}) => (await diagnose(t, { ...env, ...more })).found;
  t.match((await found()).tokens, { result: 'warn', message: /^no token permits/, advice: /token create/ });
  t.match((await found({ API_TOKEN: FIRST_TOKEN })).tokens, { result: 'pass' });
  const create = (name: string, days: number) =>
    transact(db, (trx) => {
      const expiresAt = new Date(Date.now() + days * 86_400_000);
      return createToken(trx, { name, scopes: ['all'], expiresAt, now: new Date(), actor: SYSTEM });
    });
  await create('lasting', 30);
  t.match((await found()).tokens, { result: 'pass', message: '1 valid token' });
  await create('ending', 13);
  t.match((await found()).tokens, { result: 'warn', message: /expire within 14 days: ending$/ });
  t.match((await found({ API_TOKEN: 'abc'.repeat(12) }))['tokens.first'], { result: 'warn' });
  for (const [token, guessed] of [
    [FIRST_TOKEN, false],
    ['0123456789abcdef0123456789abcdee', false],
    ['passwordpasswordpasswordpassword', true],
    ['11112222333344445555555555555555', true],
  ] as const) {
    t.equal(isMadeUp(token), guessed, token);
  }
});

onEitherEngine('every malformed variable is named at once', async (t) => {
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
    RETENTION_EVENTS: '1d',
    RETENTION_REQUESTS: 'a year',
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
  t.match(
    people.stdout,
    /FAIL {2}configuration\.API_PORT: API_PORT must be a port.*\n {6}Set it as described in docs\/configuration\.md/,
  );
});

onEitherEngine(
  'a variable with one of our prefixes that is never read is listed, without its value',
  async (t) => {
    t.strictSame([...VARIABLES].sort(), [...variables()].sort(), 'every variable that is read is known');
    const check = (set: Variables) => checkUnknown({ ...environment(t), ...set });
    for (const name of [
      'RETENTION_EVENT',
      'CENSUS_MAXAGE',
      'WEBHOOK_SECRET',
      'BENEFITS_KEY',
      'receiver_prot',
    ]) {
      const { result, message } = check({ [name]: 'value-of-it' });
      t.equal(result, 'warn', name);
      t.match(message, name);
      t.notMatch(message, 'value-of-it');
    }
    for (const name of ['API_KEY', 'DATABASE_HOST', 'LOG_FILE', 'PORT', 'PATH', 'BENEFITS_SIDECAR_PORT']) {
      t.match(check({ [name]: 'x' }), { result: 'pass' }, name);
    }
    t.match(check({ RETENTION_EVENT: '' }), { result: 'pass' }, 'an empty variable counts as not set');
    t.match((await diagnose(t, { ...environment(t), RETENTION_EVENT: '9d' })).found.variables, {
      result: 'warn',
    });
  },
);

onEitherEngine('a missing database is reported as created by the first start', async (t) => {
  const { found } = await diagnose(t, environment(t));
  t.match(found['database.opens'], { result: 'warn', advice: /serve/ });
  const env = { ...environment(t), DATABASE_URL: `sqlite:${FIXTURES}README.md/sidecar.db` };
  t.match((await diagnose(t, env)).found['database.opens'], { result: 'fail', advice: /DATABASE_URL/ });
});

onEitherEngine('a database of the other environment fails', async (t) => {
  const { env } = await withDatabase(t);
  const { found } = await diagnose(t, { ...env, BENEFITS_ENVIRONMENT: 'live' });
  t.match(found['database.migrated'], { result: 'fail', message: /belongs to sandbox/ });
});

/** The configuration and doctor's warning; null if it does not contradict the environment. */
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
onEitherEngine('an address or a key that contradicts the environment warns, without the key', async (t) => {
  for (const [environmentName, address, key, warning] of looks) {
    const config = { baseUrl: address, apiKey: key };
    const { result, message, advice } = checkEnvironment(environmentName as 'sandbox' | 'live', config);
    t.equal(result, warning === null ? 'pass' : 'warn', address);
    t.match(message, warning ?? /do not contradict/);
    if (warning !== null) t.match(advice, /docs\/configuration\.md/);
    t.notMatch(`${message} ${advice}`, /4f1c/i, 'the key is not shown');
  }
});

onEitherEngine('plain http to another machine fails in live and warns in sandbox', async (t) => {
  const plain = {
    BENEFITS_BASE_URL: 'http://192.0.2.1:9',
    CENSUS_SOURCE: 'http://192.0.2.1:9/{employer_id}',
  };
  for (const name of Object.keys(plain) as (keyof typeof plain)[]) {
    const at = async (more: Variables) =>
      (await diagnose(t, { ...environment(t), [name]: plain[name], ...more })).found[`configuration.${name}`];
    const live = { BENEFITS_ENVIRONMENT: 'live' };
    t.match(await at({}), { result: 'warn', message: /unencrypted/, advice: /https:/ }, name);
    t.match(await at(live), { result: 'fail', message: /must be an https/ }, name);
    const local = { ...live, [name]: plain[name].replace('192.0.2.1', '127.0.0.1') };
    t.match(await at(local), { result: 'pass' }, name);
  }
});

onEitherEngine('certificates that Node does not verify fail in live and warn in sandbox', async (t) => {
  const at = async (more: Variables) =>
    (await diagnose(t, { ...environment(t), ...more })).found.certificates;
  const off = { NODE_TLS_REJECT_UNAUTHORIZED: '0' };
  t.match(await at({}), { result: 'pass' });
  t.match(await at({ NODE_TLS_REJECT_UNAUTHORIZED: '1' }), { result: 'pass' });
  t.match(await at(off), { result: 'warn', message: /NODE_TLS_REJECT_UNAUTHORIZED=0/ });
  t.match(await at({ ...off, BENEFITS_ENVIRONMENT: 'live' }), { result: 'fail' });
});

onEitherEngine('a data folder that other users can write to warns', async (t) => {
  const given = environment(t);
  const folder = t.testdirName;
  mkdirSync(join(folder, 'data'));
  const env = { ...given, DATABASE_URL: `sqlite:${folder}/data/sidecar.db` };
  const at = async (mode: number, more: Variables = {}) => {
    chmodSync(join(folder, 'data'), mode);
    return (await diagnose(t, { ...env, ...more })).found['data-folder'];
  };
  t.match(await at(0o700), { result: 'pass' });
  t.match(await at(0o755), { result: 'pass' }, 'others may read the names of the files');
  t.match(await at(0o770), { result: 'warn', message: /\(mode 770\)/, advice: /chmod go-w/ });
  t.match(await at(0o757), { result: 'warn', message: /\(mode 757\)/ });

  // The folder that holds the file counts, not the folder of a link to it.
  writeFileSync(join(folder, 'data/sidecar.db'), '');
  symlinkSync('data/sidecar.db', join(folder, 'link.db'));
  const linked = { DATABASE_URL: `sqlite:${folder}/link.db` };
  t.match(await at(0o777, linked), { result: 'warn', message: /\/data \(mode 777\)/ });

  t.notOk(
    (await diagnose(t, { ...env, DATABASE_URL: `sqlite:${folder}/none/sidecar.db` })).found['data-folder'],
  );
});

onEitherEngine('a missing data key fails with its id', async (t) => {
  const { env } = await withDatabase(t);
  await here(t, env, ['census', 'stage', join(FIXTURES, 'census/json/maple-bakery.json'), '--employer', 'm']);
  t.match((await diagnose(t, env)).found['data-keys'], {
    result: 'pass',
    message: 'they decrypt the stored data',
  });
  const other = { ...env, DATA_KEYS: `k2:${Buffer.alloc(32).toString('base64')}` };
  t.match((await diagnose(t, other)).found['data-keys'], { result: 'fail', message: /has no key k1/ });
});

onEitherEngine('a refused key fails', async (t) => {
  const simulator = await start(t, { apiKey: 'another' });
  const { code, found } = await diagnose(t, { ...environment(t), BENEFITS_BASE_URL: simulator.url });
  t.equal(code, 1);
  t.match(found['service.reachable'], { result: 'pass' });
  t.match(found['service.key'], { result: 'fail', message: /401/, advice: /BENEFITS_API_KEY/ });
});

onEitherEngine('an undetermined property of the service is reported as unknown', async (t) => {
  const url = await service(t, always(404));
  const { found } = await diagnose(t, { ...environment(t), BENEFITS_BASE_URL: url });
  t.match(found['service.key'], { result: 'unknown', message: /404 with and without the key/ });
});

onEitherEngine('redirects, refusals and server errors of the service are distinguished', async (t) => {
  const at = async (status: number) =>
    (await diagnose(t, { ...environment(t), BENEFITS_BASE_URL: await service(t, always(status)) })).found;
  t.match((await at(302))['service.reachable'], { result: 'fail', advice: /final address/ });
  t.match((await at(403))['service.key'], { result: 'warn', message: /403/ });
  t.match((await at(500))['service.reachable'], { result: 'warn', message: /500/ });
});

onEitherEngine('an unreachable service fails its check and leaves the others unknown', async (t) => {
  const { code, found } = await diagnose(t, environment(t));
  t.equal(code, 1);
  t.match(found['service.reachable'], { result: 'fail', message: /ECONNREFUSED/ });
  t.match([found['service.key'], found.clock], [{ result: 'unknown' }, { result: 'unknown' }]);
});

onEitherEngine('a clock more than a minute off the clock of the service fails', async (t) => {
  for (const [seconds, expected] of [
    [55, { result: 'pass' }],
    [70, { result: 'fail', message: /ahead/ }],
    [-70, { result: 'fail', message: /behind/ }],
  ] as const) {
    const url = await service(t, (_request, response) => {
      const date = new Date(Date.now() - seconds * 1_000).toUTCString();
      response.writeHead(404, { date }).end();
    });
    t.match((await diagnose(t, { ...environment(t), BENEFITS_BASE_URL: url })).found.clock, expected);
  }
});

onEitherEngine('a missing census folder fails', async (t) => {
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

onEitherEngine('a census endpoint that fails or rejects the token fails', async (t) => {
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
  t.match(await at({ CENSUS_SOURCE: url }), { result: 'fail', message: /rejects the token/ });
  t.match(await at({ CENSUS_SOURCE: 'http://127.0.0.1:9' }), { result: 'fail', message: /ECONNREFUSED/ });
  const ran = await here(t, { CENSUS_SOURCE: `${url}/{employer_id}`, CENSUS_SOURCE_TOKEN: token }, [
    'doctor',
  ]);
  t.notMatch(ran.stdout + ran.stderr, token);
});

onSqlite('a clock before the newest stored time is a warning', async (t) => {
  const { env } = await withFixtures(t, new Date(Date.now() + 86_400_000).toISOString());
  const { found } = await diagnose(t, env);
  t.match(found['database.clock'], {
    result: 'warn',
    message: /behind .*,\s+the newest time in the database/,
  });
});
