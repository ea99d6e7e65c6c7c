import { readFile } from 'node:fs/promises';
import { parse } from 'csv-parse/sync';
import t from 'tap';
import { deduct, hireMany } from '../support/payroll.ts';
import { cells, click, open, openPayroll } from './runs-stage.ts';
import type { Page } from './stage.ts';
import { assertGood, follow, HOSTILE } from './stage.ts';

const csv = (...rows: readonly string[]) => ({
  name: 'payroll.csv',
  mimeType: 'text/csv',
  buffer: Buffer.from(`${rows.join('\n')}\n`),
});

/** Downloads the target of a link. */
async function download(page: Page, link: string): Promise<{ name: string; rows: Record<string, string>[] }> {
  const [file] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('link', { name: link }).click(),
  ]);
  const text = await readFile(await file.path(), 'utf8');
  return { name: file.suggestedFilename(), rows: parse(text, { columns: true }) };
}

t.test('all lines can be downloaded as CSV, and all employees be seen', async (t) => {
  const { signedIn, finalized, db, call } = await openPayroll(t);
  await hireMany(db, 60);
  await finalized('r', '2026-07-17');
  const page = await signedIn();
  await open(page, '/runs/r');
  const all = await download(page, 'Download CSV');
  t.equal(all.name, 'r.csv');
  t.equal(all.rows.length, 62);
  t.match(all.rows[0], { employee_id: 'emp-1', member_amount: '69.23' });
  await page.reload();
  t.match(await page.getByLabel('Summary').textContent(), /File downloaded.* by API_TOKEN/);
  const { data } = (await call({ url: '/v1/audit?action=run.download' })).json;
  t.match(data, [{ resource_id: 'r', employer_id: 'acme' }]);
  await page.goto('/');
  await page.getByText(/^File downloaded/).waitFor();
  await open(page, '/runs/r');
  t.equal(await page.locator('details.employee').count(), 50);
  await follow(page, page.getByRole('link', { name: 'Next page' }));
  await page.getByText('51 to 62 of 62').waitFor();
  t.equal(await page.locator('details.employee .of').first().textContent(), 'many-0048', 'after 50 others');
});

t.test('a file from payroll is compared by category', async (t) => {
  const { opened, put } = await openPayroll(t);
  await put('r', '2026-07-17');
  const page = await opened('/runs/r/audit', { refusals: true });
  const file = page.getByLabel('File from payroll');
  await file.setInputFiles(
    csv(
      'employee_id,line_of_coverage,member_amount',
      'emp-1,medical,69.22',
      'emp-1,voluntary_critical_illness,6.00',
      `"${HOSTILE.replaceAll('"', '""')}",dental,1.00`,
    ),
  );
  await page.getByRole('heading', { name: '4 differences payroll.csv' }).waitFor();
  t.strictSame(
    (await cells(page, 'Summary')).map((row) => [...row.slice(0, 4), row[5]]),
    // The file has no employer amounts to add up.
    [
      ['Different amount', '1', '$69.23', '$69.22', '–'],
      ['Only in the run', '1', '$69.23', '$0.00', '–'],
      ['Only in payroll', '1', '$0.00', '$6.00', '–'],
      ['Unknown employee', '1', '$0.00', '$1.00', '–'],
      ['Identical', '0', '$0.00', '$0.00', '–'],
    ],
  );
  t.strictSame(await cells(page, 'Different amount'), [
    ['emp-1', 'medical', '$69.23', '$69.22', '$161.53', '–'],
  ]);
  t.strictSame(await cells(page, 'Only in payroll'), [
    ['emp-1', 'voluntary critical illness', '–', '$6.00', '–', '–'],
  ]);
  t.strictSame(await cells(page, 'Unknown employee'), [[HOSTILE, 'dental', '–', '$1.00', '–', '–']]);
  const long = `${'l'.repeat(200)}.csv`;
  const one = csv('employee_id,line_of_coverage,member_amount,employer_amount', 'emp-1,medical,69.23,161.53');
  await file.setInputFiles({ ...one, name: long });
  await page.getByRole('heading', { name: `1 difference ${long}` }).waitFor();
  await assertGood(t, page, 'an audit of a file with a long name');
  await file.setInputFiles(csv('employee_id,line_of_coverage,member_amount', ',dental,2'));
  await page.getByRole('heading', { name: 'The file contains invalid rows' }).waitFor();
  t.match(await cells(page, 'Problems by row and field'), [['1', 'employee_id', 'is required']]);
  await file.setInputFiles({ ...csv('x'), name: 'payroll.pdf' });
  await page.locator('#message').getByText('Choose a .xlsx, .csv, .json or .ndjson file.').waitFor();
});

t.test('deductions taken are saved with their arrears; a rejected file changes nothing', async (t) => {
  const { signedIn, finalized, run } = await openPayroll(t);
  await finalized('r', '2026-07-17');
  const page = await signedIn();
  await open(page, '/runs/r');
  await page.getByRole('link', { name: 'Report deductions taken' }).click();
  const file = page.getByLabel('Deductions taken');
  await file.setInputFiles(csv('employee_id,amount', 'emp-1,40.00', 'nobody,1.00'));
  await page.getByRole('heading', { name: 'The file contains invalid rows' }).waitFor();
  t.match(await cells(page, 'Problems by row and field'), [['2', 'employee_id', 'is not in the run']]);
  t.strictSame((await run('r')).taken_reports, []);
  const lines = Object.entries({ 'emp-1': '40.00', 'emp-2': '69.23' });
  const buffer = Buffer.from(
    JSON.stringify({ lines: lines.map(([employee_id, amount]) => ({ employee_id, amount })) }),
  );
  await file.setInputFiles({ name: 'taken.json', mimeType: 'application/json', buffer });
  await page.getByRole('heading', { name: 'Nothing is saved yet' }).waitFor();
  const arrears = [['emp-1', 'medical', 'regular', '$69.23', '$40.00', '$29.23']];
  t.strictSame(await cells(page, 'Arrears'), arrears);
  t.match(await run('r'), { taken_reports: [] }, 'choosing a file saves nothing');
  await click(page, 'Save these amounts');
  await page.getByRole('heading', { name: 'Report 1 saved' }).waitFor();
  t.strictSame(await cells(page, 'Arrears'), arrears);
  await open(page, '/runs/r');
  t.match(await page.locator('main').textContent(), 'report 1, 2 lines');
});

t.test('the page for amounts taken shows each report and the lines that later ones replaced', async (t) => {
  const { signedIn, opened, finalized, call, tokenWith } = await openPayroll(t);
  await finalized('r', '2026-07-17');
  const url = '/v1/payroll-runs/r/taken';
  const report = (...rows: string[]) => {
    const body = ['employee_id,amount', ...rows].join('\n');
    return call({ method: 'POST', url, headers: { 'content-type': 'text/csv' }, body });
  };
  await report('emp-1,40.00', 'emp-2,60.00');
  const page = await signedIn();
  const listening = page.waitForResponse('**/live');
  await page.goto('/runs/r/taken');
  await listening;
  await report('emp-2,69.23');
  await page.getByText('replaced by report 2').waitFor();
  await page.getByText('A later report replaces only the lines that it names.').waitFor();
  t.match(await cells(page, 'Reported lines'), [
    ['emp-1', 'medical', 'regular', '$69.23', '$40.00', '$29.23', /report 1$/],
    ['emp-2', 'dental', 'regular', '$69.23', '$60.00', '$9.23', /report 1replaced by report 2$/],
    ['emp-2', 'dental', 'regular', '$69.23', '$69.23', '$0.00', /report 2$/],
  ]);
  const reader = await opened('/runs/r/taken', { token: await tokenWith('runs:read') });
  t.equal((await cells(reader, 'Reported lines')).length, 3);
  t.equal(await reader.getByRole('button', { name: 'Check' }).count(), 0);
});

t.test('nothing taken from a paycheck is one box for all of its lines above zero', async (t) => {
  const { db, opened, finalized, call } = await openPayroll(t);
  await deduct(db, 'evt-vision', { id: 'ded-3', line_of_coverage: 'vision' });
  await deduct(db, 'evt-back', { id: 'ded-4', line_of_coverage: 'cancer', member_contribution: '-26.00' });
  await finalized('r', '2026-07-17');
  const page = await opened('/runs/r/taken?employee_id=emp-1', { refusals: true });
  await page.getByLabel('Nothing was taken from this paycheck').check();
  await page.getByRole('table', { name: 'What stays open' }).waitFor();
  t.strictSame(await cells(page, 'What stays open'), [
    ['medical', '$69.23', '$0.00', '$69.23'],
    ['vision', '$69.23', '$0.00', '$69.23'],
  ]);
  await page.getByLabel('medical, pre-tax').fill('1,00');
  await click(page, 'Save the amounts');
  await page.locator('#outcome').getByText('must be an amount').waitFor();
  await page.getByLabel('medical, pre-tax').fill('10.00');
  await click(page, 'Save the amounts');
  await page.locator('#outcome').getByText('the same line').waitFor();
  await page.getByLabel('medical, pre-tax').fill('');
  await click(page, 'Save the amounts');
  await page.getByRole('heading', { name: 'Report 1 saved' }).waitFor();
  const { json } = await call({ url: '/v1/employees/emp-1' });
  t.strictSame(
    json.open_items.map((item: { outstanding_member_amount: string }) => item.outstanding_member_amount),
    ['69.23', '69.23'],
  );
});
