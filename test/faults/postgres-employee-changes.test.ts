/** Repeats the tests of listing and acting on employment changes on PostgreSQL. */
import { usePostgres } from '../support/engine.ts';

usePostgres();
await import('../employment/changes.test.ts');
await import('../api/employee-change-work.test.ts');
await import('../api/employees.test.ts');
await import('../api/pii-reads.test.ts');
