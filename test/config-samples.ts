/** A valid configuration, in which tests break one variable at a time. */
import type { Test } from 'tap';
import { readConfig } from '../src/config.ts';

export type Variables = Record<string, string>;

/** Part of every malformed secret. No message may contain it. */
export const CANARY = 'canary-7f3a9c';
export const webhookSecret = (bytes: number) => `whsec_${Buffer.alloc(bytes, 7).toString('base64')}`;
export const dataKey = (id: string, bytes = 32) => `${id}:${Buffer.alloc(bytes, 9).toString('base64')}`;
export const FIRST_TOKEN = 'first-token-of-a-container-0123456789';

/** The minimal configuration. */
export const REQUIRED: Variables = {
  BENEFITS_ENVIRONMENT: 'sandbox',
  BENEFITS_BASE_URL: 'https://benefits.example/api',
  BENEFITS_API_KEY: 'api-key-1',
  WEBHOOK_SECRETS: webhookSecret(24),
  DATA_KEYS: dataKey('k1'),
};

/** Every variable that reading the configuration uses. */
export function variables(): Set<string> {
  const asked = new Set<string>();
  const get = (given: Variables, name: string) => {
    // The names of proxies may also be in lower case.
    if (!/^[a-z]/.test(name)) asked.add(name);
    return given[name];
  };
  readConfig(new Proxy(REQUIRED, { get }));
  return asked;
}

/** Asserts that reading throws one line that names the variable and contains no secret. */
export function refused(t: Test, variables: Variables, variable: string, problem: RegExp, name: string) {
  let error: unknown;
  try {
    readConfig({ ...REQUIRED, ...variables });
  } catch (thrown) {
    error = thrown;
  }
  const expected = { code: 'CONFIG', subject: variable, message: problem };
  t.match(error, expected, `${variable}: ${name}`);
  const message = (error as Error | undefined)?.message ?? '';
  t.match(message, new RegExp(`^${variable} `), 'it begins with the name of the variable');
  t.notMatch(message, '\n', 'it is one line');
  t.notMatch(message, CANARY, 'it shows no value');
}
