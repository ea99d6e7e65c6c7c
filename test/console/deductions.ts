/** Deductions for tests, and the table that shows them. */
import type { Db } from '../../src/database/tables.ts';
import { deductionOf, deliver } from '../api/deliver.ts';
import { cells } from './runs-stage.ts';
import type { Page } from './stage.ts';

/** Delivers a version of a deduction, sent and recorded at `at`. */
export const put = (
  db: Db,
  id: string,
  employee_id: string,
  fields: object = {},
  at = '2026-01-10T00:00:00Z',
) =>
  deliver(db, [deductionOf(`evt-${id}-${at}`, { id, employee_id, ...fields }, at)], at.replace('Z', '.000Z'));

/** Returns the ids on the ledger's page. */
export const listed = async (page: Page) =>
  (await cells(page, 'Deductions by employee')).map((row) => row.at(-1));
