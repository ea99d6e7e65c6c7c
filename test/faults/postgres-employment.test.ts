/** Repeats the tests of employment changes on PostgreSQL. */
import { usePostgres } from '../support/engine.ts';

usePostgres();
await import('../employment/accept.test.ts');
await import('../employment/batch.test.ts');
await import('../api/employee-change-batch.test.ts');
await import('../api/employee-changes.test.ts');
