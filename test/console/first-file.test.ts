/** The first file of an employer in the console: from a vendor's workbook to a staged census. */
import t from 'tap';
import { organization } from '../contract/samples.ts';
import { styled, workbookOf } from '../formats/workbook-file.ts';
import { cells, click } from './runs-stage.ts';
import { assertGood, openConsole } from './stage.ts';

const HEADER = [
  ...['Emp #', 'First Name', 'Last Name', 'DOB', 'Street Address', 'City', 'State', 'ZIP', 'Hire Date'],
  ...['Email', 'Hours/Week', 'Annual Salary', 'Effective Date', 'Status', 'Area'],
];
const file = {
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
            ...['ana@example.org', 40, 52_000, styled(1, 46_023), 'FT', 'North'],
          ],
          ['Total', null, null, null, null, null, null, null, null, null, null, 52_000],
        ],
      },
    ],
  }),
};

t.test('a person confirms how the first file is read, and stages it', async (t) => {
  const stage = await openConsole(t);
  const page = await stage.opened('/census/oak');
  await page.getByLabel('Census (JSON, CSV or Excel file)').setInputFiles(file);
  await click(page, 'Check');
  await page.getByText('is a workbook').waitFor();
  await page.getByRole('link', { name: 'set how such files are read' }).click();
  await page.getByLabel('Census (Excel or CSV file)').setInputFiles(file);
  await click(page, 'Recognize columns');
  await page.getByText('1 employee below the column names in line 1 of the sheet Census.').waitFor();
  t.match(await cells(page, 'Values that are read differently'), [
    ['DOB', 'dob', 'date month first', '1', 'Line 2: 4/5/1980 → 1980-04-05'],
    ['ZIP', 'address.zip_code', 'zip', '1', 'Line 2: 2108 → 02108'],
    ['Status', 'employment_status', 'word', '1', 'Line 2: FT → full_time'],
  ]);
  t.equal(await page.getByLabel('Area').inputValue(), '');
  t.equal(await page.getByLabel('Values, one in each line').first().inputValue(), 'Total*');
  t.equal(await page.getByLabel('Pay rates are').inputValue(), 'annually');
  await assertGood(t, page, 'the proposal');

  const fill = (label: string, value: string) =>
    page.getByRole('textbox', { name: label, exact: true }).fill(value);
  await fill('Prefix of employee IDs', 'oak-');
  await fill('Legal business name', organization.legal_business_name);
  await click(page, 'Confirm how files are read');
  await page.locator('#confirmed').getByText('organization.fein').waitFor();
  await fill('FEIN', organization.fein);
  await fill('First name of the contact', organization.contact.first_name);
  await fill('Last name of the contact', organization.contact.last_name);
  await fill('Email of the contact', organization.contact.email);
  await fill('Street', organization.address.line1);
  await fill('City', organization.address.city);
  await fill('State, such as MA', organization.address.state);
  await fill('ZIP code', organization.address.zip_code);
  await page.getByLabel('Area').selectOption('pay_group');
  await click(page, 'Confirm how files are read');
  await page.getByText('Your files are now read this way.').waitFor();
  await click(page, 'Check the file');
  await page.getByRole('heading', { name: 'No problems in 1 employee' }).waitFor();
  await click(page, 'Stage this census');
  await page.getByText('Your census is staged.').waitFor();
  const { json } = await stage.call({ url: '/v1/employers/oak/census' });
  t.match(json.employees, [
    { employee_id: 'oak-1001', dob: '1980-04-05', hire_date: '2020-02-03', pay_rate: [{ amount: '52000' }] },
  ]);
});

t.test('examples of values need pii:read', async (t) => {
  const stage = await openConsole(t);
  const token = await stage.tokenWith('runs:write', 'runs:read', 'census:write', 'census:read');
  const page = await stage.opened('/census/oak/first-file', { token });
  await page.getByLabel('Census (Excel or CSV file)').setInputFiles(file);
  await click(page, 'Recognize columns');
  await page.getByText('To see examples, your token needs the scope pii:read').waitFor();
  t.notMatch(await page.content(), '4/5/1980');
});
