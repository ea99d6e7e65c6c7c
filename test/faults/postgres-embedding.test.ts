/** The tests of embedding once more, on PostgreSQL. */
import { usePostgres } from '../support/engine.ts';

usePostgres();
await import('../embedding.test.ts');
