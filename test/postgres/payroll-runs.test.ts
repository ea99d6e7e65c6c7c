/** The tests of payroll runs once more, on PostgreSQL. */
import { usePostgres } from '../support/engine.ts';

usePostgres();
await import('../payroll/population.test.ts');
await import('../payroll/changes.test.ts');
await import('../payroll/adjustments.test.ts');
await import('../payroll/runs.test.ts');
await import('../payroll/runs-arrears.test.ts');
await import('../payroll/finalize.test.ts');
await import('../payroll/verify.test.ts');
await import('../payroll/model.test.ts');
