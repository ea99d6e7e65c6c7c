/** The jobs of a payroll specialist, each with a budget of interactions: a click, a choice or a field filled. */
import t from 'tap';
import { deductionOf, deliver } from '../api/deliver.ts';
import { deduct, employment, LATELY, learn, schedule, setSchedules, sync } from '../support/payroll.ts';
import { open, openPayroll, type PayrollConsole } from './runs-stage.ts';
import { assertAccessible, follow, type Page } from './stage.ts';

const EMPLOYERS = ['acme', 'birch', 'cedar', 'dogwood', 'elm'];

/** Adds employers whose payroll is as ready as the payroll of acme. */
async function employers({ db }: PayrollConsole): Promise<void> {
  for (const employer_id of EMPLOYERS.slice(1)) {
    const employee_id = `${employer_id}-1`;
    await learn(db, employment(employee_id, { employer_id }));
    await deliver(db, [deductionOf(`evt-${employee_id}`, { id: `ded-${employee_id}`, employee_id })], LATELY);
    await setSchedules(db, [schedule()], employer_id);
    await sync(db, { employer_id });
  }
}

/** Counts interactions: each opens the page that follows. */
function counting(page: Page) {
  let interactions = 0;
  return {
    used: () => interactions,
    async use(role: 'link' | 'button', name: RegExp) {
      interactions += 1;
      await follow(page, page.getByRole(role, { name }).first());
    },
  };
}

t.test('finish five employers: three interactions each, and each total is seen', async (t) => {
  const stage = await openPayroll(t);
  await employers(stage);
  const page = await stage.signedIn();
  const { use, used } = counting(page);
  await page.goto('/');
  for (const [place, employer] of EMPLOYERS.entries()) {
    await use('button', place === 0 ? /^Start the payroll of acme/ : /^Next payroll/);
    await page.waitForURL(`**/runs/${employer}-biweekly-2026-07-17`);
    await page.getByRole('heading', { name: 'Ready to finalize' }).waitFor();
    t.match(await page.getByRole('region', { name: 'Payroll run' }).textContent(), /Employee amount\$\d/);
    await use('link', /^Finalize/);
    await page.getByRole('heading', { name: 'Totals to finalize' }).waitFor();
    await use('button', /^Finalize$/);
    await page.getByRole('heading', { name: 'The run is final' }).waitFor();
    t.equal((await stage.run(`${employer}-biweekly-2026-07-17`)).state, 'finalized');
  }
  t.equal(used(), 15);
  await assertAccessible(t, page, 'the success page');
  await use('link', /^All payrolls/);
  t.equal(await page.getByText('Finalized', { exact: true }).count(), 5);
});

t.test('a payroll that is not ready stops before it is final', async (t) => {
  const { signedIn, db, run } = await openPayroll(t);
  await deduct(db, 'evt-3', { id: 'ded-3', employee_id: 'emp-1' });
  const page = await signedIn();
  await page.goto('/');
  const { use } = counting(page);
  await use('button', /^Start/);
  await use('link', /^Finalize/);
  await use('button', /^Accept findings and finalize$/);
  await page.getByText('is required to accept findings').first().waitFor();
  t.equal((await run('acme-biweekly-2026-07-17')).state, 'open');
});

t.test('find why an employee pays $92.30: two interactions from the run', async (t) => {
  const { signedIn, finalized, put, db } = await openPayroll(t);
  await finalized('before', '2026-07-03');
  const raised = { id: 'ded-1', employee_id: 'emp-1', effective_start: '2026-07-10' };
  await deduct(db, 'evt-5', { ...raised, member_contribution: '200.00' }, '2026-07-05T00:00:00Z');
  await put('r', '2026-07-17');
  const page = await signedIn();
  await open(page, '/runs/r');
  await page.keyboard.press('/');
  t.equal(await page.evaluate(() => document.activeElement?.id), 'search', 'the key / goes to the search');
  await page.locator('details.employee > summary').click();
  await page.locator('details.line > summary').click();
  t.match(await page.locator('.explanation').textContent(), '200.00 monthly × 12 = 2,400.00 a year');
});
