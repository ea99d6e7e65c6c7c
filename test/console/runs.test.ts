import t from 'tap';
import { transact } from '../../src/database/transaction.ts';
import { changedNames, storeNames } from '../../src/names/names.ts';
import { createEncryptor } from '../../src/security/encryption.ts';
import { RUNS } from '../api/payroll-stage.ts';
import { FIRST_TOKEN } from '../api/start.ts';
import { deduct, employ, setPolicy } from '../support/payroll.ts';
import {
  click,
  lines as linesShown,
  open,
  openLines,
  openPayroll,
  type PayrollConsole,
} from './runs-stage.ts';
import { assertGood, follow, HOSTILE, type Page } from './stage.ts';

const ZOE = { employer_id: 'acme', employee_id: 'emp-2', first_name: 'Zoë', last_name: 'Łukasz' };
/** With the key of the API that the test starts. */
const encryptor = createEncryptor([{ id: 'test', key: Buffer.alloc(32, 7) }]);
const FIRST_DAY = '2026-07-01T00:00:00.000Z';

t.test(
  'an off-cycle run is put together in words, and its amounts are shown before it is saved',
  async (t) => {
    const { opened, call, db, finalized } = await openPayroll(t);
    await setPolicy(db, { open_items: 'include' });
    await transact(db, async (trx) => storeNames(trx, await changedNames(trx, encryptor, [ZOE], FIRST_DAY)));
    await finalized('before', '2026-07-03');
    const lines = [{ employee_id: 'emp-2', amount: '0.00' }];
    await call({ method: 'POST', url: `${RUNS}/before/taken`, body: { lines } });
    const page = await opened('/runs/new');
    await page.getByLabel('Employer', { exact: true }).selectOption('acme');
    await follow(page, page.getByRole('button', { name: 'Show', exact: true }));
    await page.getByLabel('Pay date', { exact: true }).fill('2026-07-10');
    const add = page.getByLabel('Add an employee');
    await add.fill('nobody');
    await click(page, 'Add');
    await page.getByRole('alert').getByText('matches no employee of this employer').waitFor();
    for (const [typed, id] of [
      ['zoe luk', 'emp-2'],
      ['emp-1', 'emp-1'],
    ] as const) {
      await add.fill(typed);
      await click(page, 'Add');
      await page.getByRole('group', { name: id }).waitFor();
    }
    const preview = page.getByRole('region', { name: 'Preview (not saved)' });
    await preview.getByText('$69.23').first().waitFor();
    const [one, two] = ['emp-1', 'emp-2'].map((name) => page.getByRole('group', { name }));
    t.ok(await two?.getByLabel(/^Arrears of Jul 3, 2026, dental: employee \$69\.23/).isChecked());
    await assertGood(t, page, 'an off-cycle run');
    await one?.getByLabel(/^Medical/).check();
    await preview.getByText('$138.46').first().waitFor();
    t.equal((await call({ url: RUNS })).json.data.length, 1, 'a preview saves nothing');
    await click(page, 'Create the run');
    await page.waitForURL('**/runs/acme-off-cycle-2026-07-10?saved=true');
    await openLines(page, '/runs/acme-off-cycle-2026-07-10');
    t.equal((await linesShown(page)).length, 2);
    t.equal(
      await page.getByRole('heading', { name: /changes/i }).count(),
      0,
      'it compares itself with nothing',
    );
    t.notMatch(await page.getByLabel('Payroll run').textContent(), 'since the last run');
    const line = page.locator('details.line').filter({ hasText: 'Medical' });
    await line.locator('summary').focus();
    await page.keyboard.press('Enter');
    t.match(
      (await line.locator('.explanation li').allTextContents())[0],
      '$150.00 monthly × 12 = $1,800.00 a year',
    );
  },
);

t.test('problems are shown next to their fields and in a summary, and the input stays', async (t) => {
  const { opened } = await openPayroll(t);
  const page = await opened(`/runs/new?employer_id=acme`);
  await page.getByText('More', { exact: true }).click();
  await page.getByLabel('Pay group').fill(HOSTILE);
  await click(page, 'Create the run');
  const said = page.getByRole('alert').filter({ hasText: 'The payroll run cannot be computed' });
  await said.waitFor();
  t.ok(await said.evaluate((element) => element === document.activeElement), 'it has the focus');
  t.equal(await page.getByLabel('Pay group').inputValue(), HOSTILE, 'its section is open');
  await said.getByRole('link', { name: 'Pay date', exact: true }).click();
  const field = page.getByLabel('Pay date', { exact: true });
  t.match(page.url(), /#pay_date$/);
  t.equal(await field.getAttribute('aria-invalid'), 'true');
  const [description] = (await field.getAttribute('aria-describedby'))?.split(' ') ?? [];
  t.match(await page.locator(`#${description}`).textContent(), 'is required');
  await assertGood(t, page, 'a form with errors');
});

t.test('adjustments and arrears are marked and link to the run that they correct', async (t) => {
  const { signedIn, put, finalized, call, db } = await openPayroll(t);
  await setPolicy(db, { open_items: 'include' });
  await finalized('r1', '2026-07-03');
  const taken = { url: '/v1/payroll-runs/r1/taken', headers: { 'content-type': 'text/csv' } };
  await call({ method: 'POST', ...taken, body: 'employee_id,amount\nemp-2,40.00\n' });
  await deduct(db, 'evt-late', { id: 'ded-1', member_contribution: '200.00' }, '2026-07-02T00:00:00Z');
  await put('r2', '2026-07-17');
  const page = await signedIn();
  await openLines(page, '/runs/r2');
  t.strictSame(await linesShown(page), [
    'Medical, pre-tax Changed from $69.23 employee amount $92.30 employer amount $161.53',
    'Medical, pre-tax Adjustment employee amount $23.07 employer amount $0.00',
    'Dental, pre-tax employee amount $69.23 employer amount $161.53',
    'Dental, pre-tax Arrears employee amount $29.23 employer amount $0.00',
  ]);
  await open(page, '/runs/r2');
  await follow(page, page.getByRole('link', { name: /^arrears/i }));
  const employee = page.locator('details.employee');
  await employee.locator('> summary').click();
  const line = page.locator('details.line').filter({ hasText: 'Arrears' });
  await line.locator('summary').click();
  t.match(await line.textContent(), 'dental was $69.23; $40.00 was taken (reported July 13); $29.23 more.');
  t.equal(await employee.count(), 1);
  await line.getByRole('link', { name: 'r1' }).click();
  await page.waitForURL('**/runs/r1');
});

/** Opens a page of a run and waits until it listens for changes. */
async function openListening(page: Page, path: string): Promise<void> {
  const listening = page.waitForResponse('**/live');
  await open(page, path);
  await listening;
}

const notice = (page: Page, what: string) =>
  page.getByRole('alert').filter({ hasText: `This run was ${what} after you opened this page.` });

/** Returns the names of the links and buttons of the page that can be used. */
const usable = async (page: Page): Promise<string[]> => {
  const shown = page.locator('main').locator('a.button, button').filter({ visible: true });
  return (await shown.allInnerTexts()).map((text) => text.trim());
};

const post = async ({ call }: PayrollConsole, path: string, body?: object) => {
  const { status, text } = await call({ method: 'POST', url: `${RUNS}/${path}`, ...(body && { body }) });
  if (status !== 200) throw new Error(text);
};

t.test('pages of a run show that it changed elsewhere, and keep only what still applies', async (t) => {
  const stage = await openPayroll(t);
  const { signedIn, put, finalized, call } = stage;
  await finalized('final', '2026-07-17');
  await put('next', '2026-07-31');
  await put('wrong', '2026-08-14');
  const listening = async (path: string) => {
    const page = await signedIn();
    await openListening(page, path);
    return page;
  };
  const [open, finalizing] = [await listening('/runs/next'), await listening('/runs/next/finalize')];
  t.match(await usable(open), ['Finalize …', 'Download CSV', 'Show', /./, /./, /./, 'Delete']);
  await finalized('next', '2026-07-31');
  await notice(open, 'finalized').waitFor();
  t.match(await open.getByLabel('Summary').textContent(), /Finalized by/);
  t.equal(await open.getByRole('heading', { name: 'Ready to finalize' }).isVisible(), false);
  t.notOk((await usable(open)).some((name) => /Delete|Finalize/.test(name)));
  await assertGood(t, open, 'a run page with a notice');
  await open.getByRole('link', { name: 'Show the finalized run' }).click();
  await open.getByText('Proof').click();
  await open.getByRole('button', { name: 'Verify' }).waitFor();
  t.equal(await notice(open, 'finalized').count(), 0);
  await notice(finalizing, 'finalized').waitFor();
  t.strictSame(await usable(finalizing), []);
  const [run, voiding] = [await listening('/runs/final'), await listening('/runs/final/void')];
  const deleted = await listening('/runs/wrong');
  await voiding.getByLabel('Reason').fill('typed before');
  await post(stage, 'final/void', { reason: 'a test' });
  await notice(run, 'voided').waitFor();
  t.notOk((await usable(run)).some((name) => /Void|Report/.test(name)));
  t.match(await run.getByLabel('Summary').textContent(), /Reason for voiding\s*a test/);
  await notice(voiding, 'voided').waitFor();
  t.strictSame(await usable(voiding), []);
  t.equal(await voiding.getByLabel('Reason').inputValue(), 'typed before');
  t.equal(await notice(deleted, 'voided').count(), 0, 'only its own pages');
  t.equal((await call({ method: 'DELETE', url: `${RUNS}/wrong` })).status, 204);
  await notice(deleted, 'deleted').waitFor();
  t.strictSame(await usable(deleted), ['Show'], 'the search for an employee');
});

t.test('a page shows that data of its employer changed, and nothing of other employers', async (t) => {
  const { signedIn, put, db } = await openPayroll(t);
  await put('r', '2026-07-17');
  const page = await signedIn();
  await openListening(page, '/runs/r');
  const outdated = page.getByText('Data of this employer changed after you opened this page.');
  const finalize = page.getByRole('link', { name: 'Finalize …' });
  const refreshed = page.waitForResponse('**/runs/r/state?*');
  await employ(db, 'stranger', { employer_id: 'other' });
  await refreshed;
  t.equal(await outdated.count(), 0);
  await employ(db, 'newcomer');
  await outdated.waitFor();
  t.equal(await finalize.isVisible(), false);
  await page.getByRole('link', { name: 'Reload' }).click();
  await finalize.waitFor();
  t.equal(await outdated.count(), 0);
});

t.test('a form of an ended session is sent again once the same person has signed in', async (t) => {
  const { app, signedIn, finalized, run } = await openPayroll(t);
  await finalized('r', '2026-07-17');
  const page = await signedIn({ refusals: true });
  const context = page.context();
  await page.goto('/runs/r/void');
  await page.getByLabel('Reason').fill('typed before');
  await context.clearCookies();
  await click(page, 'Void the run');
  const [tab] = await Promise.all([
    context.waitForEvent('page'),
    page.getByRole('link', { name: 'Sign in in a new tab' }).click(),
  ]);
  await tab.getByLabel('API token').fill(FIRST_TOKEN);
  await tab.keyboard.press('Enter');
  await tab.getByRole('heading', { name: 'You are signed in' }).waitFor();
  t.equal((await run('r')).state, 'finalized');
  const authorization = `Bearer ${FIRST_TOKEN}`;
  const refreshed = (headers: object) =>
    app.inject({ url: '/runs/r/state', headers: { authorization, ...headers } });
  t.match((await refreshed({})).body, 'id="message"');
  t.notMatch((await refreshed({ 'x-background': '1' })).body, 'id="message"', 'the message stays');
  await page.bringToFront();
  await page.evaluate(() => dispatchEvent(new Event('focus')));
  await page.waitForURL('**/runs/r?voided=true');
  t.match(await run('r'), { state: 'voided', void_reason: 'typed before' });
});
