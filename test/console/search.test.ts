/** The search in the header of every page, and what people find in the navigation. */
import t from 'tap';
import { lacksScope } from '../../src/console/elements/format.ts';
import { ROLES } from '../../src/security/scopes.ts';
import { census, employee } from '../contract/samples.ts';
import { assertAccessible, openConsole } from './stage.ts';

t.test('a person is found by name with the keyboard alone, and the text is in no address', async (t) => {
  const { call, opened, logged } = await openConsole(t);
  const people = {
    acme: { ...employee, employee_id: 'e-1', first_name: 'Zoë', last_name: 'Łukasz' },
    birch: { ...employee, employee_id: 'e-2', first_name: 'Zora', last_name: 'Lunt' },
  };
  for (const [employerId, person] of Object.entries(people)) {
    const url = `/v1/employers/${employerId}/census`;
    t.equal((await call({ method: 'PUT', url, body: { ...census, employees: [person] } })).status, 200);
  }
  const page = await opened('/help');
  const addresses: string[] = [];
  page.on('request', (request) => addresses.push(request.url()));
  await page.keyboard.press('/');
  await page.keyboard.type('zo lu');
  const found = page.locator('#found');
  await found.getByText('Zoë Łukasz').waitFor();
  const links = ['Zoë Łukasz e-1, Acme (acme)', 'Zora Lunt e-2, Acme (birch)'];
  t.strictSame(await found.getByRole('link').allTextContents(), links, 'both employers have one legal name');
  await assertAccessible(t, page, 'search');
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Escape');
  t.equal(await found.textContent(), '');
  await page.keyboard.type('k');
  await found.getByText('Zoë Łukasz').waitFor();
  await page.keyboard.press('Enter');
  await page.waitForURL('**/employees/e-1');
  await page.goto('/ledger?line_of_coverage=dental');
  await page.getByLabel('Employee, by name or ID').fill('zo lu');
  await page.getByRole('button', { name: 'Find' }).click();
  await page.locator('.matches').getByRole('link', { name: 'Zora Lunt' }).click();
  await page.waitForURL('**/ledger?line_of_coverage=dental&employee_id=e-2');
  await page.getByText('Employee: Zora Lunt e-2').waitFor();
  await page.getByRole('link', { name: 'All employees' }).click();
  await page.waitForURL('**/ledger?line_of_coverage=dental');
  t.notMatch(addresses.join(), /zo|luk/i);
  t.notMatch(JSON.stringify(logged), /zo lu/i);
});

t.test('people who run payroll have five pages, and operators all', async (t) => {
  const { html, tokenWith } = await openConsole(t);
  const pagesOf = async (...scopes: Parameters<typeof tokenWith>) => {
    const page = await html('/help', await tokenWith(...scopes));
    const [navigation = ''] = /<nav aria-label="Pages".*?<\/nav>/s.exec(page) ?? [];
    return [...navigation.matchAll(/<a [^>]*>([^<]*)</g)].map(([, name]) => name);
  };
  const five = ['Home', 'Runs', 'Open items', 'People', 'Settings'];
  t.strictSame(await pagesOf(...ROLES['payroll-specialist']), five);
  t.strictSame(await pagesOf(...ROLES['payroll-manager']), five);
  const all = [...five, 'Events', 'Census', 'Changes', 'Audit', 'Operations'];
  t.strictSame(await pagesOf(...ROLES.operator), all);
  t.strictSame(await pagesOf('census:read'), ['Census', 'Operations']);
  t.match(await html('/audit', await tokenWith('census:read')), lacksScope('To do this', 'audit:read'));
});
