/** Repeats the tests of the payroll routes on PostgreSQL. */
import { usePostgres } from '../support/engine.ts';

usePostgres();
await import('../api/payroll-bad-input.test.ts');
await import('../api/payroll-files.test.ts');
await import('../api/payroll-finalize.test.ts');
await import('../api/payroll-lines.test.ts');
await import('../api/payroll-rows.test.ts');
await import('../api/payroll-runs.test.ts');
await import('../api/payroll-settings.test.ts');
await import('../api/payroll-walkthrough.test.ts');
