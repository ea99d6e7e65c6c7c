/** Repeats the tests of the database module on PostgreSQL. */
import { usePostgres } from '../support/engine.ts';

usePostgres();
await import('../database/bulk.test.ts');
await import('../database/transaction.test.ts');
await import('../database/migrate.test.ts');
