/** The setup of a new employer on one page. Its budget of interactions is in jobs.test.ts. */
import t from 'tap';
import { employee, organization } from '../contract/samples.ts';
import { deduct } from '../support/payroll.ts';
import { cells, click, openPayroll, type PayrollConsole } from './runs-stage.ts';

const census = (frequencies: readonly string[]) => ({
  name: 'census.json',
  mimeType: 'application/json',
  buffer: Buffer.from(
    JSON.stringify({
      organization,
      employees: frequencies.map((pay_frequency, index) => ({
        ...{ ...employee, employee_id: `birch-${index}`, pay_frequency },
        email: `birch-${index}@example.com`,
      })),
    }),
  ),
});

/** Gives an employer a code and a policy. */
async function giveSettings({ call }: PayrollConsole, employerId = 'acme') {
  const url = `/v1/employers/${employerId}`;
  const codes = [{ line_of_coverage: 'medical', side: 'employee', code: 'MED1' }];
  await call({ method: 'PUT', url: `${url}/payroll-codes`, body: { codes } });
  const policy = { effective_from: '2026-01-01', open_items: 'include' };
  await call({ method: 'PUT', url: `${url}/payroll-policy`, body: policy });
}

t.test('a setup without a pay date saves nothing and keeps the input', async (t) => {
  const stage = await openPayroll(t);
  const { call } = stage;
  await giveSettings(stage);
  await deduct(stage.db, 'evt-birch', {
    id: 'ded-birch',
    employee_id: 'birch-0',
    line_of_coverage: 'vision',
  });
  const page = await stage.opened('/settings/setup?employer_id=birch');
  await page.getByLabel('Census (JSON, CSV or Excel file)').setInputFiles(census(['weekly', 'monthly']));
  await click(page, 'Check');
  await click(page, 'Stage this census');
  await page.getByLabel('Pay frequency').selectOption('weekly');
  await page.getByLabel('Copy payroll codes and policy from').selectOption('acme');
  await page.getByText('acme has no code for vision, which').waitFor();
  await click(page, 'Save and start the first payroll');
  await page.getByRole('link', { name: 'Next pay date' }).waitFor();
  t.equal(
    await page.getByLabel('Copy payroll codes and policy from').inputValue(),
    'acme',
    'the input stays',
  );
  const codesOf = async () => (await call({ url: '/v1/employers/birch/payroll-codes' })).json.codes.length;
  t.equal(await codesOf(), 0, 'nothing is saved');
  await page.getByLabel('Next pay date').fill('2026-07-17');
  await page.getByLabel('Dates that take deductions').selectOption('first-of-month');
  await page
    .getByText(/2026, weekly: .* 48 dates with all deductions, 4 dates with only deductions per check\./)
    .waitFor();
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await page.getByText('Saved.').waitFor();
  t.equal(await codesOf(), 1);
  const steps = (await cells(page, 'Steps')).map(([step, state]) => `${step}: ${state}`);
  t.strictSame(steps.slice(0, 3), ['Census: done', 'Pay dates: missing', 'Payroll codes: done']);
  t.equal(
    await page.getByLabel('Pay frequency').inputValue(),
    'monthly',
    'its other employees are paid monthly',
  );
  await page.getByText(/^12 pay dates of 2026, monthly: /).waitFor();
  await click(page, 'Save and start the first payroll');
  await page.waitForURL('**/runs/birch-weekly-2026-07-17');
});
