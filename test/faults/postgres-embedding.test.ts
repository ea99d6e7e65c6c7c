/** Repeats the tests of embedding on PostgreSQL. */
import { usePostgres } from '../support/engine.ts';

usePostgres();
await import('../embedding.test.ts');
