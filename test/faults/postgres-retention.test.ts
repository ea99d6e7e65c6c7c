/** Repeats the tests of retention on PostgreSQL. */
import { usePostgres } from '../support/engine.ts';

usePostgres();
await import('../operations/retention.test.ts');
