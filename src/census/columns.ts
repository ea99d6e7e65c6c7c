import { Employee } from '../contract/employee.ts';
import type { RowKind } from '../formats/columns.ts';

/** The columns of a census in CSV: those of an employee, and our own. docs/census.md lists them. */
export const CENSUS_ROWS: RowKind = {
  schema: Employee,
  more: ['pay_group', 'effective_on'],
  what: 'a census',
};
