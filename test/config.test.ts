import t from 'tap';
import { plainHttpVariables, readConfig } from '../src/config.ts';
import { assertTypes } from '../src/notifications/types.ts';
import type { NotifyConfig } from '../src/notify-config.ts';
import {
  CANARY,
  dataKey,
  FIRST_TOKEN,
  REQUIRED,
  refused,
  type Variables,
  webhookSecret,
} from './config-samples.ts';

t.test('optional variables have defaults', async (t) => {
  t.strictSame(readConfig(REQUIRED), {
    environment: 'sandbox',
    benefits: { baseUrl: 'https://benefits.example/api', apiKey: 'api-key-1', apiKeyFile: null },
    sending: 'on',
    proxy: { http: null, https: null, except: '' },
    webhookSecrets: [webhookSecret(24)],
    dataKeys: [{ id: 'k1', key: Buffer.alloc(32, 9) }],
    databaseUrl: 'sqlite:./data/sidecar.db',
    receiver: { host: '0.0.0.0', port: 8080 },
    api: { host: '127.0.0.1', port: 8081, token: null, proxies: [] },
    signIn: { withToken: true, provider: null, isHttps: false },
    census: { source: { kind: 'push' }, token: null, maxAgeMs: 24 * 3_600_000, overdueMs: 3_600_000 },
    notify: null,
    silentAfterMs: 35 * 86_400_000,
    retention: { eventsMs: null, requestsMs: null },
    timeZone: 'UTC',
    auditHeads: { to: 'log' },
    logLevel: 'info',
  });
});

t.test('every variable can be set', async (t) => {
  const config = readConfig({
    BENEFITS_ENVIRONMENT: 'live',
    BENEFITS_BASE_URL: 'http://127.0.0.1:9090/',
    BENEFITS_API_KEY: 'api-key-2',
    SENDING: 'off',
    HTTP_PROXY: 'proxy:3128',
    HTTPS_PROXY: 'https://user:password@proxy',
    NO_PROXY: 'payroll.internal',
    WEBHOOK_SECRETS: `${webhookSecret(64)} ${webhookSecret(32)}`,
    DATA_KEYS: `${dataKey('new')}\n${dataKey('old.1')}`,
    DATABASE_URL: 'sqlite:/var/lib/sidecar/live.db',
    RECEIVER_HOST: '::',
    RECEIVER_PORT: '0',
    API_HOST: '10.0.0.1',
    API_PORT: '65535',
    API_TOKEN: FIRST_TOKEN,
    API_PROXIES: '10.0.0.2 fd00::/8',
    CONSOLE_URL: 'https://sidecar.example/',
    CONSOLE_TOKEN_SIGN_IN: 'off',
    OIDC_ISSUER: 'https://login.example/tenant/',
    OIDC_CLIENT_ID: 'sidecar',
    OIDC_CLIENT_SECRET: 'client-secret',
    OIDC_SCOPES: 'openid  profile groups',
    OIDC_ROLE_CLAIM: 'https://login.example/roles',
    OIDC_ROLES: 'Payroll Leads = payroll-manager; CN=Audit,OU=Groups=auditor;Payroll Leads=operator',
    OIDC_EMPLOYER_CLAIM: 'employers',
    CENSUS_SOURCE: 'dir:/srv/census',
    CENSUS_SOURCE_TOKEN: 'source-token',
    CENSUS_MAX_AGE: '7d',
    CENSUS_OVERDUE: '90m',
    NOTIFY_URL: 'https://10.0.0.3/hooks?of=sidecar',
    NOTIFY_SECRETS: `${webhookSecret(32)} ${webhookSecret(24)}`,
    NOTIFY_TYPES: 'run.finalized, run.voided',
    EVENTS_SILENT_AFTER: '7d',
    RETENTION_EVENTS: '400d',
    RETENTION_REQUESTS: '48h',
    TIME_ZONE: 'America/New_York',
    AUDIT_HEADS: 'file:/srv/heads.ndjson',
    LOG_LEVEL: 'error',
  });
  t.strictSame(config, {
    environment: 'live',
    benefits: { baseUrl: 'http://127.0.0.1:9090', apiKey: 'api-key-2', apiKeyFile: null },
    sending: 'off',
    proxy: { http: 'http://proxy:3128', https: 'https://user:password@proxy', except: 'payroll.internal' },
    webhookSecrets: [webhookSecret(64), webhookSecret(32)],
    dataKeys: ['new', 'old.1'].map((id) => ({ id, key: Buffer.alloc(32, 9) })),
    databaseUrl: 'sqlite:/var/lib/sidecar/live.db',
    receiver: { host: '::', port: 0 },
    api: { host: '10.0.0.1', port: 65_535, token: FIRST_TOKEN, proxies: ['10.0.0.2', 'fd00::/8'] },
    signIn: {
      withToken: false,
      isHttps: true,
      provider: {
        issuer: 'https://login.example/tenant/',
        clientId: 'sidecar',
        clientSecret: 'client-secret',
        scopes: 'openid profile groups',
        consoleUrl: 'https://sidecar.example',
        roleClaim: 'https://login.example/roles',
        roles: new Map([
          ['Payroll Leads', ['payroll-manager', 'operator']],
          ['CN=Audit,OU=Groups', ['auditor']],
        ]),
        employerClaim: 'employers',
      },
    },
    census: {
      source: { kind: 'dir', path: '/srv/census' },
      token: 'source-token',
      maxAgeMs: 7 * 86_400_000,
      overdueMs: 90 * 60_000,
    },
    notify: {
      url: 'https://10.0.0.3/hooks?of=sidecar',
      secrets: [webhookSecret(32), webhookSecret(24)],
      secretsFile: null,
      types: ['run.finalized', 'run.voided'],
    },
    silentAfterMs: 7 * 86_400_000,
    retention: { eventsMs: 400 * 86_400_000, requestsMs: 2 * 86_400_000 },
    timeZone: 'America/New_York',
    auditHeads: { to: 'file', path: '/srv/heads.ndjson' },
    logLevel: 'error',
  });
});

t.test('the warning about silence can be ended', async (t) => {
  t.equal(readConfig({ ...REQUIRED, EVENTS_SILENT_AFTER: 'off' }).silentAfterMs, null);
});

t.test('the configuration is deeply frozen', async (t) => {
  const assertFrozen = (value: unknown, path: string): void => {
    if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return;
    t.ok(Object.isFrozen(value), `${path} is frozen`);
    for (const [name, inner] of Object.entries(value)) assertFrozen(inner, `${path}.${name}`);
  };
  assertFrozen(readConfig(REQUIRED), 'config');
  assertFrozen(readConfig({ ...REQUIRED, CENSUS_SOURCE: 'dir:/srv' }), 'config with a folder');
  const notify = {
    NOTIFY_URL: 'https://a.example',
    NOTIFY_SECRETS: webhookSecret(24),
    NOTIFY_TYPES: 'run.finalized',
  };
  assertFrozen(readConfig({ ...REQUIRED, ...notify }), 'config with notifications');
});

t.test('a missing required variable prevents the start', async (t) => {
  for (const variable of Object.keys(REQUIRED)) {
    // Only the database shows whether a pilot needs no key.
    if (variable === 'BENEFITS_API_KEY') continue;
    refused(t, { [variable]: '' }, variable, /is not set/, 'empty counts as unset');
    refused(t, { [variable]: ' \t' }, variable, /is not set/, 'blank counts as unset');
    const { [variable]: _, ...others } = REQUIRED;
    t.throws(() => readConfig(others), { subject: variable, message: /is not set/ }, `${variable}: missing`);
  }
});

t.test('a malformed value is rejected with the expected form', async (t) => {
  const malformed: [string, RegExp, ...string[]][] = [
    ['BENEFITS_ENVIRONMENT', /must be one of sandbox, live/, 'production', 'Sandbox', 'toString'],
    [
      'BENEFITS_BASE_URL',
      /http:\/\/ or https:\/\/ address without user, query or fragment/,
      ...'benefits.example ftp://benefits.example https:// https:benefits.example'.split(' '),
      `https://${CANARY}@benefits.example`,
      `https://user:${CANARY}@benefits.example`,
      `https://benefits.example/?key=${CANARY}`,
      'https://benefits.example/?',
      `https://benefits.example/#${CANARY}`,
      'https://benefits.example/#',
    ],
    ['HTTPS_PROXY', /address of a proxy/, `socks5://u:${CANARY}@proxy`, `http://u:${CANARY}@proxy/path`],
    ...[
      'BENEFITS_API_KEY',
      'WEBHOOK_SECRETS',
      'DATA_KEYS',
      'DATABASE_URL',
      'API_TOKEN',
      'CENSUS_SOURCE_TOKEN',
    ].map((name): [string, RegExp, ...string[]] => [
      name,
      /must not be in quotes/,
      ...[`"${CANARY}"`, `'${CANARY}'`, `\`${CANARY}\``, `${CANARY}"`],
    ]),
    ['BENEFITS_API_KEY', /printable/, `${CANARY} two`, `${CANARY}\nX-Header: 1`, `${CANARY}é`],
    [
      'DATABASE_URL',
      /sqlite:/,
      ...'sidecar.db sqlite: sqlite://data/x.db sqlite::memory: sqlite:file:x.db'.split(' '),
      `mysql://u:${CANARY}@h/db`,
    ],
    ['SENDING', /must be one of on, off/, 'no', 'OFF', 'false'],
    ['RECEIVER_PORT', /0 to 65535/, '65536', '-1', '80.5', 'http', '0x50', '1e3'],
    ['RECEIVER_PORT', /a Service called "receiver".*enableServiceLinks: false/, 'tcp://10.96.12.7:80'],
    [
      'API_PORT',
      /a Service called "api".*enableServiceLinks: false/,
      'tcp://[fd00::1]:80',
      'udp://10.96.12.7:80',
    ],
    ['API_PORT', /0 to 65535/, '65536', '8 0'],
    ['API_PROXIES', /entry 1 must be an IP address/, CANARY, '10.0.0.1/33', '10.0.0.1/', '::1/129', '/8'],
    ['API_PROXIES', /entry 2 must be an IP address/, '10.0.0.1 0.0.0.0/0', '10.0.0.1 ::/0', '::1 localhost'],
    ['API_TOKEN', /at least 32/, CANARY, 'a'.repeat(31)],
    ['API_TOKEN', /printable/, `${CANARY} ${'a'.repeat(32)}`],
    [
      'CENSUS_SOURCE',
      /push, dir:PATH, or an http\(s\):\/\/ address/,
      ...'pull dir: https://payroll.example/census https://{employer_id}/census'.split(' '),
      ...'https://{employer_id}.payroll.example/census https://{employer_id'.split(' '),
      `https://u:${CANARY}@payroll.example/{employer_id}`,
      'https://payroll.example/#{employer_id}',
      'file:///srv/{employer_id}',
    ],
    ['CENSUS_SOURCE_TOKEN', /printable/, `${CANARY} two`, `${CANARY}\r\nX-Header: 1`],
    ['CENSUS_MAX_AGE', /such as 24h/, '24', 'h', '0h', '-1h', '1.5h', '1 h', '24H', '1w', '1000000s'],
    ['CENSUS_OVERDUE', /above 0 and s, m, h or d, such as 24h/, 'soon', '0s'],
    ['RETENTION_EVENTS', /such as 24h/, 'off', '400', '1y'],
    ['RETENTION_EVENTS', /at least 2d/, '1d', '47h'],
    ['RETENTION_REQUESTS', /at least 2d/, '60m'],
    ['LOG_LEVEL', /must be one of debug, info, warn, error/, 'verbose', 'INFO', 'silent'],
  ];
  for (const [variable, problem, ...values] of malformed) {
    for (const value of values) refused(t, { [variable]: value }, variable, problem, JSON.stringify(value));
  }
});

t.test('an OpenID Connect provider needs its variables and encrypted addresses', async (t) => {
  const provider = {
    OIDC_ISSUER: 'https://login.example',
    OIDC_CLIENT_ID: 'sidecar',
    OIDC_ROLES: 'leads=payroll-manager',
    CONSOLE_URL: 'http://127.0.0.1:8081',
  };
  const live = { BENEFITS_ENVIRONMENT: 'live' };
  for (const [variable, value, rule, more = {}] of [
    ['OIDC_ISSUER', '', /is not set, although OIDC_CLIENT_ID is/],
    ['OIDC_CLIENT_ID', '', /is not set/],
    ['OIDC_ROLES', '', /is not set/],
    ['CONSOLE_URL', '', /is not set/],
    ['OIDC_ISSUER', `https://user:${CANARY}@login.example`, /without user, query or fragment/],
    ['OIDC_ISSUER', 'https://login.example/?tenant=1', /without user, query or fragment/],
    ['OIDC_ISSUER', 'http://login.example', /only in the sandbox and to this machine/],
    ['OIDC_ISSUER', 'http://127.0.0.1:3000', /only in the sandbox/, live],
    ['OIDC_CLIENT_ID', `${CANARY} x`, /at most 255 printable/],
    ['OIDC_CLIENT_SECRET', `${CANARY} x`, /printable/],
    ['OIDC_SCOPES', 'profile', /include openid/],
    ['OIDC_ROLE_CLAIM', 'a'.repeat(256), /at most 255/],
    ['OIDC_EMPLOYER_CLAIM', 'two words', /at most 255 printable/],
    ['OIDC_ROLES', 'leads', /entry 1 must be a value/],
    ['OIDC_ROLES', 'leads=payroll-manager;=auditor', /entry 2 must be a value/],
    ['OIDC_ROLES', 'leads=Payroll Manager', /entry 1 must be a value/],
    ['OIDC_ROLES', ';', /must have 1 to 100 entries/],
    ['OIDC_ROLES', Array(101).fill('leads=auditor').join(';'), /must have 1 to 100 entries/],
    ['CONSOLE_URL', 'http://sidecar.example', /only to this machine/],
    ['CONSOLE_URL', 'https://sidecar.example/console', /address without a path/],
    ['CONSOLE_URL', 'sidecar.example', /address without a path/],
    ['CONSOLE_TOKEN_SIGN_IN', 'no', /one of on, off/],
  ] as [string, string, RegExp, Variables?][]) {
    refused(t, { ...provider, ...more, [variable]: value }, variable, rule, value);
  }
  const off = { CONSOLE_TOKEN_SIGN_IN: 'off' };
  refused(t, off, 'CONSOLE_TOKEN_SIGN_IN', /only if OIDC_ISSUER is set/, 'alone');
  const { signIn } = readConfig({ ...REQUIRED, ...provider, OIDC_ISSUER: 'http://127.0.0.1:3000' });
  t.match(signIn.provider, { scopes: 'openid profile', roleClaim: 'groups', clientSecret: null });
});

t.test('notifications need an address, secrets, encryption in live and known types', async (t) => {
  const notify = { NOTIFY_URL: 'https://payroll.example/hooks', NOTIFY_SECRETS: webhookSecret(32) };
  const live = { BENEFITS_ENVIRONMENT: 'live' };
  for (const [variable, value, rule, more = {}] of [
    ['NOTIFY_URL', '', /is not set, although NOTIFY_SECRETS is/],
    ['NOTIFY_URL', 'payroll.example', /address without user or fragment/],
    ['NOTIFY_URL', `https://user:${CANARY}@payroll.example`, /address without user or fragment/],
    ['NOTIFY_URL', 'http://payroll.internal', /https:\/\/ address when BENEFITS_ENVIRONMENT is live/, live],
    ['NOTIFY_SECRETS', '', /is not set/],
    ['NOTIFY_SECRETS', `whsec_${CANARY}`, /entry 1 must be whsec_/],
    ['NOTIFY_SECRETS', `${webhookSecret(24)} ${webhookSecret(23)}`, /entry 2 must be whsec_/],
  ] as [string, string, RegExp, Variables?][]) {
    refused(t, { ...notify, ...more, [variable]: value }, variable, rule, value);
  }
  refused(t, { NOTIFY_TYPES: 'run.finalized' }, 'NOTIFY_URL', /although NOTIFY_TYPES is/, 'alone');
  for (const url of ['http://127.0.0.1:9/hooks', 'https://192.168.0.7']) {
    t.match(readConfig({ ...REQUIRED, ...live, ...notify, NOTIFY_URL: url }).notify, { url });
  }
  const { notify: read } = readConfig({ ...REQUIRED, ...notify, NOTIFY_TYPES: 'run.finalized run.final' });
  t.throws(() => assertTypes(read as NotifyConfig), {
    ...{ code: 'CONFIG', subject: 'NOTIFY_TYPES' },
    message: /entry 2 must be one of run.finalized, /,
  });
});

t.test('the listeners cannot share a port on the same address', async (t) => {
  const both = (port: string, receiver: string, api: string) => ({
    RECEIVER_PORT: port,
    API_PORT: port,
    RECEIVER_HOST: receiver,
    API_HOST: api,
  });
  for (const [receiver, api] of [
    ['127.0.0.1', '127.0.0.1'],
    ['0.0.0.0', '127.0.0.1'],
    ['10.0.0.1', '0.0.0.0'],
    ['::', '0.0.0.0'],
    ['::', '127.0.0.1'],
    ['::1', '::'],
    ['localhost', '::1'],
    ['0.0.0.0', 'localhost'],
  ] as const) {
    const same = /and RECEIVER_PORT are both 8080/;
    refused(t, both('8080', receiver, api), 'API_PORT', same, `${receiver} ${api}`);
    t.ok(readConfig({ ...REQUIRED, ...both('0', receiver, api) }), 'port 0 gives each listener its own port');
  }
  for (const [receiver, api] of [
    ['10.0.0.1', '127.0.0.1'],
    ['0.0.0.0', '::1'],
    ['::1', '127.0.0.1'],
  ] as const) {
    t.ok(readConfig({ ...REQUIRED, ...both('8080', receiver, api) }), `${receiver} ${api}`);
  }
  refused(t, { RECEIVER_PORT: '8081' }, 'API_PORT', /both 8081/, 'the default port');
});

t.test('a census source over HTTP needs a placeholder for the employer id', async (t) => {
  for (const url of [
    'https://payroll.example/{employer_id}/census',
    'http://127.0.0.1:1/?of={employer_id}',
  ]) {
    t.strictSame(readConfig({ ...REQUIRED, CENSUS_SOURCE: url }).census.source, { kind: 'http', url });
  }
});

/** Hosts in all spellings. The URL parser normalizes the last ones of this machine to 127.0.0.1. */
const THIS_MACHINE = [
  ...'localhost LOCALHOST a.b.localhost 127.0.0.1 127.9.8.7 [::1] 127.1 0x7f.1'.split(' '),
];
const OTHER_MACHINES = [
  ...['benefits.example', '10.0.0.1', '[2001:db8::1]', '0.0.0.0', '128.0.0.1', 'notlocalhost', '.localhost'],
  ...['localhost.example', '127.0.0.1.example', '127.0.0.example', '[::ffff:10.0.0.1]', '[::127.0.0.1]'],
];

t.test('in live an address must be https:// or this machine', async (t) => {
  const read = (variable: string, address: string, environment: string) =>
    readConfig({ ...REQUIRED, BENEFITS_ENVIRONMENT: environment, [variable]: address });
  const problem = /must be an https:\/\/ address when BENEFITS_ENVIRONMENT is live/;
  for (const [variable, path] of [
    ['BENEFITS_BASE_URL', '/api'],
    ['CENSUS_SOURCE', '/{employer_id}'],
  ] as const) {
    for (const host of THIS_MACHINE) {
      const config = read(variable, `http://${host}:8090${path}`, 'live');
      t.strictSame(plainHttpVariables(config), [], `${variable}: ${host} is this machine`);
    }
    for (const host of OTHER_MACHINES) {
      const url = `http://${host}:8090${path}`;
      const live = { BENEFITS_ENVIRONMENT: 'live', [variable]: url };
      refused(t, live, variable, problem, `${host} is another machine`);
      t.strictSame(plainHttpVariables(read(variable, url, 'sandbox')), [variable], `${host} in sandbox`);
      const encrypted = read(variable, `https://${host}:8090${path}`, 'live');
      t.strictSame(plainHttpVariables(encrypted), [], `https://${host}`);
    }
  }
  const both = { BENEFITS_BASE_URL: 'http://10.0.0.1', CENSUS_SOURCE: 'http://10.0.0.1/{employer_id}' };
  t.strictSame(plainHttpVariables(readConfig({ ...REQUIRED, ...both })), Object.keys(both));
});

t.test('a webhook secret has 24 to 64 bytes', async (t) => {
  const read = (text: string) => readConfig({ ...REQUIRED, WEBHOOK_SECRETS: text }).webhookSecrets;
  for (const bytes of [24, 25, 26, 64])
    t.strictSame(read(webhookSecret(bytes)), [webhookSecret(bytes)], `${bytes} bytes`);
  const several = [webhookSecret(24), webhookSecret(32), webhookSecret(64)];
  t.strictSame(read(` ${several.join('  ')}\n`), several, 'several, in order');

  const key = Buffer.from(`${CANARY}-0123456789`).toString('base64');
  const malformed = {
    '23 bytes': webhookSecret(23),
    '65 bytes': webhookSecret(65),
    'one byte': 'whsec_Bw==',
    'an empty one': 'whsec_',
    'no prefix': key,
    'another prefix': `whpk_${key}`,
    'not base64': `whsec_${CANARY}-is-no-base64-at-all-0123456789`,
    'URL-safe base64': `whsec_${Buffer.alloc(32, 0xff).toString('base64url')}`,
    'bits that base64 ignores': `whsec_${'A'.repeat(42)}B=`,
    'padding in the middle': `whsec_${'A'.repeat(20)}==${'A'.repeat(20)}`,
    'separated by a comma': `${webhookSecret(24)},${webhookSecret(24)}`,
  };
  for (const [name, text] of Object.entries(malformed)) {
    const rule = /entry 1 must be whsec_ .* 24 to 64 bytes/;
    refused(t, { WEBHOOK_SECRETS: text }, 'WEBHOOK_SECRETS', rule, name);
    const second = { WEBHOOK_SECRETS: `${webhookSecret(24)} ${text}` };
    refused(t, second, 'WEBHOOK_SECRETS', /entry 2 must/, `${name}, as the second entry`);
  }
});

t.test('a data key has an id and 32 bytes, and each id is used once', async (t) => {
  const malformed = {
    '31 bytes': dataKey('k1', 31),
    '33 bytes': dataKey('k1', 33),
    'no id': Buffer.alloc(32).toString('base64'),
    'an empty id': dataKey(''),
    'an id of 33 characters': dataKey('k'.repeat(33)),
    'an id with a slash': dataKey('k/1'),
    'not base64': `k1:${CANARY}-is-no-base64-at-all-0123456789`,
  };
  for (const [name, text] of Object.entries(malformed))
    refused(t, { DATA_KEYS: text }, 'DATA_KEYS', /entry 1 must be an id.*keys generate/, name);
  const twice = { DATA_KEYS: `${dataKey('a')} ${dataKey('a')}` };
  refused(t, twice, 'DATA_KEYS', /two keys with the id a$/, 'twice');
});

t.test('a Unix socket of PostgreSQL may be named without a host, as Google writes it', async (t) => {
  const url = 'postgresql://user:password@/payroll?sslmode=disable&host=/cloudsql/project:region:name';
  t.equal(readConfig({ ...REQUIRED, DATABASE_URL: url }).databaseUrl, url.replace('@/', '@localhost/'));
});
