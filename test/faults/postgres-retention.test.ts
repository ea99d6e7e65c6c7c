/** The tests of retention once more, on PostgreSQL. */
import { usePostgres } from '../support/engine.ts';

usePostgres();
await import('../operations/retention.test.ts');
