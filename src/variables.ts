/** The environment variables and their meanings, for `doctor` and the docs. `config.ts` reads them. */

export type Variable = {
  /** Also read from the file that NAME_FILE names, and never shown. */
  readonly isSecret?: true;
  /** What holds without it, as text. */
  readonly default: string;
  readonly meaning: string;
};

export const VARIABLES = {
  BENEFITS_ENVIRONMENT: {
    default: 'required',
    meaning: '`sandbox` or `live`. A database belongs to one of them permanently.',
  },
  BENEFITS_BASE_URL: {
    default: 'required',
    meaning: 'The base address of the benefits service. Live requires `https://`.',
  },
  BENEFITS_API_KEY: {
    isSecret: true,
    default: 'required, except in a pilot',
    meaning: 'The key for the benefits service, sent as a bearer token.',
  },
  SENDING: {
    default: '`on`',
    meaning:
      '`off`: the first start begins a pilot, in which nothing is sent to the benefits service. The database stores the pilot, and only `sending on` ends it.',
  },
  HTTPS_PROXY: {
    default: 'none',
    meaning:
      'The proxy for `https://` addresses of the service, the census source and the sign-in provider. HTTP_PROXY if it is not set. The name in lower case comes first.',
  },
  HTTP_PROXY: {
    default: 'none',
    meaning: 'The proxy for `http://` addresses. The name in lower case comes first.',
  },
  NO_PROXY: {
    default: 'none',
    meaning:
      'Hosts that need no proxy, separated by commas: `payroll.internal` (with its subdomains), `10.0.0.5:8080`, or `*`. Ranges such as `10.0.0.0/8` are not supported.',
  },
  WEBHOOK_SECRETS: {
    isSecret: true,
    default: 'required',
    meaning: 'One or more `whsec_…`, separated by spaces. Each is accepted.',
  },
  DATA_KEYS: {
    isSecret: true,
    default: 'required',
    meaning:
      'One or more `id:base64-of-32-bytes`, separated by spaces. The first encrypts, all decrypt. `keys generate` prints one.',
  },
  DATABASE_URL: {
    isSecret: true,
    default: '`sqlite:./data/sidecar.db`',
    meaning:
      '`sqlite:` and a path on a local disk, `postgres://user:password@host:5432/database`, or `postgres://user:password@/database?host=/cloudsql/PROJECT:REGION:INSTANCE` for a Unix socket.',
  },
  RECEIVER_HOST: { default: '`0.0.0.0`', meaning: 'The address of the public listener, for webhooks.' },
  RECEIVER_PORT: { default: '`8080`', meaning: 'The port of the public listener.' },
  API_HOST: {
    default: '`127.0.0.1`',
    meaning: 'The address of the private listener, for payroll and people.',
  },
  API_PORT: { default: '`8081`', meaning: 'The port of the private listener.' },
  API_PROXIES: {
    default: 'none',
    meaning:
      'The proxies in front of the private listener: addresses and networks, separated by spaces, such as `127.0.0.1 10.1.0.0/16`. Only their `X-Forwarded-Proto` and `X-Forwarded-For` count.',
  },
  API_TOKEN: {
    isSecret: true,
    default: 'none',
    meaning: 'A first token that may do everything, for containers. At least 32 characters.',
  },
  CONSOLE_TOKEN_SIGN_IN: {
    default: '`on`',
    meaning: '`off`: people sign in at the console through the OpenID Connect provider only.',
  },
  OIDC_ISSUER: { default: 'none', meaning: 'The OpenID Connect provider for signing in at the console.' },
  CONSOLE_URL: {
    default: 'none; required with OIDC_ISSUER',
    meaning:
      'The address at which browsers open the console, such as `https://sidecar.example.com`. With https, cookies are `Secure`.',
  },
  OIDC_CLIENT_ID: {
    default: 'required with OIDC_ISSUER',
    meaning: 'The client that you registered at the provider.',
  },
  OIDC_CLIENT_SECRET: {
    isSecret: true,
    default: 'none',
    meaning: 'The secret of the client. A public client has none.',
  },
  OIDC_SCOPES: {
    default: '`openid profile`',
    meaning: 'The scopes to request. Some providers send groups only for `groups`.',
  },
  OIDC_ROLE_CLAIM: { default: '`groups`', meaning: 'The claim with the roles of a person.' },
  OIDC_ROLES: {
    default: 'required with OIDC_ISSUER',
    meaning: 'The role of each value of that claim: `VALUE=ROLE; VALUE=ROLE`.',
  },
  OIDC_EMPLOYER_CLAIM: {
    default: 'none',
    meaning:
      'The claim with the employer ids of a person: a list of at most 100, or `*`. Without the variable, everyone sees all employers.',
  },
  CENSUS_SOURCE: {
    default: '`push`',
    meaning: 'Where a census comes from: `push`, `dir:PATH`, or an address with `{employer_id}`.',
  },
  CENSUS_SOURCE_TOKEN: { isSecret: true, default: 'none', meaning: 'A bearer token for that address.' },
  CENSUS_MAX_AGE: { default: '`24h`', meaning: 'An older staged census is not uploaded.' },
  CENSUS_OVERDUE: {
    default: '`1h`',
    meaning: 'A sync that is not completed after this time is reported as overdue.',
  },
  NOTIFY_URL: {
    default: 'none: nothing is stored',
    meaning:
      "The address of payroll's receiver of notifications, also on a private network. Live requires `https://`.",
  },
  NOTIFY_SECRETS: {
    isSecret: true,
    default: 'required with NOTIFY_URL',
    meaning: 'One or more `whsec_…`, separated by spaces. Each signs.',
  },
  NOTIFY_TYPES: { default: 'all', meaning: 'The types of notifications to send, separated by spaces.' },
  EVENTS_SILENT_AFTER: {
    default: '`35d`',
    meaning: 'Once deductions are in effect, readiness warns when the last event is older. `off`: never.',
  },
  RETENTION_EVENTS: {
    default: 'none: bodies are kept',
    meaning: 'The age at which event bodies are deleted, such as `400d`.',
  },
  RETENTION_REQUESTS: {
    default: 'none: attempts are kept',
    meaning: 'The age at which attempts of requests are deleted, such as `90d`.',
  },
  TIME_ZONE: {
    default: '`UTC`',
    meaning:
      'The zone whose days are today and the dates of receipt, such as `America/New_York`. The database stores it at the first start.',
  },
  AUDIT_HEADS: {
    default: '`log`',
    meaning: 'Where signed heads of the audit records are kept: `log`, `off`, or `file:PATH`.',
  },
  LOG_LEVEL: { default: '`info`', meaning: '`debug`, `info`, `warn` or `error`.' },
} as const satisfies Readonly<Record<string, Variable>>;
export type VariableName = keyof typeof VARIABLES;

export const VARIABLE_NAMES = Object.keys(VARIABLES) as VariableName[];

export function isSecret(name: VariableName): boolean {
  return 'isSecret' in VARIABLES[name];
}
