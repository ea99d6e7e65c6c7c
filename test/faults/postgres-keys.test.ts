/** The tests of hashes and of rotating data keys once more, on PostgreSQL. */
import { usePostgres } from '../support/engine.ts';

usePostgres();
await import('../security/hashing.test.ts');
await import('../security/rotation.test.ts');
