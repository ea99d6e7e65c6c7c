import t from 'tap';
import { RUNS } from '../api/payroll-stage.ts';
import { open, openPayroll, type PayrollConsole } from './runs-stage.ts';
import { assertGood, type Page } from './stage.ts';

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

t.test('an open run page shows that the run was finalized elsewhere', async (t) => {
  const stage = await openPayroll(t);
  await stage.put('r', '2026-07-17');
  const page = await stage.signedIn();
  await openListening(page, '/runs/r');
  const finalize = page.getByRole('link', { name: 'Finalize …' });
  await finalize.waitFor();
  t.match(await usable(page), ['Recompute', /./, /./, /./, 'Delete']);
  await post(stage, 'r/finalize');
  await notice(page, 'finalized').waitFor();
  t.match(await page.getByLabel('Summary').textContent(), /State\s*finalized/);
  t.equal(await finalize.isVisible(), false);
  t.equal(await page.getByRole('heading', { name: 'Ready to finalize' }).isVisible(), false);
  t.notOk((await usable(page)).some((name) => /Recompute|Delete|Finalize/.test(name)));
  await assertGood(t, page, 'a run page with a notice');
  await page.getByRole('link', { name: 'Show the finalized run' }).click();
  await page.getByRole('button', { name: 'Verify' }).waitFor();
  t.equal(await notice(page, 'finalized').count(), 0);
});

t.test('an open run page shows that the run was voided or deleted elsewhere', async (t) => {
  const stage = await openPayroll(t);
  const { signedIn, put, finalized, call } = stage;
  await finalized('final', '2026-07-17');
  await put('wrong', '2026-07-31');
  const [ofFinal, ofWrong] = [await signedIn(), await signedIn()];
  await openListening(ofFinal, '/runs/final');
  await openListening(ofWrong, '/runs/wrong');
  await post(stage, 'final/void', { reason: 'a test' });
  await notice(ofFinal, 'voided').waitFor();
  t.notOk((await usable(ofFinal)).some((name) => /Void|Report/.test(name)));
  t.match(await ofFinal.getByLabel('Summary').textContent(), /Reason for voiding\s*a test/);
  t.equal(await notice(ofWrong, 'voided').count(), 0, 'only its own page');
  t.equal((await call({ method: 'DELETE', url: `${RUNS}/wrong` })).status, 204);
  await notice(ofWrong, 'deleted').waitFor();
  t.strictSame(await usable(ofWrong), ['Show'], 'the filter of the lines');
});

t.test('the pages that finalize and void a run disable their button once it no longer applies', async (t) => {
  const stage = await openPayroll(t);
  await stage.put('r', '2026-07-17');
  const [finalizing, voiding] = [await stage.signedIn(), await stage.signedIn()];
  await openListening(finalizing, '/runs/r/finalize');
  await finalizing.getByRole('button', { name: 'Finalize' }).waitFor();
  await post(stage, 'r/finalize');
  await notice(finalizing, 'finalized').waitFor();
  t.strictSame(await usable(finalizing), ['Back to the run']);
  const listening = voiding.waitForResponse('**/live');
  await voiding.goto('/runs/r/void');
  await listening;
  await voiding.getByLabel('Reason').fill('typed before');
  await post(stage, 'r/void', { reason: 'a test' });
  await notice(voiding, 'voided').waitFor();
  t.strictSame(await usable(voiding), ['Back to the run']);
  t.equal(await voiding.getByLabel('Reason').inputValue(), 'typed before');
});

t.test('a page shows what changed between its rendering and its first connection', async (t) => {
  const stage = await openPayroll(t);
  await stage.put('r', '2026-07-17');
  const page = await stage.signedIn();
  const changed = Promise.withResolvers<void>();
  await page.route('**/live', async (route) => {
    await changed.promise;
    await route.continue();
  });
  await open(page, '/runs/r');
  await post(stage, 'r/finalize');
  changed.resolve();
  await notice(page, 'finalized').waitFor();
  t.notOk((await usable(page)).includes('Delete'));
});
