import t from 'tap';
import { closeListener } from '../../src/security/listener.ts';
import { deductionOf, deliver, eventOf } from '../api/deliver.ts';
import { openConsole } from './stage.ts';

t.test('a page refreshes automatically and keeps open sections, focus and scroll position', async (t) => {
  const { signedIn, db } = await openConsole(t);
  await deliver(db, [eventOf('evt_1', 'employee.deduction-updated', {})]);
  const page = await signedIn({ width: 360 });
  const listening = page.waitForResponse('**/live');
  await page.goto('/');
  await listening;
  const passed = page.locator('details.passed');
  await passed.getByText('checks passed').click();
  await page.getByText('checks passed').focus();
  const before = await page.evaluate(() => {
    window.scrollTo(0, 300);
    (window as unknown as { mark: boolean }).mark = true;
    return window.scrollY;
  });
  await deliver(db, [eventOf('evt_2', 'employee.deduction-updated', {})]);
  await page.getByRole('link', { name: 'evt_2' }).waitFor();
  t.equal(await passed.getAttribute('open'), '');
  t.ok(
    await page.evaluate(() => (window as unknown as { mark?: boolean }).mark),
    'the page was not reloaded',
  );
  t.equal(await page.evaluate(() => document.activeElement?.textContent?.includes('checks passed')), true);
  const after = await page.evaluate(() => window.scrollY);
  // The browser moves with the line that the new event adds above.
  t.ok(Math.abs(after - before) < 50, `it scrolled from ${before} to ${after}`);
});

t.test('a page reports a lost connection and catches up afterward', async (t) => {
  const { signedIn, db, app } = await openConsole(t);
  const page = await signedIn({ refusals: true });
  const listening = page.waitForResponse('**/live');
  await page.goto('/events');
  await listening;
  const sign = page.locator('#lost');
  t.equal(await sign.isVisible(), false);
  app.server.closeAllConnections();
  await sign.waitFor();
  await deliver(db, [deductionOf('evt_missed', { id: 'd1' })]);
  await page.getByRole('link', { name: 'evt_missed' }).waitFor();
  await sign.waitFor({ state: 'hidden' });
});

t.test('an open page does not delay the listener’s shutdown', async (t) => {
  const { signedIn, app, base } = await openConsole(t);
  const page = await signedIn({ refusals: true });
  const listening = page.waitForResponse('**/live');
  await page.goto('/');
  await listening;
  const [cookie] = await page.context().cookies();
  const stream = await fetch(`${base}/live`, { headers: { cookie: `${cookie?.name}=${cookie?.value}` } });
  await closeListener(app);
  // The listener cuts off a stream that is still open after five seconds, which would be an error here.
  t.match(await stream.text(), /^retry: /, 'the stream ended cleanly');
  await page.locator('#lost').waitFor();
});

t.test('the stream of a session ends with the session; without one it is rejected', async (t) => {
  const { signedIn, base } = await openConsole(t);
  const page = await signedIn();
  await page.goto('/');
  const [cookie] = await page.context().cookies();
  const stream = await fetch(`${base}/live`, { headers: { cookie: `${cookie?.name}=${cookie?.value}` } });
  t.equal(stream.headers.get('content-type'), 'text/event-stream');
  t.equal(stream.headers.get('cache-control'), 'no-store');
  await page.getByRole('button', { name: 'Sign out' }).click();
  t.match(await stream.text(), /^retry: 2000\n\n/, 'it ended');
  const refused = await fetch(`${base}/live`, { redirect: 'manual' });
  t.equal(refused.status, 303);
});
