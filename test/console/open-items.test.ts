/** Tests the pages of open items: the list with its filters and totals, and decisions about selected items. */
import t, { type Test } from 'tap';
import { EMPLOYER } from '../support/payroll.ts';
import { cells, click, open, openPayroll } from './runs-stage.ts';
import { HOSTILE } from './stage.ts';

const ITEMS = `/open-items?employer_id=${EMPLOYER}`;

/** emp-1 owes 30.00 of a paycheck, and emp-2 an amount from before the first run. */
async function staged(t: Test) {
  const stage = await openPayroll(t);
  const { call, finalized } = stage;
  await finalized('r', '2026-07-03');
  const post = (url: string, body: unknown) => call({ method: 'POST', url, body });
  await post('/v1/payroll-runs/r/taken', { lines: [{ employee_id: 'emp-1', amount: '39.23' }] });
  const opening = {
    ...{ id: HOSTILE, employee_id: 'emp-2', line_of_coverage: 'dental', taxability: 'post_tax' },
    ...{ member_amount: '12.50', employer_amount: '0.00', pay_date: '2025-06-01' },
  };
  await post(`/v1/employers/${EMPLOYER}/opening-items`, { items: [opening] });
  const items = async () => (await call({ url: `/v1/employers/${EMPLOYER}/open-items` })).json.data;
  return { ...stage, items };
}

t.test('items are listed with filters in the address and totals', async (t) => {
  const { signedIn } = await staged(t);
  const page = await signedIn();
  await open(page, ITEMS);
  const items = (await cells(page, 'Open items')).map((row) => row.slice(0, 5));
  t.strictSame(items, [
    ['emp-1', 'Arrears', 'Jul 3, 2026', 'medical, pre-tax', '$30.00'],
    ['emp-2', 'Opening item', 'Jun 1, 2025', 'dental, post-tax', '$12.50'],
  ]);
  t.strictSame(await cells(page, 'Totals of open items'), [
    ['Arrears', '1', '1', '$30.00', '$0.00'],
    ['Opening item', '1', '1', '$12.50', '$0.00'],
    ['Total', '2', '2', '$42.50', '$0.00'],
  ]);
  await page.getByLabel('Kind').selectOption('opening');
  await page.getByRole('button', { name: 'Show', exact: true }).click();
  await page.waitForURL('**/open-items?*kind=opening*');
  t.equal((await cells(page, 'Open items')).length, 1);
  await page.getByRole('link', { name: 'Show all' }).click();
  await page.waitForURL(`**${ITEMS}`);
  await open(page, `${ITEMS}&kind=arrears`);
  await page.getByLabel('Employee, by name or ID').fill('emp-2');
  await click(page, 'Find');
  await page.waitForURL(`**${ITEMS}&kind=arrears&employee_id=emp-2`);
  await page.getByText('No open items').waitFor();
  await page.getByLabel('Kind').selectOption('');
  await page.getByRole('button', { name: 'Show', exact: true }).click();
  await page.waitForURL('**/open-items?*employee_id=emp-2*');
  t.equal((await cells(page, 'Open items')).length, 1, 'the employee stays');
  await open(page, '/open-items');
  await page.getByText(`${EMPLOYER}: 2 items of 2 employees, $42.50`).waitFor();
  await page.getByLabel('Employer', { exact: true }).selectOption(EMPLOYER);
  await page.getByRole('button', { name: 'Show', exact: true }).click();
  await page.waitForURL(`**${ITEMS}*`);
});

t.test('selected items are decided together, and a changed item is not', async (t) => {
  const { signedIn, items, call } = await staged(t);
  const page = await signedIn({ refusals: true });
  await open(page, ITEMS);
  const boxes = page.getByRole('checkbox');
  await click(page, 'Record the decisions');
  await page.getByRole('alert').filter({ hasText: 'Select at least one item' }).waitFor();
  await page.getByLabel('Select all on this page').check();
  await page.getByLabel('Decision').selectOption('take');
  await click(page, 'Record the decisions');
  await page.getByRole('alert').filter({ hasText: 'Reason is required' }).waitFor();
  await page.getByLabel('Reason').fill(HOSTILE);
  await page.getByLabel('Reason').press('Tab');
  await page.getByRole('table', { name: 'Next paychecks with these decisions' }).waitFor();
  t.match(await cells(page, 'Next paychecks with these decisions'), [
    ['emp-1', 'Jul 17, 2026', '$69.23', '$99.23', /^Paycheck of July 3: .*\$30\.00 more/, ''],
    ['emp-2', 'Jul 17, 2026', '$69.23', '$81.73', /^Brought along .*\$12\.50 more/, ''],
  ]);
  await click(page, 'Record the decisions');
  await page.locator('.state').filter({ hasText: 'To be taken' }).first().waitFor();
  await page.getByText('2 decisions recorded').waitFor();
  t.match(await items(), [{ state: 'take', decision: { reason: HOSTILE } }, { state: 'take' }]);
  await open(page, `${ITEMS}&employee_id=emp-1`);
  await boxes.first().check();
  await page.getByLabel('Decision').selectOption('write_off');
  await page.getByLabel('Reason').fill('too late');
  const lines = [{ employee_id: 'emp-1', amount: '49.23' }];
  await call({ method: 'POST', url: '/v1/payroll-runs/r/taken', body: { lines } });
  await click(page, 'Record the decisions');
  await page.getByText('is $20.00 now: review the item again').waitFor();
  await open(page, `${ITEMS}&employee_id=emp-1`);
  await page.getByLabel('Hold all items of emp-1').check();
  await page.getByLabel('Decision').selectOption('hold');
  t.strictSame(
    [await page.getByLabel('Hold through').isVisible(), await page.getByLabel('Amount').isVisible()],
    [true, false],
  );
  await page.getByLabel('Reason').fill('leave of absence');
  await click(page, 'Record the decisions');
  await page.locator('.state').filter({ hasText: 'On hold' }).first().waitFor();
  t.match((await items())[0], { state: 'hold', decision: { covers: 'employee' } });
  await page.getByRole('link', { name: 'All decisions' }).click();
  const decided = (await cells(page, 'Decisions')).map((row) => [...row.slice(0, 2), row[4], row.at(-1)]);
  const take = 'Take or return with paychecks';
  t.strictSame(decided, [
    ['emp-1', 'All items of the employee', 'Hold, all items', 'leave of absence'],
    ['emp-1', 'Arrears: medical, pre-tax, run r', take, HOSTILE],
  ]);
  await open(page, ITEMS);
  await page.getByRole('link', { name: 'Decisions about open items' }).click();
  await page.waitForURL('**/open-items/decisions?employer_id=*');
  t.equal((await cells(page, 'Decisions')).length, 3);
  await open(page, ITEMS);
  await boxes.first().check();
  await page.getByLabel('Decision').selectOption('write_off');
  await page.getByLabel('Reason').fill('left');
  await click(page, 'Record the decisions');
  // The list has the item no more, so the notice leads to it.
  await page.getByRole('link', { name: 'See what was decided' }).click();
  await page.waitForURL('**/open-items/decisions?employer_id=*');
  t.equal((await cells(page, 'Decisions'))[0]?.at(-1), 'left');
});
