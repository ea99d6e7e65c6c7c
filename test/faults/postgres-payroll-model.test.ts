/** Payroll runs against their model once more, on PostgreSQL: minutes of random worlds. */
import { usePostgres } from '../support/engine.ts';

usePostgres();
await import('../payroll/model.test.ts');
