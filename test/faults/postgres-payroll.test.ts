/** The tests of payroll's settings and reports once more, on PostgreSQL; its routes are run there with test/faults. */
import { usePostgres } from '../support/engine.ts';

usePostgres();
await import('../payroll/finalize-gate.test.ts');
await import('../payroll/run-readiness.test.ts');
await import('../payroll/settings.test.ts');
await import('../payroll/taken.test.ts');
