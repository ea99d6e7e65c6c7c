/** Repeats the comparison of payroll runs with their model on PostgreSQL: minutes of random worlds. */
import { usePostgres } from '../support/engine.ts';

usePostgres();
await import('../payroll/model.test.ts');
