/** The console with an employer whose payroll run passes every check, and helpers for its pages. */

import type { Test } from 'tap';
import { RUNS } from '../api/payroll-stage.ts';
import type { Answer } from '../api/start.ts';
import { bodyOn, NOW, OVERDUE_MS, readyEmployer } from '../support/payroll.ts';
import { follow, openConsole, type Page, type Stage } from './stage.ts';

export type PayrollConsole = Stage & {
  put: (runId: string, payDate: string, fields?: object) => Promise<Answer>;
  finalized: (runId: string, payDate: string, fields?: object) => Promise<void>;
  run: (runId: string) => Promise<Answer['json']>;
};

export async function openPayroll(t: Test): Promise<PayrollConsole> {
  const stage = await openConsole(t, { now: () => NOW, overdueMs: OVERDUE_MS });
  await readyEmployer(t, stage.db);
  const { call } = stage;
  const put: PayrollConsole['put'] = (runId, payDate, fields = {}) =>
    call({ method: 'PUT', url: `${RUNS}/${runId}`, body: bodyOn(payDate, { ...fields }) });
  return {
    ...stage,
    put,
    async finalized(runId, payDate, fields) {
      await put(runId, payDate, fields);
      const { etag } = (await call({ url: `${RUNS}/${runId}` })).headers;
      const headers = { 'if-match': String(etag) };
      const { status, text } = await call({ method: 'POST', url: `${RUNS}/${runId}/finalize`, headers });
      if (status !== 200) throw new Error(text);
    },
    run: async (runId) => (await call({ url: `${RUNS}/${runId}` })).json,
  };
}

/** Opens a page and waits until its parts have loaded. */
export async function open(page: Page, path: string): Promise<void> {
  await page.goto(path);
  await page.locator('[hx-trigger=load]').first().waitFor({ state: 'detached' });
}

/** Opens a run with the lines of all its employees. */
export async function openLines(page: Page, path: string): Promise<void> {
  await open(page, `${path}?all=true`);
  for (const employee of await page.locator('details.employee > summary').all()) {
    await employee.click();
    const loading = page.locator('.lines-of').getByText('Loading the lines').filter({ visible: true });
    await loading.waitFor({ state: 'detached' });
  }
}

export const click = (page: Page, name: string | RegExp) => follow(page, page.getByRole('button', { name }));

/** Unfolds what is under a summary. */
export const unfold = (page: Page, summary: string) =>
  page.locator('summary').getByText(summary, { exact: true }).click();

/** Returns the summaries of the lines shown. */
export const lines = async (page: Page) =>
  (await page.locator('details.line > summary').allInnerTexts()).map((text) =>
    text.replace(/\s+/g, ' ').trim(),
  );

/** Returns the cells of a table by row. */
export const cells = (page: Page, caption: string) =>
  page
    .getByRole('table', { name: caption, exact: true })
    .locator('tbody tr')
    .evaluateAll((rows) =>
      rows.map((row) => [...row.children].map((cell) => cell.textContent?.trim() ?? '')),
    );
