/** Idempotency keys, as payroll gives them. Pure. */
import type { Problem } from '../contract/check.ts';

/** The longest key: twice a UUID's length and more. Longer ones are mistakes, such as a whole body. */
export const KEY_MAX_CHARACTERS = 255;

const KEY = new RegExp(`^[!-~]{1,${KEY_MAX_CHARACTERS}}$`);

/** What is wrong with a key that came at `path` (a header, or a field of a batch), or null. */
export function keyProblem(path: string, key: unknown): Problem | null {
  if (typeof key === 'string' && KEY.test(key)) return null;
  const rule = `must be 1 to ${KEY_MAX_CHARACTERS} visible ASCII characters, without spaces`;
  return { path, rule };
}
