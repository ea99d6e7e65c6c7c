/** Opens every page of the console in light, in dark, and on a phone. */
import t, { type Test } from 'tap';
import { transact } from '../../src/database/transaction.ts';
import { deliver, eventOf } from '../api/deliver.ts';
import { deduct, EMPLOYER, LATELY, sync } from '../support/payroll.ts';
import { open, openPayroll } from './runs-stage.ts';
import { assertGood } from './stage.ts';

const RUN = '/runs/r';
const FINAL = '/runs/before';
const OF_EMPLOYER = `employer_id=${EMPLOYER}`;

const PAGES = [
  '/',
  ...['/runs', '/runs/new?kind=off_cycle', '/runs/new?like=before'],
  ...[RUN, `${RUN}?all=true`, `${RUN}?employee_id=emp-1`, `${RUN}?search=nobody`],
  ...[`${RUN}/finalize`, `${RUN}/approve`, `${RUN}/override`, `${RUN}/audit`],
  ...[FINAL, `${FINAL}?finalized=true`, `${FINAL}/taken`, `${FINAL}/void`, `${FINAL}/finalize`],
  ...['/open-items', `/open-items?${OF_EMPLOYER}`, `/open-items?${OF_EMPLOYER}&kind=adjustment`],
  `/open-items/decisions?${OF_EMPLOYER}`,
  ...['/settings', `/settings?${OF_EMPLOYER}`, '/settings?employer_id=unknown'],
  ...['pay-schedule', 'payroll-codes', 'payroll-policy'].map((page) => `/settings/${page}?${OF_EMPLOYER}`),
  ...['/ledger', '/ledger?employee_id=nobody', '/deductions/ded-1', '/deductions/none'],
  ...['/employees/emp-1', '/employees/nobody'],
  ...['/events', '/events?state=ignored', '/events?id=none', '/events/evt-broken', '/events/none'],
  ...['/census', `/census/${EMPLOYER}`, '/census/unknown'],
  ...['/changes', '/changes?state=rejected', '/changes/none'],
  ...['/audit', '/audit?employee_id=nobody'],
  ...['/operations', '/sessions', '/nowhere', '/signed-in'],
];

/** A month with a finalized run, amounts not taken, an open run with a failed check, and a quarantined event. */
async function month(t: Test) {
  const stage = await openPayroll(t);
  const { db, finalized, put, call } = stage;
  await finalized('before', '2026-07-03');
  const lines = [{ employee_id: 'emp-1', amount: '39.23' }];
  await call({ method: 'POST', url: '/v1/payroll-runs/before/taken', body: { lines } });
  await deduct(db, 'evt-second', { id: 'ded-9', employee_id: 'emp-2' });
  await deliver(db, [eventOf('evt-broken', 'employee.deduction-updated', {})], LATELY);
  await sync(db, { employer_id: 'new-employer' });
  await put('r', '2026-07-17');
  return stage;
}

t.test('a run and an employee are printed in light colors without controls', async (t) => {
  const { signedIn } = await month(t);
  const page = await signedIn({ scheme: 'dark' });
  for (const path of [RUN, '/employees/emp-1']) {
    await open(page, path);
    await page.emulateMedia({ media: 'print' });
    t.equal(await page.locator('nav, form, .actions').filter({ visible: true }).count(), 0, path);
    t.ok(await page.locator('.employee, table').first().isVisible(), path);
    t.equal(await page.evaluate(() => getComputedStyle(document.body).backgroundColor), 'rgb(255, 255, 255)');
    await page.emulateMedia({ media: null });
  }
});

t.test('a part that cannot be loaded shows what to do, and the key / opens the search', async (t) => {
  const { signedIn } = await month(t);
  const page = await signedIn({ refusals: true });
  await page.route('**/runs/r/changes', (route) =>
    route.fulfill({
      status: 500,
      headers: { 'hx-retarget': '#message', 'hx-reswap': 'innerHTML' },
      body: 'Error',
    }),
  );
  await page.goto(RUN);
  await page.getByText('This part could not be loaded. Reload the page to try again.').waitFor();
  for (const path of ['/runs', '/open-items?employer_id=acme', '/changes', '/audit', '/census', '/events']) {
    await page.goto(path);
    await page.keyboard.press('/');
    t.ok(await page.evaluate(() => document.activeElement?.matches('form[role=search] input')), path);
  }
});

t.test('every page is accessible, in light and dark, and fits a phone', async (t) => {
  const { signedIn } = await month(t);
  const page = await signedIn({ refusals: true });
  for (const path of PAGES) {
    await open(page, path);
    await assertGood(t, page, path);
  }
});

t.test('every page of the navigation opens with a token that is limited to employers', async (t) => {
  const { signedIn, tokenFor, db } = await month(t);
  const paused = { state: 'paused', next_probe_at: LATELY, paused_at: LATELY, reason: 'a secret' } as const;
  await transact(db, (trx) => trx.updateTable('circuit_breaker').set(paused).execute());
  const page = await signedIn({ token: await tokenFor([EMPLOYER], 'all') });
  await open(page, '/');
  const links = page.locator('header nav a');
  const paths = await links.evaluateAll((all) => all.map((link) => link.getAttribute('href') ?? ''));
  t.ok(paths.includes('/census') && paths.includes('/changes'), paths.join(' '));
  for (const path of paths) await open(page, path);
  for (const path of ['/census', '/changes']) {
    await open(page, path);
    t.match(await page.locator('main').textContent(), /Sending is paused/);
    t.notMatch(await page.locator('main').textContent(), 'a secret');
  }
});
