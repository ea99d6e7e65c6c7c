import { ConfigError, readConfig } from '../../config.ts';
import { type Environment, given } from '../../environment.ts';
import { type Finding, fail, pass } from './finding.ts';

/** Every variable of the configuration; all may come from NAME_FILE where they are secrets. */
const VARIABLES = [
  ...['BENEFITS_ENVIRONMENT', 'BENEFITS_BASE_URL', 'BENEFITS_API_KEY', 'WEBHOOK_SECRETS', 'DATA_KEYS'],
  ...['DATABASE_URL', 'RECEIVER_HOST', 'RECEIVER_PORT', 'API_HOST', 'API_PORT', 'API_TOKEN'],
  ...['CENSUS_SOURCE', 'CENSUS_SOURCE_TOKEN', 'CENSUS_MAX_AGE', 'CENSUS_OVERDUE', 'LOG_LEVEL'],
];

/** Well-formed, and used for nothing but to read one variable beside others that can't be what is wrong. */
const STAND_INS: Environment = {
  BENEFITS_ENVIRONMENT: 'sandbox',
  BENEFITS_BASE_URL: 'http://127.0.0.1',
  BENEFITS_API_KEY: 'stand-in',
  WEBHOOK_SECRETS: `whsec_${Buffer.alloc(32).toString('base64')}`,
  DATA_KEYS: `stand-in:${Buffer.alloc(32).toString('base64')}`,
};

/** Each variable by itself, so that all that is wrong is told at once. No value is told. */
export function checkConfiguration(env: Environment): Finding[] {
  return VARIABLES.map((name) => {
    const id = `configuration.${name}`;
    const file = `${name}_FILE`;
    try {
      readConfig({ ...STAND_INS, [name]: env[name], [file]: env[file] });
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      return fail(id, error.message, 'Set it as the README describes under "Configuration".');
    }
    if (given(env, name) !== undefined) return pass(id, 'set');
    return pass(id, given(env, file) === undefined ? 'not set: the default holds' : 'set by its file');
  });
}
