/** Repeats the tests of the payroll rules that use SQL on PostgreSQL. */
import { usePostgres } from '../support/engine.ts';

usePostgres();
await import('../payroll/finalize.test.ts');
await import('../payroll/finalize-readiness.test.ts');
await import('../payroll/policy.test.ts');
await import('../payroll/run-readiness.test.ts');
await import('../payroll/runs-arrears.test.ts');
await import('../payroll/settings.test.ts');
await import('../payroll/taken.test.ts');
