/** Checks of the runtime and the configuration. */
import { statSync } from 'node:fs';
import {
  type AuditHeads,
  type BenefitsConfig,
  type CensusSource,
  type Config,
  type DataKey,
  type Listener,
  plainHttpVariables,
  readConfig,
  readListeners,
} from '../../config.ts';
import { type Environment, given, SECRET_FILE_RULE } from '../../environment.ts';
import { isAppError } from '../../errors.ts';
import { assertRoles } from '../../security/claims.ts';
import type { ProviderConfig } from '../../sign-in-config.ts';
import { nameOfDatabase } from '../database/migrate.ts';
import { counted } from '../output.ts';
import { type Finding, fail, pass, type Verdict, warn } from './finding.ts';

/** Node releases that are too old end earlier, in main.ts. */
export function checkNode(version: string): Verdict {
  const message = `Node ${version}`;
  const major = Number(version.split('.')[0]);
  if (major % 2 === 0) return pass(message);
  return warn(message, 'Odd Node releases are maintained for half a year: use an even one.');
}

/** Checks that Node verifies the certificates of HTTPS servers. Only the value `0` turns verification off. */
export function checkCertificates(env: Environment): Verdict {
  if (env.NODE_TLS_REJECT_UNAUTHORIZED !== '0') return pass('certificates of HTTPS servers are verified');
  const report = given(env, 'BENEFITS_ENVIRONMENT') === 'live' ? fail : warn;
  return report(
    'NODE_TLS_REJECT_UNAUTHORIZED=0: any server can pose as the benefits service',
    'Unset it. To trust a private certificate authority, set NODE_EXTRA_CA_CERTS to its file.',
  );
}

/** Checks each variable on its own, so that all problems are reported at once. Prints no secret. */
export function checkConfiguration(env: Environment): Finding[] {
  return Object.entries(SETTINGS).map(([name, meaningIn]) => {
    try {
      return { id: `configuration.${name}`, ...checkVariable(name, meaningIn, env) };
    } catch (error) {
      if (!isAppError(error, 'CONFIG')) throw error;
      const malformed = fail(error.message, 'Set it as described in docs/configuration.md.');
      return { id: `configuration.${name}`, ...malformed };
    }
  });
}

function checkVariable(name: string, meaningIn: (config: Config) => string, env: Environment): Verdict {
  const config = readAlone(name, env);
  const meaning = meaningIn(config);
  if (name === 'API_PORT') assertApart(env);
  if (name === 'API_HOST' && !/^(localhost|::1|127\..*)$/.test(config.api.host)) {
    return warn(
      `${meaning}: other machines can reach the private API`,
      'Put a proxy with TLS and your own sign-on in front of it (docs/console.md), or set it to 127.0.0.1.',
    );
  }
  if (plainHttpVariables(config).includes(name)) {
    return warn(
      `${meaning}: keys and personal data cross the network unencrypted`,
      'Use an https:// address. BENEFITS_ENVIRONMENT=live requires one.',
    );
  }
  // Other programs accept ranges and patterns in NO_PROXY.
  const ranges =
    name === 'NO_PROXY' ? config.proxy.except.split(/[,\s]+/).filter((entry) => NO_HOST.test(entry)) : [];
  if (ranges.length > 0) {
    return warn(
      `${meaning}: no host has the name ${ranges.join(', ')}`,
      'Name hosts, domains or single addresses: ranges and patterns count for none of them.',
    );
  }
  const file = given(env, `${name}_FILE`);
  if (file === undefined) return pass(given(env, name) === undefined ? `${meaning} (the default)` : meaning);
  // Group permissions are left to the operator. Windows does not set these bits.
  const isOpenToAll = process.platform !== 'win32' && (statSync(file).mode & 0o006) !== 0;
  if (!isOpenToAll) return pass(`${meaning}, from a file`);
  return warn(
    `${meaning}, from a file that every user of this machine can read or change`,
    `Close it to others: ${SECRET_FILE_RULE} (docs/secrets.md).`,
  );
}

/** A range of addresses, or a pattern other than `*` and `*.example.com`. */
const NO_HOST = /\/|^\d[\d.]*\.$|.\*/;

/** Throws CONFIG if both listeners have the same port. Other problems belong to other variables. */
function assertApart(env: Environment): void {
  try {
    readListeners(env);
  } catch (error) {
    if (isAppError(error, 'CONFIG') && error.subject === 'API_PORT') throw error;
  }
}

/** Every variable with its meaning. One that is set as NAME_FILE is reported under NAME. */
const SETTINGS: Readonly<Record<string, (config: Config) => string>> = {
  BENEFITS_ENVIRONMENT: ({ environment }) => environment,
  BENEFITS_BASE_URL: ({ benefits }) => benefits.baseUrl,
  BENEFITS_API_KEY: ({ benefits }) => lengthOf(benefits.apiKey),
  HTTPS_PROXY: ({ proxy }) => proxyHost(proxy.https),
  HTTP_PROXY: ({ proxy }) => proxyHost(proxy.http),
  NO_PROXY: ({ proxy }) => proxy.except || 'not set',
  WEBHOOK_SECRETS: ({ webhookSecrets }) => secrets(webhookSecrets),
  DATA_KEYS: ({ dataKeys }) => keys(dataKeys),
  DATABASE_URL: ({ databaseUrl }) => nameOfDatabase(databaseUrl),
  RECEIVER_HOST: ({ receiver }) => host(receiver),
  RECEIVER_PORT: ({ receiver }) => port(receiver),
  API_HOST: ({ api }) => host(api),
  API_PORT: ({ api }) => port(api),
  API_PROXIES: ({ api }) => (api.proxies.length === 0 ? 'not set' : api.proxies.join(' ')),
  API_TOKEN: ({ api }) => (api.token === null ? 'not set' : lengthOf(api.token)),
  CONSOLE_URL: ({ signIn }) => signIn.provider?.consoleUrl ?? 'not used without OIDC_ISSUER',
  CONSOLE_TOKEN_SIGN_IN: ({ signIn }) => (signIn.withToken ? 'on' : 'off'),
  OIDC_ISSUER: ({ signIn }) => signIn.provider?.issuer ?? 'not set: people sign in with tokens',
  OIDC_CLIENT_ID: provided(({ clientId }) => clientId),
  OIDC_CLIENT_SECRET: provided(({ clientSecret }) =>
    clientSecret === null ? 'not set: a public client' : lengthOf(clientSecret),
  ),
  OIDC_SCOPES: provided(({ scopes }) => scopes),
  OIDC_ROLE_CLAIM: provided(({ roleClaim }) => roleClaim),
  OIDC_ROLES: provided((provider) => {
    assertRoles(provider);
    return `${counted(provider.roles.size, 'value')} mapped to roles`;
  }),
  OIDC_EMPLOYER_CLAIM: provided(({ employerClaim }) => employerClaim ?? 'not set: all employers'),
  CENSUS_SOURCE: ({ census }) => source(census.source),
  CENSUS_SOURCE_TOKEN: ({ census }) => (census.token === null ? 'not set' : lengthOf(census.token)),
  CENSUS_MAX_AGE: ({ census }) => `censuses older than ${duration(census.maxAgeMs)} are not uploaded`,
  CENSUS_OVERDUE: ({ census }) => `syncs are overdue after ${duration(census.overdueMs)}`,
  EVENTS_SILENT_AFTER: ({ silentAfterMs }) =>
    silentAfterMs === null
      ? 'readiness never warns about a lack of events'
      : `readiness warns when the last event is older than ${duration(silentAfterMs)}`,
  RETENTION_EVENTS: ({ retention }) => kept('event bodies', retention.eventsMs),
  RETENTION_REQUESTS: ({ retention }) => kept('request attempts', retention.requestsMs),
  TIME_ZONE: ({ timeZone }) => `days of ${timeZone}`,
  AUDIT_HEADS: ({ auditHeads }) => heads(auditHeads),
  LOG_LEVEL: ({ logLevel }) => logLevel,
};

/** Variables that may be set as NAME_FILE instead. */
const SECRETS = [
  'BENEFITS_API_KEY',
  'WEBHOOK_SECRETS',
  'DATA_KEYS',
  'DATABASE_URL',
  'API_TOKEN',
  'OIDC_CLIENT_SECRET',
  'CENSUS_SOURCE_TOKEN',
];

export const VARIABLES: readonly string[] = [
  ...Object.keys(SETTINGS),
  ...SECRETS.map((name) => `${name}_FILE`),
];

/** Well-formed values for the other variables when one variable is read on its own. */
const STAND_INS: Environment = {
  BENEFITS_BASE_URL: 'http://127.0.0.1',
  BENEFITS_API_KEY: 'stand-in',
  WEBHOOK_SECRETS: `whsec_${Buffer.alloc(32).toString('base64')}`,
  DATA_KEYS: `stand-in:${Buffer.alloc(32).toString('base64')}`,
  RECEIVER_PORT: '0',
  API_PORT: '0',
};
const PROVIDER_STAND_INS: Environment = {
  CONSOLE_URL: 'http://127.0.0.1',
  OIDC_ISSUER: 'https://provider.example',
  OIDC_CLIENT_ID: 'stand-in',
  OIDC_ROLES: 'stand-in=auditor',
};

/** Returns the configuration with one variable set. Addresses depend on the environment, so live stays live. */
function readAlone(name: string, env: Environment): Config {
  const file = `${name}_FILE`;
  const environment = given(env, 'BENEFITS_ENVIRONMENT') === 'live' ? 'live' : 'sandbox';
  const ofProvider = given(env, 'OIDC_ISSUER') === undefined ? {} : PROVIDER_STAND_INS;
  const standIns = { ...STAND_INS, ...ofProvider, BENEFITS_ENVIRONMENT: environment };
  // The names of proxies may be in lower case.
  const lower = name.toLowerCase();
  return readConfig({ ...standIns, [name]: env[name], [lower]: env[lower], [file]: env[file] });
}

/** Returns the host and port of a proxy, without its user and password. */
function proxyHost(proxy: string | null): string {
  return proxy === null ? 'not set' : new URL(proxy).host;
}

/** Returns the meaning of a variable that belongs to the OpenID Connect provider. */
function provided(meaning: (provider: ProviderConfig) => string) {
  return ({ signIn }: Config) => (signIn.provider === null ? 'not set' : meaning(signIn.provider));
}

function lengthOf(secret: string): string {
  return `set, ${secret.length} characters`;
}

function secrets(all: readonly string[]): string {
  const bytes = all.map((secret) => Buffer.from(secret.slice('whsec_'.length), 'base64').length);
  return `${counted(all.length, 'secret')} of ${bytes.join(' and ')} bytes`;
}

function keys([first, ...others]: readonly DataKey[]): string {
  const also = others.length === 0 ? '' : `; ${others.map(({ id }) => id).join(' and ')} only decrypt`;
  return `${first?.id} encrypts and decrypts${also}`;
}

function host({ host }: Listener): string {
  return host === '0.0.0.0' || host === '::' ? `${host} (all addresses of this machine)` : host;
}

function port({ port }: Listener): string {
  return port === 0 ? '0 (any free port)' : String(port);
}

function source(from: CensusSource): string {
  if (from.kind === 'push') return 'push: payroll uploads each census to the API';
  return from.kind === 'dir' ? `the folder ${from.path}` : from.url;
}

function kept(what: string, ms: number | null): string {
  return ms === null ? `${what} are kept indefinitely` : `${what} are deleted after ${duration(ms)}`;
}

const UNIT_MS = { d: 86_400_000, h: 3_600_000, m: 60_000, s: 1_000 };

/** Returns a duration in the largest unit that fits exactly, as a variable may state it. */
function duration(ms: number): string {
  const [unit, length] = Object.entries(UNIT_MS).find(([, unitMs]) => ms % unitMs === 0) ?? ['s', 1_000];
  return `${ms / length}${unit}`;
}

/** Prefixes that only this program uses. `API_`, `DATABASE_`, `DATA_` and `LOG_` are common elsewhere. */
const PREFIXES = ['BENEFITS_', 'CENSUS_', 'EVENTS_', 'OIDC_', 'RECEIVER_', 'RETENTION_', 'WEBHOOK_'];
/**
 * Warns about variables with one of our prefixes that are never read. Values are not shown: they may be secrets.
 * Kubernetes sets `BENEFITS_SIDECAR_…` for a Service named benefits-sidecar.
 */
export function checkUnknown(env: Environment): Verdict {
  const unknown = Object.keys(env).filter(
    (name) =>
      given(env, name) !== undefined &&
      !VARIABLES.includes(name) &&
      !name.startsWith('BENEFITS_SIDECAR_') &&
      PREFIXES.some((prefix) => name.toUpperCase().startsWith(prefix)),
  );
  if (unknown.length === 0) return pass('no unknown BENEFITS_*, CENSUS_* or similar variables');
  const advice = 'Correct the name, or ignore this if another program uses the variable.';
  return warn(`unknown variables: ${unknown.join(', ')}`, advice);
}

type BenefitsEnvironment = Config['environment'];

/** Words in hosts and keys that tell environments apart. The contract defines none. */
const WORDS: Readonly<Record<BenefitsEnvironment, readonly string[]>> = {
  sandbox: ['sandbox', 'sbx', 'test', 'testing', 'staging', 'demo', 'dev'],
  live: ['live', 'prod', 'production'],
};

/**
 * Guesses from words whether the address and the key belong to BENEFITS_ENVIRONMENT, so it warns and never fails.
 * Only a request could confirm it, and it may reach the wrong service. The key is not printed.
 */
export function checkEnvironment(
  environment: BenefitsEnvironment,
  { baseUrl, apiKey }: Pick<BenefitsConfig, 'baseUrl' | 'apiKey'>,
): Verdict {
  const { host, pathname } = new URL(baseUrl);
  // The last part of a key is random and may spell anything. No prefix, such as `benefits_sandbox_key_`, has more words.
  const prefix = apiKey.toLowerCase().split(/[_.-]/).slice(0, -1).slice(0, 3);
  const looks = {
    BENEFITS_BASE_URL: environmentIn((host + pathname).toLowerCase().split(/[^a-z]+/)),
    BENEFITS_API_KEY: environmentIn(prefix),
  };
  const odd = Object.entries(looks).filter(([, look]) => look !== null && look !== environment);
  if (odd.length === 0) return pass(`the address and the key do not contradict ${environment}`);
  const names = odd.map(([name]) => name).join(' and ');
  return warn(
    `BENEFITS_ENVIRONMENT is ${environment}, but ${names} ${odd.length === 1 ? 'looks' : 'look'} like ${odd[0]?.[1]}`,
    'Use the address, key, webhook secrets and database of one environment. See docs/configuration.md.',
  );
}

/** Returns the environment that the words name, or null if they name none or both. */
function environmentIn(words: readonly string[]): BenefitsEnvironment | null {
  const named = (['sandbox', 'live'] as const).filter((one) =>
    WORDS[one].some((word) => words.includes(word)),
  );
  return named.length === 1 ? (named[0] ?? null) : null;
}

function heads(auditHeads: AuditHeads): string {
  if (auditHeads.to === 'off') return 'no signed heads of the audit records are kept';
  const where = auditHeads.to === 'log' ? 'written to the log' : `appended to ${auditHeads.path}`;
  return `signed heads of the audit records are ${where}`;
}
