/** Repeats the tests of the payroll commands on PostgreSQL. */
import { usePostgres } from '../support/engine.ts';

usePostgres();
await import('../cli/run.test.ts');
await import('../cli/import.test.ts');
await import('../cli/payroll-settings.test.ts');
