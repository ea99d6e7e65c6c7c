/** Checks of the configuration. */
import { statSync } from 'node:fs';
import { type Config, plainHttpVariables, readConfig, readListeners, requiredApiKey } from '../../config.ts';
import { type Environment, given, SECRET_FILE_RULE } from '../../environment.ts';
import { isAppError } from '../../errors.ts';
import { assertTypes } from '../../notifications/types.ts';
import { assertRoles } from '../../security/claims.ts';
import { isSecret, VARIABLE_NAMES, VARIABLES, type VariableName } from '../../variables.ts';
import { type Finding, fail, pass, type Verdict, warn } from './finding.ts';

/** Checks that Node verifies the certificates of HTTPS servers. Only the value `0` turns verification off. */
export function checkCertificates(env: Environment): Verdict {
  if (env.NODE_TLS_REJECT_UNAUTHORIZED !== '0') return pass('certificates of HTTPS servers are verified');
  const report = given(env, 'BENEFITS_ENVIRONMENT') === 'live' ? fail : warn;
  return report(
    'NODE_TLS_REJECT_UNAUTHORIZED=0: any server can pose as the benefits service',
    'Unset it. To trust a private certificate authority, set NODE_EXTRA_CA_CERTS to its file.',
  );
}

/** Checks each variable on its own, so that all problems are reported at once. Prints no secret. A pilot needs no API key. */
export function checkConfiguration(env: Environment, needsKey: boolean): Finding[] {
  return VARIABLE_NAMES.map((name) => {
    try {
      return { id: `configuration.${name}`, ...checkVariable(name, env, needsKey) };
    } catch (error) {
      if (!isAppError(error, 'CONFIG')) throw error;
      const malformed = fail(error.message, VARIABLES[name].meaning.replaceAll('`', ''));
      return { id: `configuration.${name}`, ...malformed };
    }
  });
}

function checkVariable(name: VariableName, env: Environment, needsKey: boolean): Verdict {
  const config = readAlone(name, env);
  if (name === 'BENEFITS_API_KEY' && needsKey) requiredApiKey(config.benefits);
  const value = shown(name, env);
  if (name === 'API_PORT') assertApart(env);
  if (name === 'OIDC_ROLES' && config.signIn.provider !== null) assertRoles(config.signIn.provider);
  if (name === 'NOTIFY_TYPES' && config.notify !== null) assertTypes(config.notify);
  if (name === 'API_HOST' && !/^(localhost|::1|127\..*)$/.test(config.api.host)) {
    return warn(
      `${value}: other machines can reach the private API`,
      'Put a proxy with TLS and your own sign-on in front of it (docs/getting-started.md#the-console), or set it to 127.0.0.1.',
    );
  }
  if (plainHttpVariables(config).includes(name)) {
    return warn(
      `${value}: keys and personal data cross the network unencrypted`,
      'Use an https:// address. BENEFITS_ENVIRONMENT=live requires one.',
    );
  }
  // Other programs accept ranges and patterns in NO_PROXY.
  const ranges =
    name === 'NO_PROXY' ? config.proxy.except.split(/[,\s]+/).filter((entry) => NO_HOST.test(entry)) : [];
  if (ranges.length > 0) {
    return warn(
      `${value}: no host has the name ${ranges.join(', ')}`,
      'Name hosts, domains or single addresses: ranges and patterns count for none of them.',
    );
  }
  const file = given(env, `${name}_FILE`);
  // Group permissions are left to the operator. Windows does not set these bits.
  const isOpenToAll =
    file !== undefined && process.platform !== 'win32' && (statSync(file).mode & 0o006) !== 0;
  if (!isOpenToAll) return pass(value);
  return warn(
    `${value} that every user of this machine can read or change`,
    `Close it to others: ${SECRET_FILE_RULE} (docs/security.md#files-with-secrets).`,
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

/** Every name that is read, with NAME_FILE of secrets. */
export const KNOWN_NAMES: readonly string[] = VARIABLE_NAMES.flatMap((name) =>
  isSecret(name) ? [name, `${name}_FILE`] : [name],
);

/** Well-formed values for the other variables when one variable is read on its own. */
const STAND_INS: Environment = {
  BENEFITS_BASE_URL: 'http://127.0.0.1',
  BENEFITS_API_KEY: 'stand-in',
  WEBHOOK_SECRETS: `whsec_${Buffer.alloc(32).toString('base64')}`,
  DATA_KEYS: `stand-in:${Buffer.alloc(32).toString('base64')}`,
  RECEIVER_PORT: '0',
  API_PORT: '0',
};
const NOTIFY_STAND_INS: Environment = {
  NOTIFY_URL: 'http://127.0.0.1',
  NOTIFY_SECRETS: STAND_INS.WEBHOOK_SECRETS,
};
const PROVIDER_STAND_INS: Environment = {
  CONSOLE_URL: 'http://127.0.0.1',
  OIDC_ISSUER: 'https://provider.example',
  OIDC_CLIENT_ID: 'stand-in',
  OIDC_ROLES: 'stand-in=auditor',
};

/** Returns the configuration with one variable set. Addresses depend on the environment, so live stays live. */
function readAlone(name: VariableName, env: Environment): Config {
  const file = `${name}_FILE`;
  const environment = given(env, 'BENEFITS_ENVIRONMENT') === 'live' ? 'live' : 'sandbox';
  const ofProvider = given(env, 'OIDC_ISSUER') === undefined ? {} : PROVIDER_STAND_INS;
  const ofNotifications = given(env, 'NOTIFY_URL') === undefined ? {} : NOTIFY_STAND_INS;
  const standIns = { ...STAND_INS, ...ofProvider, ...ofNotifications, BENEFITS_ENVIRONMENT: environment };
  // The names of proxies may be in lower case.
  const lower = name.toLowerCase();
  return readConfig({ ...standIns, [name]: env[name], [lower]: env[lower], [file]: env[file] });
}

/** Returns the value of a variable, unless it is a secret or may contain one: addresses of webhooks often have a token. */
function shown(name: VariableName, env: Environment): string {
  if (given(env, `${name}_FILE`) !== undefined) return 'from a file';
  const value = given(env, name) ?? (name.endsWith('_PROXY') ? given(env, name.toLowerCase()) : undefined);
  if (value === undefined) return 'not set';
  return isSecret(name) || /^(?:HTTPS?_PROXY|NOTIFY_URL)$/.test(name) ? 'set' : value;
}

/** Prefixes that only this program uses. `API_`, `DATABASE_`, `DATA_` and `LOG_` are common elsewhere. */
const PREFIXES = [
  'BENEFITS_',
  'CENSUS_',
  'EVENTS_',
  'NOTIFY_',
  'OIDC_',
  'RECEIVER_',
  'RETENTION_',
  'WEBHOOK_',
];
/**
 * Warns about variables with one of our prefixes that are never read. Values are not shown: they may be secrets.
 * Kubernetes sets `BENEFITS_SIDECAR_…` for a Service named benefits-sidecar.
 */
export function checkUnknown(env: Environment): Verdict {
  const unknown = Object.keys(env).filter(
    (name) =>
      given(env, name) !== undefined &&
      !KNOWN_NAMES.includes(name) &&
      !name.startsWith('BENEFITS_SIDECAR_') &&
      PREFIXES.some((prefix) => name.toUpperCase().startsWith(prefix)),
  );
  if (unknown.length === 0) return pass('no unknown BENEFITS_*, CENSUS_* or similar variables');
  const advice = 'Correct the name, or ignore this if another program uses the variable.';
  return warn(`unknown variables: ${unknown.join(', ')}`, advice);
}
