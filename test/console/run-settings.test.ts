import t from 'tap';
import { every } from '../payroll/calendars.ts';
import { BIWEEKLY, dateOf, employment, learn, schedule, setSchedules } from '../support/payroll.ts';
import type { PayrollConsole } from './runs-stage.ts';
import { cells, click, openPayroll } from './runs-stage.ts';
import { assertGood, follow, HOSTILE } from './stage.ts';

const SETTINGS = '/v1/employers/acme';
const scheduleOf = async ({ call }: PayrollConsole) =>
  (await call({ url: `${SETTINGS}/pay-schedules/2026` })).json.schedules;
/** Writes a date as spreadsheets do: `1/31/2026`. */
const slashed = (day: string) => day.replace(/^(\d+)-0?(\d+)-0?(\d+)$/, '$2/$3/$1');
const codesOf = async ({ call }: PayrollConsole) =>
  (await call({ url: `${SETTINGS}/payroll-codes` })).json.codes;

t.test('a form is sent while its preview still loads, and again after the session ended', async (t) => {
  const stage = await openPayroll(t);
  const page = await stage.opened('/settings/payroll-codes?employer_id=acme', { refusals: true });
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  await page.route('**/payroll-codes/preview', async (route) => {
    await released;
    await route.continue();
  });
  await page.getByLabel('Code, row 1').fill('DEN');
  const [preview] = await Promise.all([
    page.waitForRequest('**/payroll-codes/preview'),
    page.getByLabel('Code, row 1').blur(),
  ]);
  t.equal(await page.getByRole('button', { name: 'Save payroll codes' }).isEnabled(), true);
  release();
  await preview.response();
  const cookies = await page.context().cookies();
  await page.context().clearCookies();
  // The click ends the change, so that the preview is sent after the form.
  await page.getByLabel('Code, row 2').fill('DEN-ER');
  const later = page.waitForResponse('**/payroll-codes/preview');
  await click(page, 'Save payroll codes');
  await later;
  await page.getByRole('link', { name: 'Sign in in a new tab' }).waitFor();
  await page.context().addCookies(cookies);
  await page.evaluate(() => dispatchEvent(new Event('focus')));
  await page.waitForURL('**saved=**');
  t.strictSame(
    (await codesOf(stage)).map(({ code }: { code: string }) => code),
    ['DEN', 'DEN-ER'],
  );
});

t.test('payroll codes are edited as a table: pasted, changed, removed, and rejected by row', async (t) => {
  const stage = await openPayroll(t);
  const page = await stage.opened('/settings');
  t.match(await cells(page, 'Employers'), [
    ['acme', 'biweekly, to Dec 18, 2026', 'Finish the setup: payroll codes, payroll policy'],
  ]);
  await page.getByRole('link', { name: 'acme' }).click();
  await page.getByText('No payroll codes', { exact: true }).waitFor();
  await page.getByRole('link', { name: 'Edit payroll codes' }).click();
  const chosen = (column: string, row: number) => page.getByLabel(`${column}, row ${row}`).inputValue();
  const line = async (row: number) =>
    `${await chosen('Line of coverage', row)} ${await chosen('Paid by', row)}`;
  const used = ['dental employee', 'dental employer', 'medical employee', 'medical employer'];
  t.strictSame(await Promise.all([1, 2, 3, 4].map(line)), used, 'lines in use are suggested');
  await page.getByLabel('Code, row 1').fill(HOSTILE);
  await click(page, 'Add a row');
  const second = page.getByLabel('Line of coverage, row 5');
  await second.waitFor();
  const hasFocus = await second.evaluate((input) => input === document.activeElement);
  t.ok(hasFocus, 'the focus moves to the next field');
  await page.getByText('Paste rows from a spreadsheet').click();
  // One row in the words of the API, and one in those of the page.
  const pasted = 'medical\tpre_tax\temployee\tMED1\nHSA\tany\tEMPLOYER\tHSA9\tDeposit\nvison\t\t\tV';
  await page.getByLabel('Rows to add').fill(`Line of coverage\tTaxability\n${pasted}`);
  await click(page, 'Add these rows');
  await page.getByLabel('Code, row 6').waitFor();
  t.equal(await page.getByLabel('Code, row 1').inputValue(), HOSTILE, 'the input is kept');
  t.equal(await line(4), 'medical employee', 'a pasted row replaces the suggested one without a code');
  await page.getByText('3 rows added below. Nothing is saved yet.').waitFor();
  const problems = page.getByRole('alert').filter({ hasText: 'Fix these fields first' });
  t.match(await problems.getByRole('listitem').allTextContents(), [
    'Row 6, Line of coverage is unknown: choose one',
    'Row 6, Paid by is required: choose one',
  ]);
  t.equal(await page.getByLabel('Line of coverage, row 6').getAttribute('aria-invalid'), 'true');
  await click(page, 'Remove row 6');
  await page.getByLabel('Code, row 6').waitFor({ state: 'detached' });
  await click(page, 'Save payroll codes');
  const said = page.getByRole('alert').filter({ hasText: 'The settings are invalid' });
  await said.waitFor();
  await said.getByRole('link', { name: 'Row 1, Code' }).click();
  t.equal(await page.getByLabel('Code, row 1').getAttribute('aria-invalid'), 'true');
  t.strictSame(await codesOf(stage), [], 'nothing was kept');
  await assertGood(t, page, 'rejected codes');
  await click(page, 'Remove row 1');
  await page.getByLabel('Code, row 5').waitFor({ state: 'detached' });
  t.equal(await line(1), 'dental employer', 'suggested rows without a code stay');
  await page.getByText('Adds 2: Medical, Pre-tax, Employee, MED1; HSA, Employer, HSA9, Deposit.').waitFor();
  await page.getByLabel('Code, row 1').press('Enter');
  await page.getByText('Saved.').waitFor();
  t.match(await codesOf(stage), [
    { line_of_coverage: 'medical', taxability: 'pre_tax', side: 'employee', code: 'MED1', treatment: null },
    { line_of_coverage: 'hsa', taxability: null, side: 'employer', code: 'HSA9', treatment: 'deposit' },
  ]);
  t.strictSame(await cells(page, 'Payroll codes'), [
    ['Medical', 'Pre-tax', 'Employee', 'MED1', 'Not set', 'Any'],
    ['HSA', 'Any', 'Employer', 'HSA9', 'Deposit', 'Any'],
  ]);
  await page.getByRole('link', { name: 'Edit payroll codes' }).click();
  const missing = ['dental employee', 'dental employer', 'medical employer'];
  const suggested = () => Promise.all([3, 4, 5].map(line));
  t.strictSame(await suggested(), missing, 'lines in use without a code are suggested again');

  await stage.put('r', '2026-07-17');
  await page.goto('/runs/r');
  await follow(page, page.getByRole('link', { name: 'Set the payroll codes' }));
  t.strictSame(await suggested(), missing);
  t.equal(await chosen('Taxability', 3), 'pre_tax', 'as in the finding');
  await page.keyboard.type('DEN');
  await page.keyboard.press('Enter');
  await page.waitForURL('**/runs/r?saved=codes');
  const check = page.locator('#check-codes-missing');
  await check.getByText('dental pre-tax employer').waitFor();
  t.equal(await check.getByText('dental pre-tax employee').count(), 0);
});

t.test('a pay schedule is edited as a table, and the other schedules of the employer stay', async (t) => {
  const stage = await openPayroll(t);
  await setSchedules(stage.db, [schedule(), schedule({ pay_group: HOSTILE })]);
  const page = await stage.opened('/settings?employer_id=acme');
  await page.getByRole('link', { name: 'Edit', exact: true }).last().click();
  t.match(await page.locator('h1').textContent(), HOSTILE);
  t.equal(await page.getByRole('row').count(), BIWEEKLY.length + 1);
  await page.getByLabel('Period end, row 3').fill('2020-01-01');
  await click(page, 'Save pay schedule');
  await page.getByRole('link', { name: 'Row 3, Period end' }).waitFor();
  t.equal(await page.getByLabel('Period end, row 3').inputValue(), '2020-01-01');
  t.strictSame(await scheduleOf(stage), [schedule(), schedule({ pay_group: HOSTILE })]);
  await page.getByLabel('Period end, row 3').fill('2026-01-24');
  await page.getByLabel('Pay group').fill('night');
  await click(page, 'Save pay schedule');
  await page.getByText('Saved.').waitFor();
  const [one, other] = await scheduleOf(stage);
  t.strictSame(one, schedule());
  t.equal(other.pay_group, 'night');
  t.equal(other.pay_dates[2].period_end, '2026-01-24');

  await page.getByRole('link', { name: 'Add a pay schedule' }).click();
  await page.getByText('Nothing differs from the saved pay schedule.').waitFor();
  await page.getByRole('combobox', { name: 'Year of the pay dates' }).selectOption('2026');
  await click(page, 'Save pay schedule');
  const missing = 'Pay dates are missing: generate them, or add a row';
  await page.getByRole('alert').filter({ hasText: missing }).waitFor();
  await click(page, 'Generate');
  await page.getByRole('link', { name: 'One pay date of the year' }).waitFor();
  await page.getByLabel('One pay date of the year').fill('2026-01-02');
  await page.getByLabel('Days from period end to pay date').fill('5');
  await click(page, 'Generate');
  await page.getByText('Preview of 2026: 27 pay dates. Nothing is saved yet.').waitFor();
  t.equal(await page.getByLabel('Period start, row 3').inputValue(), '2026-01-12');
  t.equal((await scheduleOf(stage)).length, 2, 'generated rows are not saved yet');
  await page.getByLabel('Pay group').fill('generated');
  await page.getByLabel('Pay date, row 3').fill('2/30/2026');
  await click(page, 'Save pay schedule');
  await page.getByRole('link', { name: 'Row 3, Pay date' }).waitFor();
  await page.getByLabel('Pay date, row 3').fill('1/30/2026');
  await click(page, 'Save pay schedule');
  await page.getByText('Saved.').waitFor();
  const generated = (await scheduleOf(stage)).at(-1);
  t.match([generated.pay_group, generated.pay_dates[2].pay_date], ['generated', '2026-01-30']);
  await setSchedules(stage.db, (await scheduleOf(stage)).slice(0, 2));

  await learn(stage.db, ...['w-1', 'w-2', 'w-3'].map((id) => employment(id, { pay_frequency: 'weekly' })));
  await page.goto('/settings/pay-schedule?employer_id=acme');
  const frequency = page.getByLabel('Pay frequency');
  t.equal(await frequency.inputValue(), 'weekly', 'its employees are paid weekly, and no schedule is');
  await frequency.selectOption('monthly');
  t.notOk(await page.getByLabel('One pay date of the year').isVisible());
  t.ok(await page.getByLabel('Pay day of the month', { exact: true }).isVisible());

  await page.goto('/settings/pay-schedule?employer_id=acme&year=2027&pay_frequency=biweekly');
  const continued = page.getByLabel('One pay date of the year');
  t.equal(await continued.inputValue(), BIWEEKLY.at(-1)?.pay_date, 'a new year continues the year before');
  t.equal(await page.getByLabel('Days from period end to pay date').inputValue(), '5');
  await page.goto('/settings?employer_id=acme');

  await page.getByRole('link', { name: 'Add a pay schedule' }).click();
  await page.getByLabel('Pay frequency').selectOption('biweekly');
  await page.getByText('Paste rows from a spreadsheet').click();
  const rows = BIWEEKLY.map((date) => Object.values(date).map(slashed).join('\t'));
  await page.getByLabel('Rows to add').fill(rows.join('\n'));
  await click(page, 'Save pay schedule');
  await page.getByLabel(`Pay date, row ${BIWEEKLY.length}`).waitFor();
  t.equal((await scheduleOf(stage)).length, 2, 'pasted rows are not saved yet');
  await click(page, 'Save pay schedule');
  await page.getByText('must not have the pay frequency and pay group').first().waitFor();
  await page.getByLabel('Pay group').fill('day');
  await click(page, 'Save pay schedule');
  await page.getByText('Saved.').waitFor();
  t.strictSame((await scheduleOf(stage))[2], schedule({ pay_group: 'day' }));

  await page.getByRole('link', { name: 'Edit', exact: true }).nth(1).click();
  page.once('dialog', (dialog) => dialog.accept());
  await click(page, 'Delete pay schedule');
  await page.getByText('Saved.').waitFor();
  const left: { pay_group: string | null }[] = await scheduleOf(stage);
  t.equal(left.map(({ pay_group }) => `${pay_group}`).join(), 'null,day');
});

t.test('days in no pay period or in two are shown, also between two years', async (t) => {
  const { call, html } = await openPayroll(t);
  const set = async (shift: number) => {
    const pay_dates = every(14, '2027-01-01', 27).map((date) => dateOf(date, 14, 5 - shift));
    const body = { schedules: [schedule({ pay_dates })] };
    t.equal((await call({ method: 'PUT', url: `${SETTINGS}/pay-schedules/2027`, body })).status, 200);
    const [notice = ''] =
      /<ul class="notice">.*?<\/ul>/s.exec(await html('/settings?employer_id=acme')) ?? [];
    return [...notice.matchAll(/<li>(.*?)<\/li>/g)].map(([, text]) => text);
  };
  t.strictSame(await set(0), []);
  t.strictSame(await set(3), [
    '3 days before Dec 17, 2026 in no pay period: the previous one ends on Dec 13, 2026.',
  ]);
  t.strictSame(await set(-1), [
    'The pay period from Dec 13, 2026 overlaps the previous one, which ends on Dec 13, 2026.',
  ]);
});

t.test(
  'a payroll policy is edited after what it changes was shown, and its versions are listed',
  async (t) => {
    const stage = await openPayroll(t);
    await stage.put('june', '2026-06-19');
    await stage.put('july', '2026-07-17');
    const page = await stage.opened('/settings?employer_id=acme');
    await page.getByText('No payroll policy', { exact: true }).waitFor();
    await page.getByRole('link', { name: 'Edit payroll policy' }).click();
    await page.getByLabel('Pay dates from').fill('2026-07-01');
    await page.getByLabel('The last day of the pay period').check();
    await page.getByLabel('Pay dates from').fill('');
    await page.getByLabel('Limit for open items').fill('twice');
    await click(page, 'Save payroll policy');
    const summary = page.getByRole('alert').filter({ hasText: 'Pay dates from' });
    await summary.waitFor();
    t.match(
      await summary.textContent(),
      'Limit for open items must be all, a multiple such as 2x, or an amount',
    );
    t.ok(await page.getByLabel('The last day of the pay period').isChecked(), 'the input stays');
    await assertGood(t, page, 'a payroll policy with a problem');
    await page.getByLabel('Pay dates from').fill('2026-07-01');
    await page.getByLabel('Limit for open items').fill('all');
    await page.getByText('Open runs that change: Jul 17, 2026.').waitFor();
    t.strictSame(await cells(page, 'What changes'), [
      ['In effect on', 'The pay date', 'The last day of the pay period'],
      ['Limit for open items', '1x', 'all'],
    ]);
    await click(page, 'Save payroll policy');
    await page.getByText('Saved.').waitFor();
    t.match((await stage.call({ url: `${SETTINGS}/payroll-policy` })).json.versions, [
      { effective_from: '2026-07-01', applies_on: 'period_end', recoup: { method: 'all' } },
    ]);
    t.match(await cells(page, 'Versions of the payroll policy, newest first'), [
      ['Jul 1, 2026', 'The last day of the pay period', 'After a decision', 'No limit', String],
    ]);
  },
);

t.test('one person requires a second approval, and two persons stop requiring it', async (t) => {
  const { opened, personWith, call } = await openPayroll(t);
  const setting = async () => (await call({ url: '/v1/employers/acme/second-approval' })).json;
  const ann = await opened('/settings?employer_id=acme', {
    token: await personWith('ann@example.com', 'all'),
  });
  await ann.getByLabel('Reason').fill('audit');
  await click(ann, 'Require a second approval');
  await ann.getByText('Another person must approve each run').waitFor();
  await ann.getByLabel('Reason').fill('the audit is over');
  await click(ann, 'Request to stop requiring it');
  await ann.getByText('Stop requested by').waitFor();
  t.match(await setting(), { required: true, switching_off: { requested_by: { kind: 'token' } } });
  const program = await opened('/settings?employer_id=acme');
  await program.getByText('your token names none').waitFor();
  const bob = await opened('/settings?employer_id=acme', {
    token: await personWith('bob@example.com', 'all'),
  });
  await bob.getByLabel('Reason').fill('agreed');
  await click(bob, 'Stop requiring it');
  await bob.getByText('finalized and voided by one person').waitFor();
  t.match(await setting(), { required: false, switching_off: null });
});
