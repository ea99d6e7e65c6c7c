/** What each variable of the configuration means now, in words that show no secret. */
import { type CensusSource, type Config, type DataKey, type Listener, readConfig } from '../../config.ts';
import { type Environment, given } from '../../environment.ts';
import { nameOfDatabase } from '../where.ts';

/** Every variable. A secret's may be set as NAME_FILE instead: then it is the line of NAME that says so. */
export const SETTINGS: Readonly<Record<string, (config: Config) => string>> = {
  BENEFITS_ENVIRONMENT: ({ environment }) => environment,
  BENEFITS_BASE_URL: ({ benefits }) => benefits.baseUrl,
  BENEFITS_API_KEY: ({ benefits }) => lengthOf(benefits.apiKey),
  WEBHOOK_SECRETS: ({ webhookSecrets }) => secrets(webhookSecrets),
  DATA_KEYS: ({ dataKeys }) => keys(dataKeys),
  DATABASE_URL: ({ databaseUrl }) => nameOfDatabase(databaseUrl),
  RECEIVER_HOST: ({ receiver }) => host(receiver),
  RECEIVER_PORT: ({ receiver }) => port(receiver),
  API_HOST: ({ api }) => host(api),
  API_PORT: ({ api }) => port(api),
  API_TOKEN: ({ api }) => (api.token === null ? 'no such token' : lengthOf(api.token)),
  CENSUS_SOURCE: ({ census }) => source(census.source),
  CENSUS_SOURCE_TOKEN: ({ census }) => (census.token === null ? 'no token is sent' : lengthOf(census.token)),
  CENSUS_MAX_AGE: ({ census }) => `a staged census older than ${duration(census.maxAgeMs)} is not uploaded`,
  CENSUS_OVERDUE: ({ census }) =>
    `a sync that is not completed after ${duration(census.overdueMs)} is overdue`,
  EVENTS_SILENT_AFTER: ({ silentAfterMs }) =>
    silentAfterMs === null
      ? 'readiness never warns about a lack of events'
      : `readiness warns when the last event is older than ${duration(silentAfterMs)}`,
  RETENTION_EVENTS: ({ retention }) => kept('bodies of applied and ignored events', retention.eventsMs),
  RETENTION_REQUESTS: ({ retention }) =>
    kept('attempts and answers of delivered and cancelled requests', retention.requestsMs),
  LOG_LEVEL: ({ logLevel }) => logLevel,
};

/** Those whose value may be a secret, and so may stand in a file that NAME_FILE names. */
const SECRETS = [
  'BENEFITS_API_KEY',
  'WEBHOOK_SECRETS',
  'DATA_KEYS',
  'DATABASE_URL',
  'API_TOKEN',
  'CENSUS_SOURCE_TOKEN',
];

/** Every name that is read. */
export const VARIABLES: readonly string[] = [
  ...Object.keys(SETTINGS),
  ...SECRETS.map((name) => `${name}_FILE`),
];

/** Well-formed, and used for nothing but to read one variable beside others that can't be what is wrong. */
const STAND_INS: Environment = {
  BENEFITS_ENVIRONMENT: 'sandbox',
  BENEFITS_BASE_URL: 'http://127.0.0.1',
  BENEFITS_API_KEY: 'stand-in',
  WEBHOOK_SECRETS: `whsec_${Buffer.alloc(32).toString('base64')}`,
  DATA_KEYS: `stand-in:${Buffer.alloc(32).toString('base64')}`,
  RECEIVER_PORT: '0',
  API_PORT: '0',
};

/** Returns what one variable means, whatever the others are. Throws `ConfigError` if it is malformed. */
export function meaningOf(name: string, env: Environment): string {
  return SETTINGS[name]?.(readAlone(name, env)) ?? '';
}

/** Returns the configuration with one variable set. Addresses depend on the environment, so live stays live. */
export function readAlone(name: string, env: Environment): Config {
  const file = `${name}_FILE`;
  const isLive = given(env, 'BENEFITS_ENVIRONMENT') === 'live';
  const others = isLive ? { ...STAND_INS, BENEFITS_ENVIRONMENT: 'live' } : STAND_INS;
  return readConfig({ ...others, [name]: env[name], [file]: env[file] });
}

function lengthOf(secret: string): string {
  return `set, ${secret.length} characters`;
}

function secrets(all: readonly string[]): string {
  const bytes = all.map((one) => Buffer.from(one.slice('whsec_'.length), 'base64').length);
  return `${all.length} ${all.length === 1 ? 'secret' : 'secrets'}, of ${bytes.join(' and ')} bytes`;
}

function keys([first, ...others]: readonly DataKey[]): string {
  const also = others.length === 0 ? '' : `, ${others.map(({ id }) => id).join(' and ')} only to open`;
  return `${first?.id} seals and opens${also}`;
}

const EVERY_ADDRESS: ReadonlySet<string> = new Set(['0.0.0.0', '::']);

function host(listener: Listener): string {
  return EVERY_ADDRESS.has(listener.host) ? `${listener.host}, every address of this machine` : listener.host;
}

function port(listener: Listener): string {
  return listener.port === 0 ? '0, any that is free at the start' : String(listener.port);
}

function source(from: CensusSource): string {
  if (from.kind === 'push') return 'push: payroll brings each census';
  return from.kind === 'dir' ? `the folder ${from.path}` : from.url;
}

function kept(what: string, ms: number | null): string {
  return ms === null ? `${what} are kept for ever` : `${what} go after ${duration(ms)}`;
}

const UNITS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1_000],
] as const;

/** In the largest unit that it is a whole number of, as it may be written in a variable. */
function duration(ms: number): string {
  const [unit, length] = UNITS.find(([, unitMs]) => ms % unitMs === 0) ?? ['s', 1_000];
  return `${ms / length}${unit}`;
}
