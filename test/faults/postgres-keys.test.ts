/** Repeats the tests of hashes and key rotation on PostgreSQL. */
import { usePostgres } from '../support/engine.ts';

usePostgres();
await import('../security/hashing.test.ts');
await import('../security/rotation.test.ts');
