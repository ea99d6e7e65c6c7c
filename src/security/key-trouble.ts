import { DataKeyMissing, SealBroken } from './encryption.ts';
import { HashKeyGone } from './hashing.ts';

/**
 * What an error says of keys and of what they seal, for people, answers and logs: it names a key id or a place and
 * nothing of a value. Null for every other error, whose message may hold anything.
 */
export function keyTrouble(error: unknown): string | null {
  const known = [DataKeyMissing, SealBroken, HashKeyGone].some((kind) => error instanceof kind);
  return known ? (error as Error).message : null;
}
