import t from 'tap';
import { assertGood, openConsole } from './stage.ts';

t.test('a person sees their sessions, ends one, and ends all others', async (t) => {
  const { signedIn, tokenWith } = await openConsole(t);
  const token = await tokenWith('events:read');
  const page = await signedIn({ token });
  const [phone, laptop, office] = [
    await signedIn({ token, refusals: true }),
    await signedIn({ token }),
    await signedIn({ token }),
  ];
  await signedIn();
  await page.goto('/');
  await page.getByRole('link', { name: 'Sessions' }).click();
  await page.waitForURL('**/sessions');
  const rows = page.getByRole('table').locator('tbody tr');
  t.equal(await rows.count(), 4, 'none of the other token');
  t.strictSame(await page.getByRole('columnheader').allTextContents(), ['Signed in', 'Last used', 'Session']);
  t.equal(await page.getByText('This browser').count(), 1);
  await assertGood(t, page, 'the sessions');

  await page.getByRole('button', { name: 'End session' }).first().click();
  await rows.nth(3).waitFor({ state: 'detached' });
  t.equal(await page.getByRole('button', { name: 'End session' }).count(), 2);
  await page.getByRole('button', { name: 'End all other sessions' }).click();
  await rows.nth(1).waitFor({ state: 'detached' });
  t.equal(await page.getByText('This browser').count(), 1);
  t.equal(await page.getByRole('button', { name: 'End all other sessions' }).count(), 0);
  for (const ended of [phone, laptop, office]) {
    await ended.goto('/');
    t.match(ended.url(), /\/sign-in/);
  }
  await page.goto('/events');
  t.equal(await page.title(), 'Events · benefits-sidecar');
});
