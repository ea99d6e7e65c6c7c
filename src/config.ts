/** Reads the configuration from environment variables. A wrong one throws CONFIG. Every secret can also be given as NAME_FILE. */
import { isIP } from 'node:net';
import { UTC, zoneName } from './clock.ts';
import {
  address,
  base64,
  bearer,
  configError,
  duration,
  type Environment,
  encrypted,
  given,
  isPlainHttp,
  oneOf,
  readSecretFile,
  required,
  secret,
  webhookSecrets,
} from './environment.ts';
import { type NotifyConfig, readNotify } from './notify-config.ts';
import { type ProxyConfig, readProxy } from './proxy-config.ts';
import { readSignIn, type SignInConfig } from './sign-in-config.ts';

export type Config = {
  readonly environment: 'sandbox' | 'live';
  readonly benefits: BenefitsConfig;
  /** `off` starts a pilot. A stored pilot counts, whatever this is. */
  readonly sending: (typeof SENDING)[number];
  /** For requests to the service, to the census source and to the provider of sign-ins. */
  readonly proxy: ProxyConfig;
  /** `whsec_…`; all are accepted. Two during a rotation. */
  readonly webhookSecrets: readonly string[];
  /** The first one encrypts; all decrypt. */
  readonly dataKeys: readonly DataKey[];
  readonly databaseUrl: string;
  readonly receiver: Listener;
  /** `proxies`: the addresses and networks whose `X-Forwarded-…` headers are believed. */
  readonly api: Listener & { readonly token: string | null; readonly proxies: readonly string[] };
  readonly signIn: SignInConfig;
  readonly census: CensusConfig;
  /** Where notifications are sent; null: none are stored. */
  readonly notify: NotifyConfig | null;
  /** Readiness warns when the newest event is older; null: never. */
  readonly silentAfterMs: number | null;
  readonly retention: RetentionConfig;
  /** The time zone whose days are today and dates of receipt. */
  readonly timeZone: string;
  readonly auditHeads: AuditHeads;
  readonly logLevel: LogLevel;
};

/** The service's address without a slash at its end. With `apiKeyFile` the key is read again when it is refused. */
export type BenefitsConfig = {
  readonly baseUrl: string;
  /** Null only in a pilot. */
  readonly apiKey: string | null;
  readonly apiKeyFile: string | null;
};
export type CensusConfig = {
  readonly source: CensusSource;
  readonly token: string | null;
  readonly maxAgeMs: number;
  readonly overdueMs: number;
};
/** The age at which data is deleted. Null: never. */
export type RetentionConfig = { readonly eventsMs: number | null; readonly requestsMs: number | null };
/** Where signed heads of the audit chain are kept. */
export type AuditHeads =
  | { readonly to: 'log' }
  | { readonly to: 'off' }
  | { readonly to: 'file'; readonly path: string };
export type DataKey = { readonly id: string; readonly key: Uint8Array };
export type Listener = { readonly host: string; readonly port: number };
export type CensusSource =
  | { readonly kind: 'push' }
  | { readonly kind: 'dir'; readonly path: string }
  /** `url` holds `{employer_id}` where the id goes. */
  | { readonly kind: 'http'; readonly url: string };
export type LogLevel = (typeof LOG_LEVELS)[number];

const SENDING = ['on', 'off'] as const;
const LOG_LEVELS = ['debug', 'info', 'warn', 'error'] as const;
/** AES-256. */
const DATA_KEY_BYTES = 32;
/** 256 random bits in base64 are 43 characters; anything much shorter was made up by a person. */
const API_TOKEN_LENGTH = 32;
/** The provider retries an event for about 27 hours; within that time, its body is compared with the stored one. */
const RETENTION_LEAST_MS = 2 * 86_400_000;

export function readConfig(env: Environment): Config {
  return Object.freeze({
    environment: readEnvironment(env),
    benefits: readBenefits(env),
    sending: readSending(env),
    proxy: readProxy(env),
    webhookSecrets: readWebhookSecrets(env),
    dataKeys: readDataKeys(env),
    databaseUrl: readDatabaseUrl(env),
    ...readListeners(env),
    signIn: readSignIn(env),
    census: readCensus(env),
    notify: readNotify(env),
    silentAfterMs: readSilence(env),
    retention: readRetention(env),
    timeZone: readTimeZone(env),
    auditHeads: readAuditHeads(env),
    logLevel: oneOf(env, 'LOG_LEVEL', LOG_LEVELS, 'info'),
  });
}

export function readEnvironment(env: Environment): Config['environment'] {
  return oneOf(env, 'BENEFITS_ENVIRONMENT', ['sandbox', 'live']);
}

export const TIME_ZONE_RULE = 'must be UTC or the IANA name of a place, such as America/New_York';

/** Returns the name of a time zone, as the database stores it. */
export function readTimeZone(env: Environment): string {
  const name = zoneName(given(env, 'TIME_ZONE') ?? UTC);
  if (name === null) throw configError('TIME_ZONE', TIME_ZONE_RULE);
  return name;
}

export function readBenefits(env: Environment): BenefitsConfig {
  const key = secret(env, API_KEY);
  const apiKey = key === undefined ? null : bearer(API_KEY, key);
  return Object.freeze({ baseUrl: baseUrl(env), apiKey, apiKeyFile: given(env, `${API_KEY}_FILE`) ?? null });
}

const API_KEY = 'BENEFITS_API_KEY';

/** Returns the key. Throws CONFIG without one, which only a pilot needs not. */
export function requiredApiKey({ apiKey }: BenefitsConfig): string {
  return required(API_KEY, apiKey ?? undefined);
}

/** Returns the key, read again from its file, so that a rotated key is used without a restart. */
export function currentApiKey({ apiKey, apiKeyFile }: BenefitsConfig): string | null {
  return apiKeyFile === null ? apiKey : bearer(API_KEY, readSecretFile(API_KEY, apiKeyFile));
}

export function readSending(env: Environment): Config['sending'] {
  return oneOf(env, 'SENDING', SENDING, 'on');
}

export function readWebhookSecrets(env: Environment): readonly string[] {
  const name = 'WEBHOOK_SECRETS';
  return webhookSecrets(name, required(name, secret(env, name)));
}

export function readDataKeys(env: Environment): readonly DataKey[] {
  const name = 'DATA_KEYS';
  const keys = required(name, secret(env, name))
    .split(/\s+/)
    .map((text, index) => {
      const [, id, encoded] = /^([A-Za-z0-9._-]{1,32}):(.+)$/.exec(text) ?? [];
      const key = encoded === undefined ? null : base64(encoded);
      if (id === undefined || key?.length !== DATA_KEY_BYTES) {
        throw configError(
          name,
          `entry ${index + 1} must be an id, a colon and the base64 of ${DATA_KEY_BYTES} bytes: "benefits-sidecar keys generate" creates one`,
        );
      }
      return Object.freeze({ id, key });
    });
  const ids = keys.map((key) => key.id);
  const twice = ids.find((id, index) => ids.indexOf(id) !== index);
  if (twice !== undefined) throw configError(name, `has two keys with the id ${twice}`);
  return Object.freeze(keys);
}

/** Reports whether a database is set, instead of the default one. */
export function isDatabaseSet(env: Environment): boolean {
  return ['DATABASE_URL', 'DATABASE_URL_FILE'].some((name) => given(env, name) !== undefined);
}

export function readDatabaseUrl(env: Environment): string {
  // A secret, because it may contain a password.
  const url = withHost(secret(env, 'DATABASE_URL') ?? 'sqlite:./data/sidecar.db');
  if (!isDatabaseUrl(url)) {
    throw configError(
      'DATABASE_URL',
      'must be sqlite: and the path of a file, such as sqlite:./data/sidecar.db, or postgres://user:password@host:5432/database',
    );
  }
  return url;
}

/** Adds a host to an address of a Unix socket such as `postgres://user:password@/database?host=/cloudsql/…`, which has none. */
function withHost(url: string): string {
  return url.replace(/^(postgres(?:ql)?:\/\/[^/@]*@)(?=\/[^?]*\?(?:.*&)?host=)/, '$1localhost');
}

/** Reports whether it has the form of a `DATABASE_URL`. */
export function isDatabaseUrl(url: string): boolean {
  // SQLite accepts `:memory:` and `file:`, but here they would become files of that name.
  if (url.startsWith('sqlite:')) return /^sqlite:(?!\/\/|:|file:).+/.test(url);
  return /^postgres(ql)?:\/\/./.test(url) && URL.canParse(url);
}

export function readReceiver(env: Environment): Listener {
  return listener(env, 'RECEIVER', '0.0.0.0', 8080);
}

export function readApi(env: Environment): Config['api'] {
  const proxies = Object.freeze(proxiesOf(env, 'API_PROXIES'));
  return Object.freeze({ ...listener(env, 'API', '127.0.0.1', 8081), token: apiToken(env), proxies });
}

/** Returns both listeners. Throws CONFIG if they use the same port of the same address. */
export function readListeners(env: Environment): Pick<Config, 'receiver' | 'api'> {
  const [receiver, api] = [readReceiver(env), readApi(env)];
  // Port 0 is any free port, so each gets its own.
  if (api.port !== 0 && api.port === receiver.port && overlap(api.host, receiver.host)) {
    throw configError(
      'API_PORT',
      `and RECEIVER_PORT are both ${api.port} on the same address: give each listener a port of its own`,
    );
  }
  return { receiver, api };
}

/** Reports whether two hosts share an address. Names other than localhost are not resolved. */
function overlap(left: string, right: string): boolean {
  const hosts = [left, right];
  if (left === right || hosts.includes('::')) return true;
  if (hosts.includes('0.0.0.0')) return hosts.every((host) => !host.includes(':'));
  return hosts.includes('localhost') && hosts.some((host) => host === '127.0.0.1' || host === '::1');
}

export function readCensus(env: Environment): CensusConfig {
  const token = secret(env, 'CENSUS_SOURCE_TOKEN');
  return Object.freeze({
    source: Object.freeze(censusSource(env)),
    token: token === undefined ? null : bearer('CENSUS_SOURCE_TOKEN', token),
    maxAgeMs: duration(env, 'CENSUS_MAX_AGE', '24h'),
    overdueMs: duration(env, 'CENSUS_OVERDUE', '1h'),
  });
}

/** Returns null if the variable is not set, which means never. */
function optionalDuration(env: Environment, name: string): number | null {
  return given(env, name) === undefined ? null : duration(env, name, '');
}

/** A month with any pay frequency has elections, and an endpoint that the provider disabled is reported to nobody here. */
function readSilence(env: Environment): number | null {
  const name = 'EVENTS_SILENT_AFTER';
  return given(env, name) === 'off' ? null : duration(env, name, '35d');
}

/** The times after which readiness reports a census sync or the lack of events. */
export type ReadinessLimits = { readonly overdueMs: number; readonly silentAfterMs: number | null };

export function readReadinessLimits(env: Environment): ReadinessLimits {
  return { overdueMs: readCensus(env).overdueMs, silentAfterMs: readSilence(env) };
}

export function readRetention(env: Environment): RetentionConfig {
  return Object.freeze({
    eventsMs: kept(env, 'RETENTION_EVENTS'),
    requestsMs: kept(env, 'RETENTION_REQUESTS'),
  });
}

export function readAuditHeads(env: Environment): AuditHeads {
  const name = 'AUDIT_HEADS';
  const text = given(env, name) ?? 'log';
  if (text === 'log' || text === 'off') return Object.freeze({ to: text });
  if (/^file:./.test(text)) return Object.freeze({ to: 'file', path: text.slice('file:'.length) });
  throw configError(name, 'must be log, off, or file:PATH, such as file:/var/log/audit-heads.ndjson');
}

function kept(env: Environment, name: string): number | null {
  const ms = optionalDuration(env, name);
  if (ms !== null && ms < RETENTION_LEAST_MS) throw configError(name, 'must be at least 2d; such as 400d');
  return ms;
}

function censusSource(env: Environment): CensusSource {
  const name = 'CENSUS_SOURCE';
  const text = given(env, name) ?? 'push';
  if (text === 'push') return { kind: 'push' };
  if (/^dir:./.test(text)) return { kind: 'dir', path: text.slice('dir:'.length) };
  const url = address(text.replaceAll('{employer_id}', '1'));
  // Events contain the id, so it may appear in the path but never choose the host that receives the token.
  const second = address(text.replaceAll('{employer_id}', '2'));
  const isPlaced = text.includes('{employer_id}') && url?.origin === second?.origin;
  if (isPlaced && url !== null) return { kind: 'http', url: encrypted(env, name, text) };
  throw configError(
    name,
    'must be push, dir:PATH, or an http(s):// address without user or fragment whose path or query contains {employer_id}',
  );
}

function baseUrl(env: Environment): string {
  const name = 'BENEFITS_BASE_URL';
  const text = required(name, given(env, name));
  if (address(text) === null || text.includes('?')) {
    throw configError(name, 'must be an http:// or https:// address without user, query or fragment');
  }
  return encrypted(env, name, text).replace(/(?<!\/)\/+$/, '');
}

export function plainHttpVariables({ benefits, census: { source }, notify }: Config): string[] {
  return [
    ...(isPlainHttp(benefits.baseUrl) ? ['BENEFITS_BASE_URL'] : []),
    ...(source.kind === 'http' && isPlainHttp(source.url) ? ['CENSUS_SOURCE'] : []),
    ...(notify !== null && isPlainHttp(notify.url) ? ['NOTIFY_URL'] : []),
  ];
}

function apiToken(env: Environment): string | null {
  const token = secret(env, 'API_TOKEN');
  if (token === undefined) return null;
  if (token.length < API_TOKEN_LENGTH) {
    throw configError('API_TOKEN', `must have at least ${API_TOKEN_LENGTH} characters`);
  }
  return bearer('API_TOKEN', token);
}

/** Addresses such as 10.0.0.1 and networks such as 10.0.0.0/8. One of all addresses would believe every client. */
function proxiesOf(env: Environment, name: string): string[] {
  const proxies = given(env, name)?.split(/\s+/).filter(Boolean) ?? [];
  for (const [index, text] of proxies.entries()) {
    const [, address = '', bits = null] = /^([^/]+)(?:\/(\d{1,3}))?$/.exec(text) ?? [];
    const most = { 0: 0, 4: 32, 6: 128 }[isIP(address)] ?? 0;
    if (most > 0 && (bits === null || (Number(bits) > 0 && Number(bits) <= most))) continue;
    throw configError(
      name,
      `entry ${index + 1} must be an IP address or a network, such as 10.0.0.1 or 10.1.0.0/16`,
    );
  }
  return proxies;
}

function listener(env: Environment, prefix: 'RECEIVER' | 'API', host: string, port: number): Listener {
  const name = `${prefix}_PORT`;
  const text = given(env, name) ?? String(port);
  if (!/^\d{1,5}$/.test(text) || Number(text) > 65_535) {
    const service = prefix.toLowerCase();
    const cause = `: Kubernetes sets this variable in every Pod next to a Service called "${service}". Set enableServiceLinks: false in the Pod, or ${name} to a port`;
    throw configError(name, `must be a port, 0 to 65535${/^[a-z]+:\/\//.test(text) ? cause : ''}`);
  }
  return Object.freeze({ host: given(env, `${prefix}_HOST`) ?? host, port: Number(text) });
}
