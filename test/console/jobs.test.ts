/** The jobs of a payroll specialist, each with a budget of interactions: a click, a choice or a field filled. */
import t, { type Test } from 'tap';
import { ROLES } from '../../src/security/scopes.ts';
import { apply, deductionOf, deliver, quarantine } from '../api/deliver.ts';
import { employee, organization } from '../contract/samples.ts';
import { deduct, employment, LATELY, learn, schedule, setSchedules, sync } from '../support/payroll.ts';
import { type Counting, counting } from './interactions.ts';
import { cells, openPayroll, type PayrollConsole } from './runs-stage.ts';
import { assertGood, type Page } from './stage.ts';

/** The employers of one payroll specialist. */
const EMPLOYERS = Array.from({ length: 20 }, (_, place) =>
  place === 0 ? 'acme' : `client-${String(place).padStart(2, '0')}`,
);
/** The employer whose payroll is not ready. */
const NOT_READY = 'client-07';
const idOf = (employer: string) => `${employer}-biweekly-2026-07-17`;

/** Adds employers whose payroll is as ready as the payroll of acme, except for one. */
async function employers({ db }: PayrollConsole): Promise<void> {
  const others = EMPLOYERS.slice(1);
  await learn(db, ...others.map((employer_id) => employment(`${employer_id}-1`, { employer_id })));
  const ids = [
    ...others.map((employer) => [employer, `${employer}-1`]),
    ['again', `${NOT_READY}-1`],
  ] as const;
  const events = ids.map(([id, employee_id]) => deductionOf(`evt-${id}`, { id: `ded-${id}`, employee_id }));
  await deliver(db, events, LATELY);
  for (const employer_id of others) {
    await setSchedules(db, [schedule()], employer_id);
    await sync(db, { employer_id });
  }
}

/** Finalizes the run on the page after its totals were seen. */
async function finish(t: Test, page: Page, { use }: Counting): Promise<void> {
  await page.getByRole('heading', { name: 'Ready to finalize' }).waitFor();
  t.match(await page.getByRole('region', { name: 'Payroll run' }).textContent(), /Employee amount\$\d/);
  await use('link', /^Finalize/);
  await page.getByRole('heading', { name: 'Totals to finalize' }).waitFor();
  await use('button', /^Finalize$/);
  await page.getByRole('heading', { name: 'The run is final' }).waitFor();
}

t.test('finish twenty employers: three interactions for one, six for all ready payrolls', async (t) => {
  const stage = await openPayroll(t);
  await employers(stage);
  const page = await stage.signedIn();
  const counted = counting(page);
  const { use, check, used } = counted;
  await page.goto('/');
  for (const [name, id] of [
    [/^Start the payroll of acme/, 'acme'],
    [/^Next payroll/, 'client-01'],
  ] as const) {
    const before = used();
    await use('button', name);
    await page.waitForURL(`**/runs/${idOf(id)}`);
    await finish(t, page, counted);
    t.ok(used() - before <= 3, id);
  }
  await page.getByRole('button', { name: /^Next payroll.*client-02/ }).waitFor();
  await use('link', /^Home$/);
  await use('button', /^Start all 18 payrolls$/);
  await page.getByText('Two deductions for one line of coverage').waitFor();
  await use('link', /^Finalize 17 ready payrolls/);
  const amounts = (await cells(page, 'Ready payrolls')).map((row) => row[3]);
  t.strictSame(amounts, Array(17).fill('$69.23'), 'the amount of each payroll is shown');
  await check('Select all on this page');
  await use('button', /^Finalize the selected payrolls$/);
  await page.getByRole('heading', { name: 'What happened' }).waitFor();
  await use('link', /^Back to Home$/);
  t.ok(used() <= 12, `${used()} interactions`);
  await page.getByText('Two deductions for one line of coverage').waitFor();
  const states = (await cells(page, 'Payrolls by pay date')).map((row) => row[2]);
  const expected = EMPLOYERS.map((employer) => (employer === NOT_READY ? /^Needs review/ : 'Finalized'));
  t.match(states, expected);
  t.match(await page.getByRole('row', { name: /acme/ }).textContent(), '2$138.46', 'its totals stay');
  t.match(await stage.run(idOf(NOT_READY)), { state: 'open', period_start: '2026-06-29' });
});

t.test('set up a new employer: ten interactions from Home to a finalized run', async (t) => {
  const { opened, db, call } = await openPayroll(t);
  const put = (path: string, body: object) =>
    call({ method: 'PUT', url: `/v1/employers/acme/${path}`, body });
  const code = (side: string) => ({ line_of_coverage: 'medical', side, code: `MED-${side}` });
  await put('payroll-codes', { codes: [code('employee'), code('employer')] });
  await put('payroll-policy', { effective_from: '2026-01-01', open_items: 'include' });
  const page = await opened('/');
  const counted = counting(page);
  const { use, fill, choose, select, used } = counted;
  await fill('New employer (its ID at the benefits service)', 'harbor');
  await use('button', /^Set up$/);
  await page.getByText('This employer is not known yet.').waitFor();
  const hired = { ...employee, employee_id: 'harbor-1', pay_frequency: 'biweekly' };
  const content = JSON.stringify({ organization, employees: [hired] });
  const file = { name: 'census.json', mimeType: 'application/json', buffer: Buffer.from(content) };
  await choose('Census (JSON, CSV or Excel file)', file);
  await use('button', /^Check$/);
  await use('button', /^Stage this census$/);
  await page.getByText('Your census is staged.').waitFor();
  await deliver(db, [deductionOf('evt-harbor', { id: 'ded-harbor', employee_id: 'harbor-1' })], LATELY);
  await sync(db, { employer_id: 'harbor' });
  t.equal(await page.getByLabel('Pay frequency').inputValue(), 'biweekly', 'as the census states');
  await fill('Next pay date', '2026-07-17');
  await select('Copy payroll codes and policy from', 'acme');
  const plan = page.getByRole('region', { name: 'Saving adds' });
  await plan.getByText('The first payroll is due on Jul 17, 2026.').waitFor();
  await plan
    .getByText(
      'Moved off weekends and bank holidays: Jun 19, 2026 to Jun 18, 2026; Jan 1, 2027 to Dec 31, 2026.',
    )
    .waitFor();
  t.strictSame(await plan.locator('summary').allTextContents(), [
    '27 pay dates of 2026, biweekly: Jan 2, 2026 to Dec 31, 2026. Every date takes deductions.',
    '26 pay dates of 2027, biweekly: Jan 15, 2027 to Dec 31, 2027. Every date takes deductions.',
    '2 payroll codes of acme',
    'The payroll policy of acme',
  ]);
  await assertGood(t, page, 'a setup with its preview');
  await use('button', /^Save and start the first payroll$/);
  await finish(t, page, counted);
  t.equal(used(), 10);
  const expected = { state: 'finalized', totals: { lines: 1 } };
  t.match((await call({ url: '/v1/payroll-runs/harbor-biweekly-2026-07-17' })).json, expected);
  await page.goto('/settings/setup?employer_id=harbor');
  const states = (await cells(page, 'Steps')).map(([, state]) => state);
  t.strictSame([...new Set(states)], ['done']);
  t.equal(await page.getByRole('button', { name: /^Save/ }).count(), 0, 'nothing is missing');
  await page.goto('/');
  await page.getByRole('link', { name: `${organization.legal_business_name} harbor` }).waitFor();
});

t.test('approve as a manager on a phone: three interactions, then the specialist finalizes', async (t) => {
  const stage = await openPayroll(t);
  const { opened, personWith, call, run } = stage;
  const body = { required: true, reason: 'a test' };
  await call({ method: 'PUT', url: '/v1/employers/acme/second-approval', body });
  const specialist = await opened('/', {
    token: await personWith('ann@example.com', ...ROLES['payroll-specialist']),
  });
  const prepared = counting(specialist);
  await prepared.use('button', /^Start/);
  await specialist.getByRole('heading', { name: 'Waiting for approval' }).waitFor();
  const bar = specialist.getByRole('region', { name: 'Payroll run' });
  await bar.getByText('waiting for approval').waitFor();
  t.equal(await bar.getByRole('link', { name: /^(Finalize|Approve)/ }).count(), 0, 'another person is next');
  await specialist.goto('/');
  await specialist.getByText('Waiting for approval').first().waitFor();

  const token = await personWith('bob@example.com', ...ROLES['payroll-manager']);
  const manager = await opened('/', { token, width: 390 });
  const name = manager.locator('.user [href="/sessions"]');
  const isWhole = await name.evaluate((link) => {
    link.textContent = 'dana.whitfield@example.com';
    return link.scrollWidth <= link.clientWidth;
  });
  t.ok(isWhole, 'the name of the user is not cut');
  const { use, fill, used } = counting(manager);
  await use('link', /^Approve the payroll of acme/);
  await manager.getByRole('heading', { name: 'Totals to finalize' }).waitFor();
  await fill('Reason', 'reviewed');
  await use('button', /^Approve finalizing$/);
  await manager.getByText('Another person can now finalize this run.').waitFor();
  await manager.getByText(/^approved by/).waitFor();
  t.equal(await manager.getByRole('link', { name: /^Finalize/ }).count(), 0, 'not the person who approved');
  t.equal(used(), 3);

  await prepared.use('link', /^Review/);
  await finish(t, specialist, prepared);
  t.match(await run(idOf('acme')), { state: 'finalized', approved_by: { kind: 'token' } });
});

t.test('find why an employee pays $92.30: two interactions from the first page', async (t) => {
  const { opened, finalized, db } = await openPayroll(t);
  await finalized('before', '2026-07-03');
  const raised = { id: 'ded-1', employee_id: 'emp-1', effective_start: '2026-07-10' };
  await deduct(db, 'evt-5', { ...raised, member_contribution: '200.00' }, '2026-07-05T00:00:00Z');
  await finalized('r', '2026-07-17');
  const page = await opened('/');
  const { use, fill, used } = counting(page);
  await fill('Name or ID', 'emp-1');
  await page.getByRole('link', { name: /^emp-1/ }).waitFor();
  await use('link', /^emp-1/);
  await page.getByRole('heading', { name: 'Employee emp-1' }).waitFor();
  t.equal(used(), 2);
  t.match(await cells(page, 'Last paychecks of ded-1'), [
    ['Jul 17, 2026', '$92.30', '$161.53', /\$200\.00 monthly × 12 = \$2,400\.00 a year/],
    ['Jul 3, 2026', '$69.23', '$161.53', /\$150\.00 monthly × 12 = \$1,800\.00 a year/],
  ]);
  const [last] = await cells(page, 'Last paychecks');
  t.match(last, ['Jul 17, 2026', '$92.30', '$161.53', /^medical \$92\.30$/, /^Report deductions taken/]);
});

t.test('report one short paycheck: four interactions from the first page', async (t) => {
  const { opened, finalized, call } = await openPayroll(t);
  await finalized('r', '2026-07-17');
  const page = await opened('/');
  const { use, fill, used } = counting(page);
  await use('link', /^Open the payroll of acme/);
  await use('link', /^Report deductions taken$/);
  await fill('Employee, by name or ID', 'emp-1');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Paycheck of emp-1' }).waitFor();
  await assertGood(t, page, 'the form of one paycheck');
  await fill('medical, pre-tax', '$50.00');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Report 1 saved' }).waitFor();
  t.equal(used(), 4);
  const { json } = await call({ url: '/v1/employees/emp-1' });
  t.match(json.open_items, [{ kind: 'arrears', outstanding_member_amount: '19.23' }]);
});

t.test('repair a quarantined change: five interactions from the first page to a ready run', async (t) => {
  const { opened, db, put, woken } = await openPayroll(t);
  const raised = { id: 'ded-1', employee_id: 'emp-1', member_contribution: '200.00' };
  await quarantine(db, deductionOf('evt-lost', raised, '2026-07-05T00:00:00Z'), LATELY);
  await put(idOf('acme'), '2026-07-17');
  const page = await opened('/');
  const { use, used } = counting(page);
  await use('link', /^Review the payroll of acme/);
  await page.getByRole('heading', { name: 'Not ready' }).waitFor();
  await use('link', /^evt-lost$/);
  await page.getByText(/from \$150\.00 for medical: the change to \$200\.00 monthly/).waitFor();
  await use('button', /^Reprocess$/);
  await page.getByText('pending: not applied yet').waitFor();
  t.equal(woken.apply, 1);
  await apply(db, LATELY);
  await page.getByText('Payroll deducts $200.00 monthly from emp-1 for medical').waitFor();
  await use('link', /^Home$/);
  await use('link', /^Review the payroll of acme/);
  await page.getByRole('heading', { name: 'Ready to finalize' }).waitFor();
  t.equal(used(), 5);
});
