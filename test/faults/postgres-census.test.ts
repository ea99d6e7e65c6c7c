/** Repeats the tests of censuses on PostgreSQL. */
import { usePostgres } from '../support/engine.ts';

usePostgres();
await import('../census/census-sender.test.ts');
await import('../census/diff.test.ts');
await import('../census/staging.test.ts');
await import('../census/syncs.test.ts');
