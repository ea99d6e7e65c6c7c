import { Employee } from '../contract/employee.ts';
import type { RowKind } from '../reading/columns.ts';

/** The columns of a census in CSV: those of an employee, and our own `pay_group`. docs/census.md lists them. */
export const CENSUS_ROWS: RowKind = { schema: Employee, more: ['pay_group'], what: 'a census' };
