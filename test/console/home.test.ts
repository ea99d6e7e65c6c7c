/** Tests the list of payrolls that are due. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { extract } from 'tar';
import { transact } from '../../src/database/transaction.ts';
import { every } from '../payroll/calendars.ts';
import {
  dateOf,
  deduct,
  employ,
  employment,
  LATELY,
  learn,
  schedule,
  setCode,
  setSchedules,
  sync,
} from '../support/payroll.ts';
import { cells, click, openPayroll } from './runs-stage.ts';
import { follow, HOSTILE } from './stage.ts';

t.test('a payroll after the next one can be opened from the runs of its employer', async (t) => {
  const { opened, run } = await openPayroll(t);
  const page = await opened('/runs?employer_id=acme');
  await click(page, /^Jul 31, 2026/);
  await page.waitForURL('**/runs/acme-biweekly-2026-07-31');
  t.match(await run('acme-biweekly-2026-07-31'), { state: 'open', pay_date: '2026-07-31' });
});

t.test('open items and changes not delivered are listed with a payroll', async (t) => {
  const { opened, finalized, put, call, db } = await openPayroll(t);
  await finalized('before', '2026-07-03');
  const lines = [{ employee_id: 'emp-1', amount: '1.00' }];
  await call({ method: 'POST', url: '/v1/payroll-runs/before/taken', body: { lines } });
  for (const employee_id of ['emp-1', 'emp-2']) {
    const body = { employee_id, termination_date: '2026-07-10' };
    const headers = { 'idempotency-key': employee_id };
    await call({ method: 'POST', url: '/v1/employee-changes/termination', headers, body });
  }
  const rejected = { state: 'rejected', is_next: 0, finished_at: LATELY } as const;
  await transact(db, (trx) =>
    trx.updateTable('outbox').set(rejected).where('subject_id', '=', 'emp-1').execute(),
  );
  const page = await opened('/');
  const row = page.getByRole('row', { name: /acme/ });
  const ofRejected = row.getByRole('link', { name: '1 change rejected' });
  await ofRejected.waitFor();
  await put('r', '2026-07-17');
  await page.goto('/');
  await row.getByRole('link', { name: 'The service rejected employment changes' }).waitFor();
  t.equal(await ofRejected.count(), 0, 'the failed check names it');
  await follow(page, row.getByRole('link', { name: '1 open item' }));
  t.match(await page.locator('h1').textContent(), 'Open items of acme');
  await page.goto('/');
  await follow(page, row.getByRole('link', { name: '1 change not delivered yet' }));
  t.match(await cells(page, 'Employment changes, newest first'), [
    ['Termination', 'emp-2', 'pending', '', '0', String],
  ]);
});

t.test('a pay schedule that ends soon is listed, until its last pay date at the payroll', async (t) => {
  const { opened, db } = await openPayroll(t);
  const endWith = async (last: string) => {
    const pay_dates = schedule().pay_dates.filter(({ pay_date }) => pay_date <= last);
    await setSchedules(db, [schedule({ pay_dates })]);
  };
  await endWith('2026-07-31');
  const page = await opened('/');
  await page.getByText('1 pay schedule ends within 60 days').click();
  t.match(await page.locator('#ending li').textContent(), /^acme, biweekly: .* after Jul 31, 2026$/);
  const add = { name: 'Add the next pay dates' };
  t.match(await page.getByRole('link', add).getAttribute('href'), /employer_id=acme&.*frequency=biweekly$/);
  await endWith('2026-07-17');
  await page.goto('/');
  await page.getByRole('row', { name: /acme/ }).getByRole('link', add).waitFor();
  t.equal(await page.locator('#ending').count(), 0);
});

const GROUPS = ['north', 'south'];
const SCHEDULES = GROUPS.map((pay_group) => schedule({ pay_group }));

/** Opens the payroll of two pay groups with one employee each. */
async function openTwoGroups(t: Test) {
  const stage = await openPayroll(t);
  await setSchedules(stage.db, SCHEDULES);
  await employ(stage.db, 'emp-1', { pay_group: 'north' });
  await employ(stage.db, 'emp-2', { pay_group: 'south' });
  return stage;
}

t.test('one click starts all payrolls; a check that fails in several is accepted run by run', async (t) => {
  const { opened, db, run, call } = await openTwoGroups(t);
  await setCode(db, 'vision');
  const page = await opened('/');
  await page.getByRole('row', { name: /south/ }).waitFor();
  const step = page.getByRole('link', { name: 'Finish the setup' });
  t.equal(await step.count(), 1, 'a step of the whole employer is listed once');
  await click(page, /^Start all 2 payrolls$/);
  const row = page.getByRole('row', { name: /south/ });
  await row.getByRole('link', { name: 'Lines have no payroll code' }).waitFor();
  t.match(await row.textContent(), /in \d+ days/, 'and when it is due');
  t.equal(await page.getByRole('button', { name: /^Start/ }).count(), 0, 'all were started');
  const checks = page.getByRole('navigation', { name: 'Payrolls by failed check' });
  await follow(page, checks.getByRole('link', { name: 'Lines have no payroll code 2' }));
  await page.waitForURL('**/?check=codes-missing');
  t.equal((await cells(page, 'Payrolls by pay date')).length, 2);
  const north = page.getByRole('row', { name: /north/ });
  await follow(page, north.getByRole('link', { name: 'Lines have no payroll code' }));
  await page.locator('#check-codes-missing').getByText('medical pre-tax employee').waitFor();
  await page.getByRole('link', { name: /^Finalize/ }).click();
  const box = page.getByLabel('Lines have no payroll code', { exact: true });
  await box.check();
  await page.getByLabel('Reason', { exact: true }).fill('codes follow on Friday');
  await click(page, 'Accept findings and finalize');
  await follow(page, page.getByRole('link', { name: /^Next payroll.*south/ }));
  await page.getByRole('link', { name: /^Finalize/ }).click();
  await deduct(db, 'evt-second', { id: 'ded-9', employee_id: 'emp-2', line_of_coverage: 'dental' });
  await page.reload();
  await page.getByLabel('Two deductions for one line of coverage', { exact: true }).waitFor();
  t.equal(await box.isChecked(), false, 'each run is a decision of its own');
  await click(page, 'Accept findings and finalize');
  await page.getByRole('alert').getByRole('link', { name: 'Lines have no payroll code' }).waitFor();
  await box.check();
  await page.getByLabel('Two deductions for one line of coverage', { exact: true }).check();
  await page.getByLabel('Reason', { exact: true }).fill('here too');
  await click(page, 'Accept findings and finalize');
  await page.getByRole('heading', { name: 'The run is final' }).waitFor();
  t.match(await run('acme-biweekly-south-2026-07-17'), { accept_reason: 'here too' });
  const { data } = (await call({ url: '/v1/audit?action=run.finalize' })).json;
  t.equal(data.length, 2, 'with its own audit record');
});

t.test('a check that fails in several payrolls is accepted in the selected payrolls', async (t) => {
  const { opened, db, run, call, put } = await openTwoGroups(t);
  await setCode(db, 'vision');
  for (const pay_group of GROUPS) await put(pay_group, '2026-07-17', { pay_group });
  const page = await opened('/', { refusals: true });
  const checks = page.getByRole('navigation', { name: 'Payrolls by failed check' });
  await follow(page, checks.getByRole('link', { name: 'Lines have no payroll code 2' }));
  await follow(page, page.getByRole('link', { name: 'Accept these findings …' }));
  await page.getByLabel('Reason').fill('codes follow on Friday');
  await click(page, 'Accept for the selected payrolls');
  await page.getByText('Select at least one payroll.').waitFor();
  await page.getByLabel('Select all on this page').check();
  await deduct(db, 'evt-second', { id: 'ded-9', employee_id: 'emp-2', line_of_coverage: 'vision' });
  await click(page, 'Accept for the selected payrolls');
  const outcomes = page.getByRole('status').getByRole('listitem');
  await outcomes.first().waitFor();
  t.match(await outcomes.allTextContents(), [
    /north, Jul 17, 2026: accepted, 1 finding\.$/,
    /south, Jul 17, 2026: not accepted\. The run changed after its findings were shown\.$/,
  ]);
  await follow(page, page.getByRole('link', { name: 'Show what is left' }));
  const south = page.getByLabel(/south/);
  await south.check();
  t.equal(await page.getByLabel(/north/).count(), 0);
  await page.getByLabel('Reason').fill('and here');
  await click(page, 'Accept for the selected payrolls');
  await page.getByText(/south, Jul 17, 2026: accepted, 1 finding\.$/).waitFor();
  const { data } = (await call({ url: '/v1/audit?action=run.accept-findings' })).json;
  t.match(data, [{ reason: 'and here' }, { reason: 'codes follow on Friday' }], 'each run has its record');
  await follow(page, page.getByRole('link', { name: 'Back to Home' }));
  await page.getByRole('link', { name: 'Ready 2' }).waitFor();
  t.match(await run('north'), { state: 'open' });
});

t.test('ready payrolls are finalized together, each with the amounts that were shown', async (t) => {
  const { opened, db, run, put } = await openTwoGroups(t);
  for (const pay_group of GROUPS) await put(pay_group, '2026-07-17', { pay_group });
  const page = await opened('/', { refusals: true });
  await follow(page, page.getByRole('link', { name: 'Finalize 2 ready payrolls …' }));
  t.match(await cells(page, 'Ready payrolls'), [
    ['', /north, Jul 17, 2026Checked/, '1', '$69.23', '$161.53', '', ''],
    ['', /south, Jul 17, 2026Checked/, '1', '$69.23', '$161.53', '', ''],
  ]);
  await click(page, 'Finalize the selected payrolls');
  await page.getByText('Select at least one payroll.').waitFor();
  await page.getByLabel('Select all on this page').check();
  await deduct(db, 'evt-second', { id: 'ded-9', employee_id: 'emp-2', line_of_coverage: 'vision' });
  await click(page, 'Finalize the selected payrolls');
  const outcomes = page.getByRole('status').getByRole('listitem');
  await outcomes.first().waitFor();
  t.match(await outcomes.allTextContents(), [
    /north, Jul 17, 2026: finalized, employees pay \$69\.23\.$/,
    /south, Jul 17, 2026: not finalized\. Its amounts changed after they were shown\. Review it$/,
  ]);
  t.match([await run('north'), await run('south')], [{ state: 'finalized' }, { state: 'open' }]);
});

t.test('starting all payrolls names each refused payroll, with the reason', async (t) => {
  const { opened, db, finalized, run } = await openPayroll(t);
  await finalized('before', '2026-07-03');
  await setSchedules(db, SCHEDULES);
  await learn(db, employment('g-1', { employer_id: 'globex' }));
  await setSchedules(db, [schedule()], 'globex');
  const page = await opened('/');
  await click(page, /^Start all 3 payrolls$/);
  const refused = page.getByRole('region', { name: '1 payroll started, 2 not' });
  await refused.waitFor();
  t.match(await refused.getByRole('listitem').allTextContents(), [
    /^acme, biweekly, north, Jul 17, 2026: .*pay_group/s,
    /^acme, biweekly, south, Jul 17, 2026: .*pay_group/s,
  ]);
  t.match(await run('globex-biweekly-2026-07-17'), { state: 'open' });
  await page.getByRole('button', { name: /^Start all 2 payrolls$/ }).waitFor();
  t.ok(await refused.isVisible(), 'the list refreshed below it');
});

t.test('after finalizing, open payrolls with an earlier pay date are mentioned', async (t) => {
  const { opened, db, finalized } = await openPayroll(t);
  const early = every(14, '2026-01-01', 26).map((date) => dateOf(date));
  const late = ['b', 'c'].map((pay_group) => schedule({ pay_group }));
  await setSchedules(db, [schedule({ pay_group: 'a', pay_dates: early }), ...late]);
  await employ(db, 'emp-1', { pay_group: 'b' });
  await employ(db, 'emp-2', { pay_group: 'c' });
  await finalized('r', '2026-07-17', { pay_group: 'b' });
  const page = await opened('/runs/r?finalized=true');
  await page.getByText('Next: acme, biweekly, c, Jul 17, 2026.').waitFor();
  await page.getByText('1 payroll with an earlier pay date is still open.').waitFor();
});

t.test('an employer that needs a setup is led through its steps', async (t) => {
  const { opened, db, tokenWith } = await openPayroll(t);
  await sync(db, { employer_id: HOSTILE });
  await setCode(db, 'medical');
  const page = await opened('/?state=needs_setup');
  const row = page.getByRole('row', { name: HOSTILE });
  t.strictSame(await row.getByRole('listitem').allTextContents(), [
    'Finish the setup: census, pay dates, payroll codes, payroll policy',
  ]);
  await follow(page, row.getByRole('link', { name: 'Finish the setup' }));
  t.match(await page.locator('h1').textContent(), HOSTILE);
  const blind = await opened('/?state=needs_setup', { token: await tokenWith('runs:read', 'runs:write') });
  await blind.getByRole('link', { name: 'Finish the setup' }).click();
  await blind.getByText('your token lacks the scope census:write').waitFor();
  t.equal(await blind.locator('main a[href^="/census"]').count(), 0, 'it may not open the page');
  const reader = await opened('/', { token: await tokenWith('runs:read') });
  await reader.getByRole('row', { name: /acme/ }).waitFor();
  t.equal(await reader.getByRole('button', { name: /Start/ }).count(), 0);
  const other = await opened('/', { token: await tokenWith('events:read') });
  t.match(other.url(), /\/events$/, 'home needs runs:read');
});

t.test('all files of today are one download, and each is recorded', async (t) => {
  const { opened, base, cookie, finalized, call, tokenWith } = await openTwoGroups(t);
  const empty = await fetch(`${base}/payrolls/files.tar`, { headers: { cookie: await cookie() } });
  t.equal(empty.status, 404);
  await finalized('of-north', '2026-07-03', { pay_group: 'north' });
  await finalized('of-south', '2026-07-03', { pay_group: 'south' });
  const page = await opened('/', { token: await tokenWith('runs:read', 'audit:read') });
  const download = page.getByRole('link', { name: 'Download today’s 2 files (.tar)' });
  const [saved] = await Promise.all([page.waitForEvent('download'), download.click()]);
  const folder = t.testdir();
  await saved.saveAs(join(folder, 'files.tar'));
  await extract({ file: join(folder, 'files.tar'), cwd: folder });
  t.match(readFileSync(join(folder, 'of-north.csv'), 'utf8'), /emp-1/);
  t.notMatch(readFileSync(join(folder, 'of-south.csv'), 'utf8'), /emp-1/);
  const { data } = (await call({ url: '/v1/audit?action=run.download' })).json;
  t.equal(data.length, 2);
});

t.test('Home names held censuses, rejected changes and the next pay dates', async (t) => {
  const { opened, db, call } = await openPayroll(t);
  const body = { employee_id: 'emp-1', termination_date: '2026-07-10' };
  await call({ method: 'POST', url: '/v1/employee-changes/termination', body });
  const rejected = { state: 'rejected', is_next: 0, finished_at: LATELY } as const;
  await transact(db, (trx) => trx.updateTable('outbox').set(rejected).execute());
  await sync(db, { employer_id: 'other', state: 'waiting' });
  const held = { state: 'held', held_census_id: 'census', held_for: '[]' } as const;
  await transact(db, (trx) =>
    trx.updateTable('census_syncs').set(held).where('employer_id', '=', 'other').execute(),
  );
  const page = await opened('/');
  t.strictSame(await page.locator('ul.notice > li').allTextContents(), [
    '1 rejected employment change: retry or cancel it',
    '1 held census: you can release it',
  ]);
  await page.getByText('Next pay dates', { exact: true }).click();
  t.match(await page.locator('#next-dates').textContent(), 'Jul 31, 2026acme, biweekly');
});
