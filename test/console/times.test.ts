import t from 'tap';
import { deductionOf, deliver } from '../api/deliver.ts';
import { click } from './runs-stage.ts';
import { openConsole } from './stage.ts';

t.test('times are local to the browser with UTC on hover, in lists and in fields', async (t) => {
  const { opened, db } = await openConsole(t);
  await deliver(db, [deductionOf('evt_1', { id: 'd1' })], '2026-01-31T02:30:00Z');
  const page = await opened('/events', { zone: 'America/New_York' });
  const received = page.getByText('Jan 30, 2026, 9:30:00 PM', { exact: true });
  t.equal(await received.getAttribute('title'), 'Jan 31, 2026, 02:30:00 UTC');
  const from = page.getByLabel('Received from', { exact: true });
  await from.fill('2026-01-30T21:30');
  await click(page, 'Show');
  await page.waitForURL('**/events?*from=2026-01-31T02%3A30%3A00.000Z*');
  t.equal(await from.inputValue(), '2026-01-30T21:30');
  await received.waitFor();
  await from.fill('2026-01-30T21:31');
  await click(page, 'Show');
  await page.getByText('No matching events').waitFor();
  await deliver(db, [deductionOf('evt_2', { id: 'd2' })], '2026-01-31T02:45:00Z');
  await page.getByText('Jan 30, 2026, 9:45:00 PM', { exact: true }).waitFor();
});

t.test('without the script times stay in UTC', async (t) => {
  const { signedIn, db } = await openConsole(t);
  await deliver(db, [deductionOf('evt_1', { id: 'd1' })], '2026-01-31T02:30:00Z');
  const page = await signedIn({ zone: 'America/New_York' });
  await page.route('**/assets/console.*.js', (route) =>
    route.fulfill({ contentType: 'text/javascript', body: '' }),
  );
  await page.goto('/events');
  await page.getByText('Jan 31, 2026, 02:30:00 UTC', { exact: true }).waitFor();
  await page.getByLabel('Received from (UTC)').waitFor();
});
