import { SEALED_CHUNKS } from '../census/chunks.ts';
import { SEALED_REQUESTS } from '../outbox/queue.ts';
import { HASH_KEY } from '../security/hashing.ts';

/** Everything that is sealed in a database; the hash key first, which everything else can be done without. */
export const SEALED = [HASH_KEY, ...SEALED_REQUESTS, SEALED_CHUNKS] as const;
