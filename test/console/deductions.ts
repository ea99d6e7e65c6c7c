/** Deductions as tests put them, and pages as they read them. */
import type { Db } from '../../src/database/tables.ts';
import { deductionOf, deliver } from '../api/deliver.ts';
import type { Page } from './stage.ts';

/** A deduction of an id that says when it was sent and recorded, and what is other than in the sample. */
export const put = (
  db: Db,
  id: string,
  employee_id: string,
  fields: object = {},
  at = '2026-01-10T00:00:00Z',
) =>
  deliver(db, [deductionOf(`evt-${id}-${at}`, { id, employee_id, ...fields }, at)], at.replace('Z', '.000Z'));

/** The cells of a table, row by row. */
export const cells = (page: Page, caption: string) =>
  page
    .getByRole('table', { name: caption })
    .locator('tbody tr')
    .evaluateAll((rows) => rows.map((row) => [...row.children].map((cell) => cell.textContent ?? '')));
/** The ids of the ledger's page. */
export const listed = async (page: Page) => (await cells(page, 'Deductions by employee')).map(([id]) => id);
