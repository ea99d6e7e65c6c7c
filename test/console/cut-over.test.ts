/** The cut-over in the console: lists are compared, and a person signs them off. */
import t from 'tap';
import { cells, click, openPayroll } from './runs-stage.ts';
import { assertGood } from './stage.ts';

const csv = (...rows: readonly string[]) => ({
  ...{ name: 'people.csv', mimeType: 'text/csv', buffer: Buffer.from(`${rows.join('\n')}\n`) },
});

t.test(
  'a person compares the people, signs off what differs, and continues with the deductions',
  async (t) => {
    const stage = await openPayroll(t);
    const token = await stage.personWith(
      'ann@example.com',
      'ledger:read',
      'runs:write',
      'runs:read',
      'census:read',
    );
    const page = await stage.opened('/census/acme', { token, refusals: true });
    await page.getByRole('link', { name: 'compare payroll’s people and deductions' }).click();
    await page.getByLabel('File: people').setInputFiles(csv('employee_id', 'emp-1', 'emp-9'));
    await click(page, 'Compare');
    await page.getByRole('heading', { name: '2 differences 1 entry agrees' }).waitFor();
    t.match(await cells(page, 'Differences'), [
      ['Not in the file', 'emp-2', 'no'],
      ['Only in the file', 'emp-9', 'no'],
    ]);
    await assertGood(t, page, 'the comparison');
    await click(page, 'Sign off');
    await page.getByText('Enter why the differences are right.').waitFor();
    await page.getByLabel('Why the differences are right').fill('emp-9 starts in May');
    await click(page, 'Sign off');
    await page.getByText('Signed off: people.').waitFor();
    await page.getByLabel('File: deductions').waitFor();
    await page.locator('main').getByRole('link', { name: 'People' }).click();
    await page.getByLabel('File: people').setInputFiles(csv('employee_id', 'emp-1', 'emp-9', 'emp-8'));
    await click(page, 'Compare');
    await page.getByRole('heading', { name: '1 difference 1 entry agrees' }).waitFor();
    t.match(
      (await cells(page, 'Differences')).map(([, employee, isSigned]) => `${employee} ${isSigned}`),
      ['emp-8 no', 'emp-2 yes', 'emp-9 yes'],
    );
  },
);
