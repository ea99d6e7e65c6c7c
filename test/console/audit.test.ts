import t from 'tap';
import { apply, deductionOf, deliver } from '../api/deliver.ts';
import { openConsole } from './stage.ts';

t.test('actions are listed with who took them and why, also on the page of their resource', async (t) => {
  const stage = await openConsole(t);
  const { db } = stage;
  await deliver(db, [deductionOf('evt_bad', { member_contribution: 'much' })]);
  await apply(db);
  const page = await stage.opened('/events/evt_bad');
  await page.getByText('Other actions').click();
  await page.getByLabel('Reason').fill('a test event');
  await page.getByRole('button', { name: 'Dismiss' }).click();
  // The page opens again, with its history folded.
  await page.getByText(/: a test event$/).waitFor();
  await page.getByText('History').click();
  const history = page.getByRole('table', { name: 'Actions, newest first' });
  await history.getByText('a test event').waitFor();
  t.match(await history.textContent(), 'Event dismissed');

  await page.goto('/audit?action=event.dismiss');
  const records = page.getByRole('table', { name: 'Audit records, newest first' });
  t.match(await records.textContent(), /Event dismissed.*evt_bad.*a test event/s);
  await page.getByText('Proof that no record was altered').click();
  t.match(await page.locator('code').first().textContent(), /^\d+:[0-9a-f]{64}$/);
  await page.goto('/audit?employee_id=unknown');
  t.match(await page.locator('main').textContent(), 'No matching records');
});
