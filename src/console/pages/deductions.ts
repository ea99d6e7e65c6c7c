/** What is true: deductions, their versions, and employees. */
import type { FastifyInstance } from 'fastify';
import type { ConsoleParts } from '../parts.ts';
import { deductionPages } from './deductions/deduction.ts';
import { employeePages } from './deductions/employee.ts';
import { findPages } from './deductions/find.ts';
import { ledgerListPages } from './deductions/list.ts';

export function ledgerPages(app: FastifyInstance, parts: ConsoleParts): void {
  ledgerListPages(app, parts);
  findPages(app, parts);
  deductionPages(app, parts);
  employeePages(app, parts);
}
