/** The payroll rules end to end, on SQLite. */
import { payrollRules } from './payroll-rules.ts';

payrollRules();
