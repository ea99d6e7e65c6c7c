import { ENCRYPTED_CHUNKS } from '../census/chunks.ts';
import { ENCRYPTED_REQUESTS } from '../outbox/queue.ts';
import { HASH_KEY } from '../security/hashing.ts';

/** Everything that is sealed in a database; the hash key first, which everything else can be done without. */
export const ENCRYPTED_COLUMNS = [HASH_KEY, ...ENCRYPTED_REQUESTS, ENCRYPTED_CHUNKS] as const;
