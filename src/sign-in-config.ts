/** Reads how people sign in at the console: with a token, an OpenID Connect provider, or both. */
import {
  address,
  bearer,
  configError,
  type Environment,
  given,
  isPlainHttp,
  oneOf,
  required,
  secret,
} from './environment.ts';

export type SignInConfig = {
  /** Whether a token opens a console session. */
  readonly withToken: boolean;
  readonly provider: ProviderConfig | null;
  /** Browsers open the console by https, as `CONSOLE_URL` states. */
  readonly isHttps: boolean;
};

export type ProviderConfig = {
  /** Exactly as the provider spells it. */
  readonly issuer: string;
  readonly clientId: string;
  /** Null for a public client, which PKCE alone protects. */
  readonly clientSecret: string | null;
  readonly scopes: string;
  /** The origin at which browsers open the console. */
  readonly consoleUrl: string;
  readonly roleClaim: string;
  /** From a value of the role claim to the names of roles. */
  readonly roles: ReadonlyMap<string, readonly string[]>;
  /** The claim that lists a person's employers. Null: every person may see all of them. */
  readonly employerClaim: string | null;
};

/** The path to which the provider sends the browser back, registered there with the origin of `CONSOLE_URL`. */
export const CALLBACK_PATH = '/sign-in/callback';

/** Maximum length of the issuer, the client ID, a claim's name, and all scopes. Providers use fewer than 100 characters. */
const NAME_MAX_CHARACTERS = 255;
/** Maximum number of entries in OIDC_ROLES; an organization has a handful of groups for payroll. */
const ROLE_ENTRIES_MAX = 100;

const OF_PROVIDER = [
  'OIDC_CLIENT_ID',
  'OIDC_CLIENT_SECRET',
  'OIDC_CLIENT_SECRET_FILE',
  'OIDC_SCOPES',
  'OIDC_ROLE_CLAIM',
  'OIDC_ROLES',
  'OIDC_EMPLOYER_CLAIM',
];

export function readSignIn(env: Environment): SignInConfig {
  const provider = readProvider(env);
  const withToken = oneOf(env, 'CONSOLE_TOKEN_SIGN_IN', ['on', 'off'], 'on') === 'on';
  if (!withToken && provider === null) {
    throw configError('CONSOLE_TOKEN_SIGN_IN', 'can be off only if OIDC_ISSUER is set');
  }
  const isHttps = readConsoleUrl(env)?.startsWith('https:') === true;
  return Object.freeze({ withToken, provider, isHttps });
}

function readProvider(env: Environment): ProviderConfig | null {
  const consoleUrl = readConsoleUrl(env);
  const issuer = given(env, 'OIDC_ISSUER');
  if (issuer === undefined) {
    const orphan = OF_PROVIDER.find((name) => given(env, name) !== undefined);
    if (orphan === undefined) return null;
    throw configError('OIDC_ISSUER', `is not set, although ${orphan} is`);
  }
  const clientSecret = secret(env, 'OIDC_CLIENT_SECRET');
  return Object.freeze({
    issuer: issuerOf(env, issuer),
    clientId: nameOf('OIDC_CLIENT_ID', required('OIDC_CLIENT_ID', given(env, 'OIDC_CLIENT_ID'))),
    clientSecret: clientSecret === undefined ? null : bearer('OIDC_CLIENT_SECRET', clientSecret),
    scopes: scopesOf(given(env, 'OIDC_SCOPES') ?? 'openid profile'),
    consoleUrl: required('CONSOLE_URL', consoleUrl),
    roleClaim: nameOf('OIDC_ROLE_CLAIM', given(env, 'OIDC_ROLE_CLAIM') ?? 'groups'),
    roles: rolesOf(required('OIDC_ROLES', given(env, 'OIDC_ROLES'))),
    employerClaim: employerClaim(env),
  });
}

/** The issuer's responses decide who may sign in, so it needs TLS. A sandbox may use a provider on this machine. */
function issuerOf(env: Environment, text: string): string {
  const url = address(text);
  if (url === null || text.includes('?') || text.length > NAME_MAX_CHARACTERS) {
    const rule = `must be an https:// address of at most ${NAME_MAX_CHARACTERS} characters without user, query or fragment`;
    throw configError('OIDC_ISSUER', rule);
  }
  const isLive = given(env, 'BENEFITS_ENVIRONMENT') === 'live';
  if (url.protocol === 'http:' && (isLive || isPlainHttp(text))) {
    throw configError(
      'OIDC_ISSUER',
      'must be an https:// address: http:// is allowed only in the sandbox and to this machine, such as http://127.0.0.1:3000',
    );
  }
  return text;
}

/** The provider sends the browser back to this address, so a plain one must not leave the browser's machine. */
function readConsoleUrl(env: Environment): string | undefined {
  const name = 'CONSOLE_URL';
  const text = given(env, name);
  if (text === undefined) return undefined;
  const url = address(text);
  if (url === null || !/^https?:\/\/[^/?#]+\/?$/.test(text)) {
    throw configError(name, 'must be an address without a path, such as https://sidecar.example.com');
  }
  if (isPlainHttp(text)) {
    throw configError(name, 'must be an https:// address: http:// is allowed only to this machine');
  }
  return url.origin;
}

function employerClaim(env: Environment): string | null {
  const text = given(env, 'OIDC_EMPLOYER_CLAIM');
  return text === undefined ? null : nameOf('OIDC_EMPLOYER_CLAIM', text);
}

function nameOf(variable: string, text: string): string {
  if (text.length <= NAME_MAX_CHARACTERS && /^[\x21-\x7e]+$/.test(text)) return text;
  const rule = `must have at most ${NAME_MAX_CHARACTERS} printable ASCII characters without spaces`;
  throw configError(variable, rule);
}

function scopesOf(text: string): string {
  const scopes = text.split(/\s+/);
  const joined = scopes.join(' ');
  if (scopes.includes('openid') && joined.length <= NAME_MAX_CHARACTERS && /^[\x20-\x7e]+$/.test(joined)) {
    return joined;
  }
  throw configError('OIDC_SCOPES', 'must be scopes separated by spaces and include openid');
}

/** Reads `VALUE=ROLE` entries, separated by semicolons. A value may contain spaces, commas and equals signs. */
function rolesOf(text: string): ReadonlyMap<string, readonly string[]> {
  const roles = new Map<string, string[]>();
  const entries = text.split(';').filter((entry) => entry.trim() !== '');
  for (const [index, entry] of entries.entries()) {
    const equals = entry.lastIndexOf('=');
    const [value, role] = [entry.slice(0, Math.max(equals, 0)).trim(), entry.slice(equals + 1).trim()];
    if (value === '' || value.length > NAME_MAX_CHARACTERS || !/^[a-z-]+$/.test(role)) {
      throw configError(
        'OIDC_ROLES',
        `entry ${index + 1} must be a value of the claim, an equals sign and a role, such as payroll-leads=payroll-manager`,
      );
    }
    roles.set(value, [...(roles.get(value) ?? []), role]);
  }
  if (roles.size > 0 && entries.length <= ROLE_ENTRIES_MAX) return Object.freeze(roles);
  throw configError('OIDC_ROLES', `must have 1 to ${ROLE_ENTRIES_MAX} entries separated by semicolons`);
}
