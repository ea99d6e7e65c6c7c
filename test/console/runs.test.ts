import t from 'tap';
import { RUNS } from '../api/payroll-stage.ts';
import { FIRST_TOKEN } from '../api/start.ts';
import { deduct, employ, setPolicy } from '../support/payroll.ts';
import { cells, click, lines, open, openLines, openPayroll, type PayrollConsole } from './runs-stage.ts';
import { assertGood, HOSTILE, type Page } from './stage.ts';

t.test('a run is previewed and saved, and each amount is explained', async (t) => {
  const { opened, call } = await openPayroll(t);
  const page = await opened('/runs/new');
  await page.getByLabel('Run id').fill('acme-1');
  await page.getByLabel('Employer id').fill('acme');
  await page.getByLabel('Pay period start').fill('2026-06-29');
  await page.getByLabel('Pay period end').fill('2026-07-12');
  await page.getByLabel('Pay date', { exact: true }).fill('2026-07-17');
  await click(page, 'Preview');
  await page.getByRole('heading', { name: 'Preview (not saved)' }).waitFor();
  t.match(await cells(page, 'By line of coverage'), [
    ['dental', '1', '1', '$69.23', '$161.53'],
    ['medical', '1', '1', '$69.23', '$161.53'],
  ]);
  t.match(
    await cells(page, 'By taxability'),
    [['pre-tax', '2', '2', '$138.46', '$323.06']],
    'with the labels of the lines',
  );
  t.equal((await call({ url: '/v1/payroll-runs/acme-1' })).status, 404, 'a preview saves nothing');
  await page.getByText('Off-cycle runs and selected employees').click();
  await page.getByLabel('Only these employees').fill('emp-1\n\n');
  await click(page, 'Preview');
  await page.locator('details.line').waitFor();
  t.strictSame(await lines(page), ['Medical, pre-tax New employee amount $69.23 employer amount $161.53']);
  await page.getByLabel('Only these employees').fill('');
  await click(page, 'Save the run');
  await page.waitForURL('**/runs/acme-1?saved=true');
  t.match((await call({ url: '/v1/payroll-runs/acme-1' })).json, { employee_ids: null });

  await page.getByRole('heading', { name: 'Totals' }).waitFor();
  await page.getByRole('heading', { name: 'Ready to finalize' }).waitFor();
  await openLines(page, '/runs/acme-1');
  t.equal((await lines(page)).length, 2);
  const line = page.locator('details.line').first();
  await line.locator('summary').focus();
  await page.keyboard.press('Enter');
  t.strictSame(await line.locator('.explanation li').allTextContents(), [
    '$150.00 monthly × 12 = $1,800.00 a year; pay date 15 of 26; $69.23',
    'employer $350.00 monthly × 12 = $4,200.00 a year; pay date 15 of 26; $161.53',
  ]);
});

t.test('problems are shown next to their fields and in a summary, and the input stays', async (t) => {
  const { opened, put } = await openPayroll(t);
  await put('taken-id', '2026-07-17');
  const page = await opened('/runs/new');
  await page.getByLabel('Employer id').fill(HOSTILE);
  await page.getByLabel('Pay date', { exact: true }).fill('2026-07-18');
  await page.getByText('Off-cycle runs and selected employees').click();
  await page.getByLabel('Only these employees').fill('emp-1\nemp-2');
  await click(page, 'Save the run');
  const said = page.getByRole('alert').filter({ hasText: 'The payroll run cannot be computed' });
  await said.waitFor();
  t.match(await said.getByRole('listitem').allTextContents(), [
    'Run ID is required',
    'Pay period start is required',
    'Pay period end is required',
  ]);
  t.ok(await said.evaluate((element) => element === document.activeElement), 'it has the focus');
  t.equal(await page.getByLabel('Employer id').inputValue(), HOSTILE);
  t.equal(await page.getByLabel('Only these employees').inputValue(), 'emp-1\nemp-2', 'its section is open');
  await said.getByRole('link', { name: 'Pay period end' }).click();
  const field = page.getByLabel('Pay period end');
  t.match(page.url(), /#period_end$/);
  t.equal(await field.getAttribute('aria-invalid'), 'true');
  const [description] = (await field.getAttribute('aria-describedby'))?.split(' ') ?? [];
  t.match(await page.locator(`#${description}`).textContent(), 'is required');

  await page.goto('/runs/new?like=taken-id');
  await page.getByLabel('Run id').fill('taken-id');
  await click(page, 'Save the run');
  await page.locator('.problem').getByText('A run with this ID and a different body exists').waitFor();
  await assertGood(t, page, 'a form with errors');
  t.equal(await page.getByLabel('Run id').getAttribute('aria-invalid'), 'true');
});

t.test('a copied run has the next pay date of the schedule', async (t) => {
  const { db, signedIn, put } = await openPayroll(t);
  await employ(db, 'emp-2', { termination_date: '2026-07-01' });
  await put('first', '2026-07-17', { final_checks: ['emp-2'] });
  const page = await signedIn();
  await open(page, '/runs/first');
  await page.getByRole('link', { name: 'Copy to a new run' }).click();
  await page.waitForURL('**/runs/new?like=first');
  t.equal(await page.getByLabel('Pay date', { exact: true }).inputValue(), '2026-07-31');
  t.equal(await page.getByLabel('Pay period start').inputValue(), '2026-07-13');
  t.equal(await page.getByLabel('Final paychecks').inputValue(), '', 'final paychecks belong to one run');
  t.equal(await page.getByLabel('Run id').inputValue(), '');
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
  t.strictSame(await lines(page), [
    'Medical, pre-tax Changed from $69.23 employee amount $92.30 employer amount $161.53',
    'Medical, pre-tax Adjustment employee amount $23.07 employer amount $0.00',
    'Dental, pre-tax employee amount $69.23 employer amount $161.53',
    'Dental, pre-tax Arrears employee amount $29.23 employer amount $0.00',
  ]);
  await open(page, '/runs/r2?employee_id=emp-2');
  await page.getByRole('link', { name: 'Arrears', exact: true }).click();
  await page.waitForURL('**/runs/r2?employee_id=emp-2&kind=arrears#lines');
  const line = page.locator('details.line');
  await line.locator('summary').click();
  t.match(await line.textContent(), 'dental was $69.23; $40.00 was taken (reported July 13); $29.23 more.');
  t.equal((await lines(page)).length, 1);
  await line.getByRole('link', { name: 'r1' }).click();
  await page.waitForURL('**/runs/r1');

  await open(page, '/runs/r2?employee_id=emp-2');
  await page.getByLabel('Change since the previous run').selectOption('changed');
  await click(page, 'Show');
  await page.locator('.empty').filter({ hasText: 'No matching lines' }).waitFor();
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
  t.match(await usable(open), ['Finalize …', 'Download CSV', 'Show', /./, /./, /./, /./, 'Delete']);
  await finalized('next', '2026-07-31');
  await notice(open, 'finalized').waitFor();
  t.match(await open.getByLabel('Summary').textContent(), /State\s*finalized/);
  t.equal(await open.getByRole('heading', { name: 'Ready to finalize' }).isVisible(), false);
  t.notOk((await usable(open)).some((name) => /Delete|Finalize/.test(name)));
  await assertGood(t, open, 'a run page with a notice');
  await open.getByRole('link', { name: 'Show the finalized run' }).click();
  await open.getByRole('button', { name: 'Verify' }).waitFor();
  t.equal(await notice(open, 'finalized').count(), 0);
  await notice(finalizing, 'finalized').waitFor();
  t.strictSame(await usable(finalizing), ['Back to the run']);
  const [run, voiding] = [await listening('/runs/final'), await listening('/runs/final/void')];
  const deleted = await listening('/runs/wrong');
  await voiding.getByLabel('Reason').fill('typed before');
  await post(stage, 'final/void', { reason: 'a test' });
  await notice(run, 'voided').waitFor();
  t.notOk((await usable(run)).some((name) => /Void|Report/.test(name)));
  t.match(await run.getByLabel('Summary').textContent(), /Reason for voiding\s*a test/);
  await notice(voiding, 'voided').waitFor();
  t.strictSame(await usable(voiding), ['Back to the run']);
  t.equal(await voiding.getByLabel('Reason').inputValue(), 'typed before');
  t.equal(await notice(deleted, 'voided').count(), 0, 'only its own pages');
  t.equal((await call({ method: 'DELETE', url: `${RUNS}/wrong` })).status, 204);
  await notice(deleted, 'deleted').waitFor();
  t.strictSame(await usable(deleted), ['Show'], 'the filter of the lines');
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
