import type { BenefitsConfig, Config } from '../../config.ts';
import { type Finding, pass, warn } from './finding.ts';

type Environment = Config['environment'];

/** Words that people put into hosts and keys to tell environments apart. The interface shows none. */
const WORDS: Readonly<Record<string, Environment>> = {
  sandbox: 'sandbox',
  sbx: 'sandbox',
  test: 'sandbox',
  testing: 'sandbox',
  staging: 'sandbox',
  demo: 'sandbox',
  dev: 'sandbox',
  live: 'live',
  prod: 'live',
  production: 'live',
};

/**
 * Whether the address and the key look like those of BENEFITS_ENVIRONMENT. A guess by words: it warns and never fails.
 * The service itself can't tell before something is sent, and then it may be the wrong one's. The key is not told.
 */
export function checkEnvironment(
  environment: Environment,
  { baseUrl, apiKey }: Pick<BenefitsConfig, 'baseUrl' | 'apiKey'>,
): Finding {
  const { host, pathname } = new URL(baseUrl);
  const looks = { BENEFITS_BASE_URL: lookOf(host + pathname), BENEFITS_API_KEY: lookOfKey(apiKey) };
  const odd = Object.entries(looks).filter(([, look]) => look !== null && look !== environment);
  const id = 'environment';
  if (odd.length === 0) return pass(id, `nothing in the address or the key speaks against ${environment}`);
  const names = odd.map(([name]) => name).join(' and ');
  return warn(
    id,
    `BENEFITS_ENVIRONMENT is ${environment}, but ${names} ${odd.length === 1 ? 'looks' : 'look'} like ${odd[0]?.[1]}`,
    'Each environment has an address, a key, webhook secrets and a database of its own: see docs/environments.md.',
  );
}

/** What the words of an address say; null when they say nothing, or both. */
function lookOf(text: string): Environment | null {
  return agreed(text.toLowerCase().split(/[^a-z]+/));
}

/**
 * What a key's prefix says: the words before its random part, as in `sk_live_…`. A random part may spell anything, so
 * only whole words set apart by `_`, `-` or `.` count, and never the last.
 */
function lookOfKey(key: string): Environment | null {
  return agreed(key.toLowerCase().split(/[_.-]/).slice(0, -1).slice(0, PREFIX_WORDS));
}

/** `sk_live_`, `benefits_sandbox_key_`: no prefix has more. */
const PREFIX_WORDS = 3;

function agreed(words: readonly string[]): Environment | null {
  const said = new Set(words.flatMap((word) => (Object.hasOwn(WORDS, word) ? (WORDS[word] ?? []) : [])));
  const [only] = said;
  return said.size === 1 && only !== undefined ? only : null;
}
