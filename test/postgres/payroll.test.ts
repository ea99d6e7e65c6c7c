/** Rules of payroll runs that are kept in SQL, on PostgreSQL. */
import { usePostgres } from '../support/engine.ts';

usePostgres();
await import('../payroll/policy.test.ts');
await import('../payroll/finalize.test.ts');
await import('../payroll/runs-arrears.test.ts');
await import('../payroll/run-readiness.test.ts');
await import('../api/payroll-finalize.test.ts');
await import('../api/payroll-settings.test.ts');
