import t from 'tap';
import { report } from '../employment/stage.ts';
import { encryptor } from '../outbox/parts.ts';
import { employ } from '../support/payroll.ts';
import { cells, listed, put } from './deductions.ts';
import { assertAccessible, assertGood, HOSTILE, openConsole } from './stage.ts';

/** Ids that could break a path, a query or a page. */
const IDS = ['a/b ..x Zoë 🙂 50% %2F', HOSTILE];

t.test('any id opens its deduction or employee', async (t) => {
  const { db, signedIn } = await openConsole(t);
  for (const id of IDS) {
    await put(db, `ded ${id}`, id);
  }
  await put(db, 'both', 'both');
  await put(db, '.', '..');
  const page = await signedIn({ refusals: true });
  const find = async (id: string) => {
    await page.goto('/ledger');
    await page.getByLabel('Employee or deduction id').fill(id);
    await page.keyboard.press('Enter');
    await page.waitForURL(({ pathname, search }) => pathname + search !== '/ledger');
    return page.getByRole('heading', { level: 1 }).textContent();
  };
  for (const id of IDS) {
    t.equal(await find(id), `Employee ${id}`);
    await page.getByRole('link', { name: `ded ${id}`, exact: true }).click();
    t.equal(await page.getByRole('heading', { level: 1 }).textContent(), `Deduction ded ${id}`);
    await page.getByRole('link', { name: id, exact: true }).click();
    t.equal(await page.getByRole('heading', { level: 1 }).textContent(), `Employee ${id}`);
  }
  t.equal(await find(' both '), 'Employee and deduction', 'spaces around it are ignored');
  t.equal(await find('nobody'), 'Not in the ledger');
  t.match(await page.getByRole('main').textContent(), 'There is no employee or deduction with the ID nobody');
  t.equal(await find('..'), 'Ledger', 'an id that does not fit into a URL opens the list of deductions');
  t.strictSame(await listed(page), ['.']);
  t.equal(await page.getByRole('link', { name: '.', exact: true }).count(), 0);
});

t.test('an employee page shows employment, deductions, changes, arrears and their sources', async (t) => {
  const { db, signedIn, tokenWith } = await openConsole(t, { encryptor });
  await employ(db, 'emp-1', { pay_group: HOSTILE });
  await employ(db, 'emp-1', {
    employer_id: 'before',
    hire_date: '2015-01-01',
    termination_date: '2019-12-31',
  });
  await put(db, 'd1', 'emp-1', { description: HOSTILE });
  const change = await report(db, 'termination', 'emp-1', {
    clock: () => new Date('2026-01-15T00:00:00Z'),
    fields: { termination_date: '2026-02-28' },
  });
  const page = await signedIn();
  await page.goto('/employees/emp-1');
  t.strictSame(await cells(page, 'Employment'), [
    ['acme', 'employed', '2020-01-01', '2026-02-28', 'full time', 'biweekly', HOSTILE],
    ['before', 'ended', '2015-01-01', '2019-12-31', 'full time', 'biweekly', 'none'],
  ]);
  const history = await cells(page, 'Roster reports, newest first');
  t.match(history[0], ['4', 'acme', 'termination date: 2026-02-28', `termination ${change}`]);
  t.match(history[2]?.[2], `pay group: ${HOSTILE}`);
  t.equal(await page.getByRole('link', { name: 'Termination' }).getAttribute('href'), `/changes/${change}`);
  t.match(await page.getByRole('main').textContent(), 'No arrears');
  t.equal(await page.title(), 'Employee emp-1 · benefits-sidecar');
  await assertGood(t, page, 'an employee');

  const other = await signedIn({ token: await tokenWith('ledger:read') });
  await other.goto('/employees/emp-1');
  t.match(await other.getByRole('main').textContent(), 'changes (changes:read) and arrears (runs:read)');
  t.equal(await other.getByRole('link', { name: change }).count(), 0);
  t.equal(await other.getByRole('table', { name: 'Employment changes' }).count(), 0);
});

t.test('an unknown employee or deduction returns 404 with a search form', async (t) => {
  const { signedIn, tokenWith } = await openConsole(t);
  const page = await signedIn({ refusals: true });
  for (const path of ['/employees/nobody', '/deductions/nothing']) {
    const answer = await page.goto(path);
    t.equal(answer?.status(), 404);
    t.match(await page.getByRole('main').textContent(), 'pending or quarantined');
    t.equal(await page.getByLabel('Employee or deduction id').count(), 1);
  }
  await assertAccessible(t, page, 'an unknown id');
  t.equal(await page.getByRole('main').getByRole('link', { name: 'event' }).count(), 1);
  const other = await signedIn({ token: await tokenWith('ledger:read'), refusals: true });
  await other.goto('/employees/nobody');
  t.equal(await other.getByRole('main').getByRole('link', { name: 'event' }).count(), 0);
});
