/** The payroll rules end to end, on PostgreSQL. */
import { payrollRules } from '../end-to-end/payroll-rules.ts';
import { usePostgres } from '../support/engine.ts';

usePostgres();
payrollRules();
