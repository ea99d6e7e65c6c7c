/** Environment -> frozen Config. The only reader of process.env's variables; every secret also as NAME_FILE. */
import { readFileSync } from 'node:fs';

export type Config = {
  readonly environment: 'sandbox' | 'live';
  readonly benefits: BenefitsConfig;
  /** `whsec_…`, each accepted: two while a rotation is under way. */
  readonly webhookSecrets: readonly string[];
  /** The first seals, all open. */
  readonly dataKeys: readonly DataKey[];
  readonly databaseUrl: string;
  readonly receiver: Listener;
  readonly api: Listener & { readonly token: string | null };
  readonly census: CensusConfig;
  readonly logLevel: LogLevel;
};

/** The service's address without a slash at its end. With `apiKeyFile` the key is read again when it is refused. */
export type BenefitsConfig = {
  readonly baseUrl: string;
  readonly apiKey: string;
  readonly apiKeyFile: string | null;
};
export type DataKey = { readonly id: string; readonly key: Uint8Array };
export type Listener = { readonly host: string; readonly port: number };
export type CensusSource =
  | { readonly kind: 'push' }
  | { readonly kind: 'dir'; readonly path: string }
  /** `url` holds `{employer_id}` where the id goes. */
  | { readonly kind: 'http'; readonly url: string };
export type CensusConfig = {
  readonly source: CensusSource;
  readonly token: string | null;
  readonly maxAgeMs: number;
  readonly overdueMs: number;
};
export type LogLevel = (typeof LOG_LEVELS)[number];

type Environment = Readonly<Record<string, string | undefined>>;

const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;
const ENVIRONMENTS = ['sandbox', 'live'] as const;
/** What the delivery provider issues; shorter keys can be guessed (field notes). */
const SECRET_BYTES = { least: 24, most: 64 };
/** AES-256. */
const DATA_KEY_BYTES = 32;
/** 256 random bits in base64 are 43 characters; anything much shorter was made up by a person. */
const API_TOKEN_LENGTH = 32;
const UNIT_MS: Record<string, number> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** A variable is missing or malformed. The message is one line that names it and never holds a secret's value. */
export class ConfigError extends Error {
  readonly code = 'CONFIG';
  readonly variable: string;
  constructor(variable: string, problem: string) {
    super(`${variable} ${problem}`);
    this.variable = variable;
  }
}

/** The whole configuration, as `serve` needs it. Throws `ConfigError` at the first variable that is wrong. */
export function readConfig(env: Environment): Config {
  return Object.freeze({
    environment: readEnvironment(env),
    benefits: readBenefits(env),
    webhookSecrets: readWebhookSecrets(env),
    dataKeys: readDataKeys(env),
    databaseUrl: readDatabaseUrl(env),
    receiver: readReceiver(env),
    api: { ...listener(env, 'API', '127.0.0.1', 8081), token: apiToken(env) },
    census: readCensus(env),
    logLevel: oneOf(env, 'LOG_LEVEL', LOG_LEVELS, 'info'),
  });
}

export function readEnvironment(env: Environment): Config['environment'] {
  return oneOf(env, 'BENEFITS_ENVIRONMENT', ENVIRONMENTS);
}

export function readBenefits(env: Environment): BenefitsConfig {
  const name = 'BENEFITS_API_KEY';
  const apiKey = required(name, secret(env, name));
  if (!/^[\x21-\x7e]+$/.test(apiKey))
    throw new ConfigError(name, 'must be printable characters without spaces');
  return Object.freeze({ baseUrl: baseUrl(env), apiKey, apiKeyFile: env[`${name}_FILE`] ?? null });
}

/** The key to send now: read again from its file, so that a rotated key is taken up without a restart. */
export function currentApiKey(benefits: BenefitsConfig): string {
  return benefits.apiKeyFile === null
    ? benefits.apiKey
    : readSecretFile('BENEFITS_API_KEY', benefits.apiKeyFile);
}

export function readWebhookSecrets(env: Environment): readonly string[] {
  const name = 'WEBHOOK_SECRETS';
  const secrets = required(name, secret(env, name)).split(/\s+/);
  secrets.forEach((text, index) => {
    const key = text.startsWith('whsec_') ? base64(text.slice('whsec_'.length)) : null;
    if (key === null || key.length < SECRET_BYTES.least || key.length > SECRET_BYTES.most) {
      throw new ConfigError(
        name,
        `entry ${index + 1} must be whsec_ and the base64 of ${SECRET_BYTES.least} to ${SECRET_BYTES.most} bytes`,
      );
    }
  });
  return Object.freeze(secrets);
}

export function readDataKeys(env: Environment): readonly DataKey[] {
  const name = 'DATA_KEYS';
  const keys = required(name, secret(env, name))
    .split(/\s+/)
    .map((text, index) => {
      const [, id, encoded] = /^([A-Za-z0-9._-]{1,32}):(.+)$/.exec(text) ?? [];
      const key = encoded === undefined ? null : base64(encoded);
      if (id === undefined || key?.length !== DATA_KEY_BYTES) {
        throw new ConfigError(
          name,
          `entry ${index + 1} must be an id, a colon and the base64 of ${DATA_KEY_BYTES} bytes: "benefits-sidecar keys generate" makes one`,
        );
      }
      return Object.freeze({ id, key });
    });
  const ids = keys.map((key) => key.id);
  const twice = ids.find((id, index) => ids.indexOf(id) !== index);
  if (twice !== undefined) throw new ConfigError(name, `has two keys with the id ${twice}`);
  return Object.freeze(keys);
}

export function readDatabaseUrl(env: Environment): string {
  const url = given(env, 'DATABASE_URL') ?? 'sqlite:./data/sidecar.db';
  if (!/^sqlite:(?!\/\/).+/.test(url)) {
    throw new ConfigError(
      'DATABASE_URL',
      'must be sqlite: and the path of a file, such as sqlite:./data/sidecar.db',
    );
  }
  return url;
}

export function readReceiver(env: Environment): Listener {
  return listener(env, 'RECEIVER', '0.0.0.0', 8080);
}

export function readCensus(env: Environment): CensusConfig {
  return Object.freeze({
    source: censusSource(env),
    token: secret(env, 'CENSUS_SOURCE_TOKEN') ?? null,
    maxAgeMs: duration(env, 'CENSUS_MAX_AGE', '24h'),
    overdueMs: duration(env, 'CENSUS_OVERDUE', '1h'),
  });
}

function censusSource(env: Environment): CensusSource {
  const name = 'CENSUS_SOURCE';
  const text = given(env, name) ?? 'push';
  if (text === 'push') return { kind: 'push' };
  if (/^dir:./.test(text)) return { kind: 'dir', path: text.slice('dir:'.length) };
  if (
    /^https?:\/\//.test(text) &&
    text.includes('{employer_id}') &&
    URL.canParse(text.replaceAll('{employer_id}', '1'))
  ) {
    return { kind: 'http', url: text };
  }
  throw new ConfigError(name, 'must be push, dir:PATH, or an http(s):// address that holds {employer_id}');
}

function baseUrl(env: Environment): string {
  const name = 'BENEFITS_BASE_URL';
  const text = required(name, given(env, name));
  const url = URL.canParse(text) ? new URL(text) : null;
  const plain =
    url !== null && url.username === '' && url.password === '' && url.search === '' && url.hash === '';
  if (!plain || !/^https?:$/.test(url.protocol)) {
    throw new ConfigError(name, 'must be an http:// or https:// address without user, query or fragment');
  }
  return text.replace(/\/+$/, '');
}

function apiToken(env: Environment): string | null {
  const token = secret(env, 'API_TOKEN');
  if (token === undefined) return null;
  if (token.length < API_TOKEN_LENGTH || !/^[\x21-\x7e]+$/.test(token)) {
    throw new ConfigError(
      'API_TOKEN',
      `must be at least ${API_TOKEN_LENGTH} printable characters without spaces`,
    );
  }
  return token;
}

function listener(env: Environment, prefix: 'RECEIVER' | 'API', host: string, port: number): Listener {
  const name = `${prefix}_PORT`;
  const text = given(env, name) ?? String(port);
  if (!/^\d{1,5}$/.test(text) || Number(text) > 65_535)
    throw new ConfigError(name, 'must be a port, 0 to 65535');
  return Object.freeze({ host: given(env, `${prefix}_HOST`) ?? host, port: Number(text) });
}

function duration(env: Environment, name: string, otherwise: string): number {
  const [, count, unit] = /^(\d{1,6})([smhd])$/.exec(given(env, name) ?? otherwise) ?? [];
  if (count === undefined || unit === undefined || Number(count) === 0) {
    throw new ConfigError(name, 'must be a whole number and s, m, h or d, such as 24h');
  }
  return Number(count) * (UNIT_MS[unit] as number);
}

function oneOf<T extends string>(env: Environment, name: string, values: readonly T[], otherwise?: T): T {
  const text = given(env, name) ?? otherwise;
  const value = values.find((candidate) => candidate === text);
  if (value === undefined) {
    throw new ConfigError(
      name,
      `${text === undefined ? 'is not set: it ' : ''}must be one of ${values.join(', ')}`,
    );
  }
  return value;
}

function secret(env: Environment, name: string): string | undefined {
  const file = given(env, `${name}_FILE`);
  const value = given(env, name);
  if (file !== undefined && value !== undefined) {
    throw new ConfigError(name, `and ${name}_FILE are both set: keep one`);
  }
  return file === undefined ? value : readSecretFile(name, file);
}

function readSecretFile(name: string, path: string): string {
  try {
    return readFileSync(path, 'utf8').trim();
  } catch (error) {
    throw new ConfigError(
      `${name}_FILE`,
      `can't be read: ${(error as { code?: string }).code ?? 'unknown error'}`,
    );
  }
}

/** A variable set to nothing counts as not set, as compose files and shells leave it. */
function given(env: Environment, name: string): string | undefined {
  const value = env[name]?.trim();
  return value === '' ? undefined : value;
}

function required(name: string, value: string | undefined): string {
  if (value === undefined || value === '') throw new ConfigError(name, 'is not set');
  return value;
}

/** Strict: Buffer would skip what is not base64 and decode the rest. */
function base64(text: string): Uint8Array | null {
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(text)) return null;
  const bytes = Buffer.from(text, 'base64');
  return bytes.toString('base64').replace(/=+$/, '') === text.replace(/=+$/, '') ? bytes : null;
}
