/** Files in the console as payroll exports them: recognized, confirmed and used without editing a file. */
import t from 'tap';
import { ROLES } from '../../src/security/scopes.ts';
import { apply } from '../api/deliver.ts';
import { organization } from '../contract/samples.ts';
import { styled, workbookOf } from '../formats/workbook-file.ts';
import { LATELY } from '../support/payroll.ts';
import { counting } from './interactions.ts';
import { cells, click, openPayroll } from './runs-stage.ts';
import { assertGood, openConsole } from './stage.ts';

const HEADER = [
  ...['Emp #', 'First Name', 'Last Name', 'DOB', 'Street Address', 'City', 'State', 'ZIP', 'Hire Date'],
  ...['Email', 'Hours/Week', 'Annual Salary', 'Effective Date', 'Status', 'Pay Freq', 'Area'],
];
const census = {
  name: 'export.xlsx',
  mimeType: 'application/octet-stream',
  buffer: workbookOf({
    sheets: [
      {
        name: 'Census',
        rows: [
          HEADER,
          [
            ...[1001, 'Ana', 'Ruiz', '4/5/1980', '1 Main St', 'Boston', 'MA', 2108, styled(1, 43_864)],
            ...['ana@example.org', 40, 52_000, styled(1, 46_023), 'FT', 'BW', 'North'],
          ],
          ['Total', null, null, null, null, null, null, null, null, null, null, 52_000],
        ],
      },
    ],
  }),
};
const csv = (name: string, ...lines: readonly string[]) => ({
  name,
  mimeType: 'text/csv',
  buffer: Buffer.from(lines.join('\r\n')),
});
const deductions = csv(
  'deductions.csv',
  'Deductions by employee',
  'Employee Number,Name,Ded Code,EE Amount,ER Amount',
  '1001,"Ruiz, Ana",MED,$69.23,161.54',
  '1001,"Ruiz, Ana",401K,50.00,',
  'Grand Total,,,119.23,161.54',
);
const payroll = csv(
  'register.csv',
  'Emp ID,Deduction Code,EE Amt,ER Amt',
  '1001,MED,$69.23,161.54',
  '1001,401K,50.00,',
);

t.test('files alone lead from an unknown employer to its first compared run: 36 interactions', async (t) => {
  const stage = await openPayroll(t);
  const token = await stage.personWith('ann@example.com', ...ROLES['payroll-specialist']);
  const page = await stage.opened('/', { token });
  const { use, fill, choose, select, used } = counting(page);
  await fill('New employer (its ID at the benefits service)', 'oak');
  await use('button', /^Set up$/);
  await choose('Census (JSON, CSV or Excel file)', census);
  await use('button', /^Check$/);
  await page.getByText('1 row below the column names in line 1 of the sheet Census.').waitFor();
  t.match(await cells(page, 'Values that are read differently'), [
    ['DOB', 'dob', 'date month first', '1', ''],
    ['ZIP', 'address.zip_code', 'zip', '1', ''],
    ['Status', 'employment_status', 'word', '1', ''],
    ['Pay Freq', 'pay_frequency', 'word', '1', ''],
  ]);
  t.equal(await page.getByLabel('Area').inputValue(), '');
  await assertGood(t, page, 'the proposal');
  const { address, contact, ...legal } = organization;
  await fill('Prefix of employee IDs', 'oak-');
  await fill('Legal business name', legal.legal_business_name);
  await fill('FEIN', legal.fein);
  await fill('First name of the contact', contact.first_name);
  await fill('Last name of the contact', contact.last_name);
  await fill('Email of the contact', contact.email);
  await fill('Street of the employer', address.line1);
  await fill('City of the employer', address.city);
  await fill('State of the employer, such as MA', address.state);
  await fill('ZIP code of the employer', address.zip_code);
  await select('Area', 'pay_group');
  await use('button', /^Confirm how files are read$/);
  await page.getByRole('heading', { name: 'No problems in 1 employee' }).waitFor();
  await use('button', /^Stage this census$/);
  await page.getByText('Your census is staged.').waitFor();

  await fill('Next pay date', '2026-07-17');
  await use('button', /^Save$/);
  await page.getByText('Saved.').waitFor();
  await use('link', /^Set the payroll codes$/);
  await select('Line of coverage, row 1', 'medical');
  await select('Taxability, row 1', 'pre_tax');
  await select('Paid by, row 1', 'employee');
  await fill('Code, row 1', 'MED');
  await use('button', /^Save payroll codes$/);
  await use('link', /^Next: Finish the setup$/);
  await use('link', /^Import what payroll deducts today$/);
  await choose('Deductions (Excel, CSV, JSON or NDJSON file)', deductions);
  await use('button', /^Check$/);
  await page.getByRole('heading', { name: 'Check how it is read' }).waitFor();
  await assertGood(t, page, 'the proposal of deductions');
  t.equal(await page.getByLabel('Prefix of employee IDs').inputValue(), 'oak-', 'as in the census');
  await select('Amounts are', 'biweekly');
  await use('button', /^Confirm how files are read$/);
  await page.getByRole('heading', { name: 'No problems in 1 deduction' }).waitFor();
  await use('button', /^Import these deductions$/);
  await page.getByText('Deductions imported: 1.').waitFor();
  await apply(stage.db, LATELY);
  await use('button', /^Start the payroll/);
  await use('link', /^Compare with payroll$/);
  await choose('File from payroll', payroll);
  await page.getByRole('heading', { name: 'Check how it is read' }).waitFor();
  await use('button', /^Confirm how files are read$/);
  await page.getByRole('heading', { name: 'identical register.csv' }).waitFor();
  t.equal(used(), 36);
  const less = csv('less.csv', payroll.buffer.toString().replace('69.23', '60.00'));
  await page.getByLabel('File from payroll').setInputFiles(less);
  await page.getByRole('heading', { name: '1 difference less.csv' }).waitFor();
  t.match((await cells(page, 'Different amount'))[0]?.[0], /^Ana Ruiz oak-1001$/, 'names are shown at once');
  const { json } = await stage.call({ url: '/v1/employers/oak/census' });
  t.match(json.employees, [
    { employee_id: 'oak-1001', dob: '1980-04-05', hire_date: '2020-02-03', pay_rate: [{ amount: '52000' }] },
  ]);
});

t.test('a person with pii:read is shown three values of each change', async (t) => {
  const stage = await openConsole(t);
  for (const [scopes, cell] of [
    [['runs:write', 'runs:read', 'census:write', 'census:read'], ''],
    [['runs:write', 'runs:read', 'census:write', 'census:read', 'pii:read'], 'Line 2: 4/5/1980 → 1980-04-05'],
  ] as const) {
    const page = await stage.opened('/census/oak', { token: await stage.tokenWith(...scopes) });
    await page.getByLabel('Census (JSON, CSV or Excel file)').setInputFiles(census);
    await click(page, 'Check');
    await page.getByRole('heading', { name: 'Check how it is read' }).waitFor();
    const [dob] = await cells(page, 'Values that are read differently');
    t.equal(dob?.at(-1), cell);
  }
});
