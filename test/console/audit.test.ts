import t from 'tap';
import { apply, deductionOf, deliver } from '../api/deliver.ts';
import { CENSUS_FORMAT } from '../census/parts.ts';
import { BIWEEKLY, EMPLOYER, schedule } from '../support/payroll.ts';
import { cells, openPayroll } from './runs-stage.ts';
import { assertGood, openConsole } from './stage.ts';

t.test('actions are listed with who took them and why, also on the page of their resource', async (t) => {
  const stage = await openConsole(t);
  const { db } = stage;
  await deliver(db, [deductionOf('evt_bad', { member_contribution: 'much' })]);
  await apply(db);
  const page = await stage.opened('/events/evt_bad');
  await page.getByText('Other actions').click();
  await page.getByLabel('Reason').fill('a test event');
  await page.getByRole('button', { name: 'Dismiss' }).click();
  // The page opens again, with its history folded.
  await page.getByText(/: a test event$/).waitFor();
  await page.getByText('History').click();
  const history = page.getByRole('table', { name: 'Actions, newest first' });
  await history.getByText('a test event').waitFor();
  t.match(await history.textContent(), 'Event dismissed');

  await page.goto('/audit?action=event.dismiss');
  const records = page.getByRole('table', { name: 'Audit records, newest first' });
  t.match(await records.textContent(), /Event dismissed.*evt_bad.*a test event/s);
  await page.getByText('Proof that no record was altered').click();
  t.match(await page.locator('code').first().textContent(), /^\d+:[0-9a-f]{64}$/);
  await page.goto('/audit?employee_id=unknown');
  t.match(await page.locator('main').textContent(), 'No matching records');
});

t.test('the page of a record shows what changed in words', async (t) => {
  const { call, signedIn } = await openPayroll(t);
  const set = async (path: string, body: object) => {
    const url = `/v1/employers/${EMPLOYER}/${path}`;
    t.equal((await call({ method: 'PUT', url, body })).status, 200);
  };
  const page = await signedIn({ refusals: true });
  const changes = async (action: string) => {
    await page.goto(`/audit?employer_id=${EMPLOYER}`);
    await page.getByRole('link', { name: action }).first().click();
    await page.getByRole('heading', { name: 'What changed' }).waitFor();
    return cells(page, 'Changed values');
  };
  const moved = BIWEEKLY.map((date) =>
    date.pay_date === '2026-12-18' ? { ...date, pay_date: '2026-12-17', takes: 'own_period' as const } : date,
  );
  await set('pay-schedules/2026', { schedules: [schedule({ pay_dates: moved })] });
  t.strictSame(await changes('Pay schedule set'), [
    ['biweekly, Dec 17, 2026', 'none', 'pays Nov 30, 2026 to Dec 13, 2026; takes deductions per check only'],
    ['biweekly, Dec 18, 2026', 'pays Nov 30, 2026 to Dec 13, 2026', 'none'],
  ]);
  await assertGood(t, page, 'an audit record');
  await set('pay-schedules/2026', { schedules: [] });
  t.strictSame(await changes('Pay schedule set'), [
    ['biweekly, all pay dates of 2026', '26 pay dates, Jan 2, 2026 to Dec 17, 2026', 'none'],
  ]);
  const code = { line_of_coverage: 'dependent_care_fsa', taxability: 'pre_tax', side: 'employee' };
  await set('payroll-codes', { codes: [{ ...code, code: 'FSA1' }] });
  t.strictSame(await changes('Payroll codes set'), [
    ['dependent care FSA, pre-tax, employee', 'none', 'FSA1'],
  ]);
  const recoup = { method: 'multiple', value: '2' };
  await set('payroll-policy', { effective_from: '2026-08-01', applies_on: 'period_end', recoup });
  t.strictSame(await changes('Payroll policy set'), [
    ['In effect on', 'The pay date', 'The last day of the pay period'],
    ['Limit for open items', '1x', '2x'],
  ]);
  t.match(await page.locator('main').textContent(), 'For pay dates from Aug 1, 2026 on');
  await set('payroll-policy', { effective_from: '2026-09-01', applies_on: 'period_end', recoup });
  await page.goto('/audit?action=policy.put');
  await page.getByRole('link', { name: 'Payroll policy set' }).first().click();
  await page.getByText('The values are the same as before.').waitFor();
  const { columns } = CENSUS_FORMAT;
  const [first, ...others] = columns;
  await set('file-formats/census', { columns });
  const leave_out = [{ header: 'employee_id', values: ['Total*', 'Sum'], reason: 'totals' }];
  const confirmed = [{ ...first, rules: ['date-time'] }, ...others];
  await set('file-formats/census', { columns: confirmed, id_prefix: 'a-', leave_out });
  t.strictSame(await changes('File format set'), [
    ['Column employee_id', 'employee_id', 'employee_id, date time'],
    ['Rows left out by employee_id: totals', 'none', 'Total*, Sum'],
    ['Prefix of IDs', 'none', 'a-'],
  ]);
  await set('second-approval', { required: true, reason: 'two persons' });
  t.strictSame(await changes('Second approval set'), [['Second approval', 'not required', 'required']]);
  await page.goto('/audit/999');
  await page.getByText('There is no such record').waitFor();
});
