import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import type { Test } from 'tap';
import { checkUnknown, KNOWN_NAMES } from '../../src/cli/doctor/configuration.ts';
import { sqlitePath } from '../../src/database/open.ts';
import { transact } from '../../src/database/transaction.ts';
import { SYSTEM } from '../../src/security/audit.ts';
import { createToken } from '../../src/security/tokens.ts';
import { FIRST_TOKEN, variables, webhookSecret } from '../config-samples.ts';
import { start } from '../simulator/start.ts';
import { engineOf, onEitherEngine, onSqlite } from '../support/engine.ts';
import {
  environment,
  FIXTURES,
  here,
  jsonOf,
  type Variables,
  withDatabase,
  withFixtures,
} from './harness.ts';

const test = onEitherEngine.with(withDatabase);

type Check = { id: string; result: string; message: string; advice: string | null };

/** Doctor's findings by check id. */
async function diagnose(t: Test, env: Variables): Promise<{ code: number; found: Record<string, Check> }> {
  const ran = await here(t, env, ['doctor', '--json']);
  const { healthy, checks } = jsonOf(ran) as { healthy: boolean; checks: Check[] };
  t.equal(healthy, ran.code === 0);
  return { code: ran.code, found: Object.fromEntries(checks.map((check) => [check.id, check])) };
}

const finding = async (t: Test, id: string, env: Variables) => (await diagnose(t, env)).found[id];

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
  const healthy = { BENEFITS_BASE_URL: simulator.url, CENSUS_SOURCE: source, API_TOKEN: FIRST_TOKEN };
  const { code, found } = await diagnose(t, { ...env, ...healthy, RECEIVER_PORT: '0', API_PORT: '0' });
  t.equal(code, 0);
  for (const [id, { result }] of Object.entries(found)) t.equal(result, 'pass', id);
  t.match(found['census-source']?.message, /has 2 censuses/);
  for (const { method, body } of simulator.requests())
    t.match({ method, body }, { method: 'GET', body: null });
});

/** Files of the sidecar's user, of its group, and of everybody. */
const FILE_MODES = [
  ...[0o400, 0o600, 0o440, 0o640].map((mode) => [mode, 'pass'] as const),
  ...[0o444, 0o644, 0o602].map((mode) => [mode, 'warn'] as const),
];

onEitherEngine('every variable is reported, without its secret', async (t) => {
  const env = environment(t);
  const file = join(t.testdirName, 'token');
  writeFileSync(file, FIRST_TOKEN, { mode: 0o600 });
  const findings = async (given: Variables) => {
    const { found } = await diagnose(t, given);
    return (name: string) => found[`configuration.${name}`];
  };
  const more = { API_HOST: '0.0.0.0', https_proxy: 'http://user:secret@proxy.example' };
  const set = await findings({ ...env, RETENTION_EVENTS: '400d', API_TOKEN_FILE: file, ...more });
  const names = [...variables()].filter((name) => !name.endsWith('_FILE'));
  t.ok(names.length > 15);
  for (const name of names)
    t.match(set(name), { result: name === 'API_HOST' ? 'warn' : 'pass', message: /\S/ }, name);
  t.match(set('API_HOST')?.message, /^0\.0\.0\.0: other machines can reach/);
  for (const [name, message] of Object.entries({
    ...{ BENEFITS_API_KEY: 'set', API_PORT: 'not set', API_TOKEN: 'from a file', RETENTION_EVENTS: '400d' },
    ...{ HTTPS_PROXY: 'set' },
  }))
    t.equal(set(name)?.message, message);
  for (const [mode, result] of FILE_MODES) {
    chmodSync(file, mode);
    const finding = (await findings({ ...env, API_TOKEN_FILE: file }))('API_TOKEN');
    t.equal(finding?.result, result, mode.toString(8));
    if (result === 'warn') t.match(finding, { message: /every user .* can read/, advice: /mode 0400/ });
  }
});

type Case = readonly [
  id: string,
  variables: Variables,
  expected: Partial<Record<keyof Check, RegExp | string>>,
];

const NODE_TLS = { NODE_TLS_REJECT_UNAUTHORIZED: '0' };
const LIVE = { BENEFITS_ENVIRONMENT: 'live' };
const PLAIN = { BENEFITS_BASE_URL: 'http://192.0.2.1:9' };
const A_FILE = `dir:${FIXTURES}README.md`;
const UNUSABLE = `sqlite:${FIXTURES}README.md/sidecar.db`;

/** The findings with these variables in addition to the usual ones, by rule. */
const RULES: Record<string, (t: Test) => Promise<readonly Case[]>> = {
  'a missing database is reported as created by the first start': async () => [
    ['database.opens', {}, { result: 'warn', advice: /serve/ }],
    ['database.opens', { DATABASE_URL: UNUSABLE }, { result: 'fail', advice: /DATABASE_URL/ }],
  ],
  'certificates that Node does not verify fail in live and warn in sandbox': async () => [
    ['certificates', {}, { result: 'pass' }],
    ['certificates', { NODE_TLS_REJECT_UNAUTHORIZED: '1' }, { result: 'pass' }],
    ['certificates', NODE_TLS, { result: 'warn', message: /NODE_TLS_REJECT_UNAUTHORIZED=0/ }],
    ['certificates', { ...NODE_TLS, ...LIVE }, { result: 'fail' }],
  ],
  'refusals, redirects and errors of the service are distinguished': async (t) => {
    const simulator = await start(t, { apiKey: 'another' });
    const at = async (status: number) => ({ BENEFITS_BASE_URL: await service(t, always(status)) });
    const refused = { BENEFITS_BASE_URL: simulator.url };
    return [
      ['service.reachable', refused, { result: 'pass' }],
      ['service.key', refused, { result: 'fail', message: /401/, advice: /BENEFITS_API_KEY/ }],
      ['service.key', await at(404), { result: 'unknown', message: /404 with and without the key/ }],
      ['service.reachable', await at(302), { result: 'fail', advice: /final address/ }],
      ['service.key', await at(403), { result: 'warn', message: /403/ }],
      ['service.reachable', await at(500), { result: 'warn', message: /500/ }],
      ['service.reachable', {}, { result: 'fail', message: /ECONNREFUSED/ }],
      [
        'service.reachable',
        { HTTP_PROXY: 'http://user:secret@127.0.0.1:9' },
        { result: 'fail', message: /^no response through the proxy 127\.0\.0\.1:9: ECONNREFUSED$/ },
      ],
      ['service.key', {}, { result: 'unknown' }],
      ['clock', {}, { result: 'unknown' }],
    ];
  },
  'a receiver of notifications must respond, and its address is not shown': async (t) => {
    const told = (url: string) => ({
      NOTIFY_URL: `${url}/hook?key=hidden`,
      NOTIFY_SECRETS: webhookSecret(24),
    });
    const at = async (status: number) => told(await service(t, always(status)));
    return [
      ['notifications', await at(405), { result: 'pass', message: /notification test/ }],
      ['notifications', await at(307), { result: 'fail', advice: /final address/ }],
      ['notifications', await at(503), { result: 'warn', message: /503/ }],
      [
        'notifications',
        told('http://127.0.0.1:9'),
        { result: 'fail', message: /^no response: ECONNREFUSED$/ },
      ],
      ['configuration.NOTIFY_URL', told('http://127.0.0.1:9'), { result: 'pass', message: /^set$/ }],
    ];
  },
  'a clock more than a minute off the clock of the service fails': async (t) => {
    const at = async (seconds: number) => {
      const answer: RequestListener = (_request, response) => {
        const date = new Date(Date.now() - seconds * 1_000).toUTCString();
        response.writeHead(404, { date }).end();
      };
      return { BENEFITS_BASE_URL: await service(t, answer) };
    };
    return [
      ['clock', await at(55), { result: 'pass' }],
      ['clock', await at(70), { result: 'fail', message: /ahead/ }],
      ['clock', await at(-70), { result: 'fail', message: /behind/ }],
    ];
  },
  'a census folder must exist and have censuses': async () => [
    ['census-source', { CENSUS_SOURCE: 'dir:/nonexistent' }, { result: 'fail', message: /ENOENT/ }],
    ['census-source', { CENSUS_SOURCE: A_FILE }, { result: 'fail', message: /not a folder/ }],
    ['census-source', { CENSUS_SOURCE: `dir:${FIXTURES}census` }, { result: 'warn', message: /no census/ }],
  ],
  'a range of addresses that needs no proxy is named, because it counts for none': async () => [
    [
      'configuration.NO_PROXY',
      { NO_PROXY: '10.0.0.0/8 localhost' },
      { result: 'warn', message: /10\.0\.0\.0\/8$/ },
    ],
    ['configuration.NO_PROXY', { NO_PROXY: '10.,a.*.com' }, { result: 'warn', message: /10\., a\.\*\.com$/ }],
    ['configuration.NO_PROXY', { NO_PROXY: '*.a.com,.b.com,10.0.0.5:80,[::1]' }, { result: 'pass' }],
    ['configuration.NO_PROXY', { NO_PROXY: '*' }, { result: 'pass' }],
  ],
  'plain http to another machine warns in sandbox and fails in live': async () => [
    ['configuration.BENEFITS_BASE_URL', PLAIN, { result: 'warn', message: /unencrypted/ }],
    ['configuration.BENEFITS_BASE_URL', { ...PLAIN, ...LIVE }, { result: 'fail', message: /an https/ }],
  ],
};

for (const [rule, casesOf] of Object.entries(RULES)) {
  onEitherEngine(rule, async (t) => {
    for (const [id, variables, expected] of await casesOf(t))
      t.match(await finding(t, id, { ...environment(t), ...variables }), expected, JSON.stringify(variables));
  });
}

test('doctor warns of missing and expiring tokens', async (t, { env, db }) => {
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
});

onEitherEngine('every malformed variable is named at once', async (t) => {
  const bad = {
    ...{
      BENEFITS_ENVIRONMENT: 'test',
      BENEFITS_BASE_URL: 'somewhere',
      DATABASE_URL: 'file',
      API_PORT: '65536',
    },
  };
  const { code, found } = await diagnose(t, bad);
  t.equal(code, 1);
  for (const variable of Object.keys(bad))
    t.match(found[`configuration.${variable}`], { result: 'fail', message: new RegExp(`^${variable} `) });
  t.match(found.database, { result: 'unknown', message: /needs DATABASE_URL/ });
  t.match(found.service, { result: 'unknown' });
  const people = await here(t, bad, ['doctor']);
  t.match(
    people.stdout,
    /^FAIL {2}configuration\.API_PORT: .*a port.*\n {6}The port of the private listener\./m,
  );
});

onEitherEngine('a variable with one of our prefixes that is never read is listed', async (t) => {
  t.strictSame([...KNOWN_NAMES].sort(), [...variables()].sort(), 'every variable that is read is known');
  const check = (set: Variables) => checkUnknown({ ...environment(t), ...set });
  const misspelt = ['RETENTION_EVENT', 'CENSUS_MAXAGE', 'WEBHOOK_SECRET', 'BENEFITS_KEY', 'receiver_prot'];
  for (const name of misspelt) {
    const { result, message } = check({ [name]: 'value-of-it' });
    t.equal(result, 'warn', name);
    t.match(message, name);
    t.notMatch(message, 'value-of-it');
  }
  for (const name of ['API_KEY', 'DATABASE_HOST', 'LOG_FILE', 'PORT', 'PATH', 'BENEFITS_SIDECAR_PORT'])
    t.match(check({ [name]: 'x' }), { result: 'pass' }, name);
  t.match(check({ RETENTION_EVENT: '' }), { result: 'pass' }, 'an empty variable counts as not set');
  const found = await finding(t, 'variables', { ...environment(t), RETENTION_EVENT: '9d' });
  t.match(found, { result: 'warn' });
});

test('a database of the other environment fails', async (t, { env }) => {
  const found = await finding(t, 'database.migrated', { ...env, ...LIVE });
  t.match(found, { result: 'fail', message: /belongs to sandbox/ });
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

  const none = { ...env, DATABASE_URL: `sqlite:${folder}/none/sidecar.db` };
  t.notOk((await diagnose(t, none)).found['data-folder']);
});

test('a missing data key fails with its id', async (t, { env }) => {
  await here(t, env, ['census', 'stage', join(FIXTURES, 'census/json/maple-bakery.json'), '--employer', 'm']);
  const passed = { result: 'pass', message: 'they decrypt the stored data' };
  t.match(await finding(t, 'data-keys', env), passed);
  const other = { ...env, DATA_KEYS: `k2:${Buffer.alloc(32).toString('base64')}` };
  t.match(await finding(t, 'data-keys', other), { result: 'fail', message: /has no key k1/ });
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
  const given = { CENSUS_SOURCE: `${url}/{employer_id}`, CENSUS_SOURCE_TOKEN: token };
  const ran = await here(t, given, ['doctor']);
  t.notMatch(ran.stdout + ran.stderr, token);
});

onSqlite('a clock before the newest stored time is a warning', async (t) => {
  const { env } = await withFixtures(t, new Date(Date.now() + 86_400_000).toISOString());
  const message = /behind .*,\s+the newest time in the database/;
  t.match(await finding(t, 'database.clock', env), { result: 'warn', message });
});
