import t from 'tap';
import { findingIn } from '../../src/console/elements/finding.ts';
import { sentence } from '../../src/console/elements/format.ts';
import { renderPart } from '../../src/console/html.ts';
import { ROLES } from '../../src/security/scopes.ts';
import { census, employee } from '../contract/samples.ts';
import { pastTriggers } from '../support/past-triggers.ts';
import { BIWEEKLY, deduct, EMPLOYER, employ, schedule, setSchedules } from '../support/payroll.ts';
import { cells, click, lines, open, openLines, openPayroll, unfold } from './runs-stage.ts';
import { assertGood, follow, HOSTILE } from './stage.ts';

t.test('a run that changed since its review is finalized only with the new totals', async (t) => {
  const { signedIn, put, run, db } = await openPayroll(t);
  await put('r', '2026-07-17');
  const page = await signedIn();
  const contribute = (member_contribution: string) => {
    const sent = `2026-07-09T00:00:00.${member_contribution.slice(0, 3)}Z`;
    return deduct(db, `evt-${member_contribution}`, { id: 'ded-1', member_contribution }, sent);
  };
  await open(page, '/runs/r');
  const finalize = page.getByRole('link', { name: 'Finalize' });
  await finalize.click();
  await page.locator('#review').waitFor();
  t.strictSame(await cells(page, 'Totals'), [['$138.46', '$323.06', '2', '2']]);
  await open(page, '/runs/r');
  const reviewed = (await finalize.getAttribute('href')) ?? '';
  await contribute('175.00');
  await page.goto(reviewed);
  await page.getByText('The run changed since you opened it.').waitFor();
  t.match(await cells(page, 'Totals'), [
    ['Reviewed', '$138.46', '$323.06', '2', '2'],
    ['Now', '$149.99', '$323.06', '2', '2'],
  ]);
  await contribute('200.00');
  await click(page, 'Finalize');
  await page.getByText('The run changed since it was reviewed. Nothing was finalized.').waitFor();
  t.equal((await run('r')).state, 'open');
  t.strictSame(await cells(page, 'Totals'), [
    ['Reviewed', '$149.99', '$323.06', '2', '2'],
    ['Now', '$161.53', '$323.06', '2', '2'],
  ]);
  await click(page, 'Finalize');
  await page.waitForURL('**/runs/r?finalized=true');
  t.match(await run('r'), { state: 'finalized', totals: { member_amount: '161.53' }, accept_reason: null });
  await page.getByText('Proof').click();
  await click(page, 'Verify');
  await page.getByText('All 2 lines match.').waitFor();
  await open(page, '/runs/r/finalize');
  t.match(await page.locator('main').textContent(), 'This run is already finalized');
});

t.test('verifying shows what differs from the finalized run', async (t) => {
  const { signedIn, finalized, db } = await openPayroll(t);
  await finalized('r', '2026-07-17');
  const alter = (employee_id: string, fields: { lines: string } | { roster_position: number }) =>
    pastTriggers(db, (trx) =>
      trx.updateTable('run_employees').set(fields).where('employee_id', '=', employee_id).execute(),
    );
  await alter('emp-1', { lines: '[]' });
  await alter('emp-2', { roster_position: 99 });
  const page = await signedIn();
  await open(page, '/runs/r');
  await page.getByText('Proof').click();
  await click(page, 'Verify');
  const [line, membership] = [
    page.locator('#verification section').first(),
    page.locator('#verification section').last(),
  ];
  await line.waitFor();
  t.match(await page.locator('#verification').textContent(), '2 differences in 1 line.');
  t.match(await line.textContent(), /emp-1, regular ded-1/);
  const values = await line.locator('tbody tr').allTextContents();
  t.ok(values.includes('Member amountNone$69.23'), values.join());
  t.notMatch(values.join(), /null|In the run/i);
  t.match(await membership.locator('tbody tr').allTextContents(), [/^Roster position99\d$/]);
  await assertGood(t, page, 'a run that differs');
});

t.test('each failed check is accepted by its own checkbox, with a reason', async (t) => {
  const { signedIn, put, run, db, finalized } = await openPayroll(t);
  await deduct(db, 'evt-second', { id: 'ded-9', employee_id: 'emp-1' });
  await put('r', '2026-07-17');
  const page = await signedIn();
  await open(page, '/runs/r');
  await page.getByRole('heading', { name: 'Not ready' }).waitFor();
  const check = page.locator('.checks > li').filter({ hasText: 'Ask the service which is correct' });
  await follow(page, check.getByRole('link', { name: 'Override one of them for emp-1' }));
  const choices = await cells(page, 'Choose the line to override');
  t.match(choices, [
    ['medical', 'ded-1', 'new', '$69.23', '$161.53'],
    ['medical', 'ded-9', 'new', '$69.23', '$161.53'],
  ]);
  await open(page, '/runs/r/finalize');
  await click(page, 'Accept findings and finalize');
  await page
    .getByRole('alert')
    .getByRole('link', { name: 'Two deductions for one line of coverage' })
    .waitFor();
  const readiness = page.getByRole('group', { name: 'Not ready' });
  const hint = page.locator(`#${await readiness.getAttribute('aria-describedby')}`);
  t.match(await hint.textContent(), /select each one that the reason below covers/);
  const box = page.getByLabel('Two deductions for one line of coverage', { exact: true });
  await box.check();
  await click(page, 'Accept findings and finalize');
  await page.locator('.field-problem').filter({ hasText: 'is required to accept findings' }).waitFor();
  t.match(await page.getByRole('alert').allTextContents(), [
    '',
    /^Fix these fields first.*Reason is required to accept findings/s,
  ]);
  t.equal((await run('r')).state, 'open');
  const finding = ['Two deductions for one line of coverage', 'emp-1'] as const;
  const amounts = 'emp-1: medical $69.23, medical $69.23';
  t.match(await readiness.textContent(), amounts);
  t.equal(await page.getByText(finding[0]).count(), 1, 'once, with its checkbox');
  t.ok(await box.isChecked(), 'an error keeps what was selected');
  await page.getByLabel('Reason').fill(HOSTILE);
  await click(page, 'Accept findings and finalize');
  await page.waitForURL('**/runs/r?finalized=true');
  t.match(await run('r'), { state: 'finalized', accept_reason: HOSTILE, accepted_checks: ['overlap'] });
  t.match(await page.locator('dl.facts').first().textContent(), HOSTILE);
  await page.getByRole('heading', { name: 'Accepted findings' }).waitFor();
  const accepted = [...finding, amounts, 'API_TOKEN', String, HOSTILE];
  t.match(await cells(page, 'Findings by check'), [accepted]);
  await put('next', '2026-07-31');
  await open(page, '/runs/next');
  t.match(
    await page.locator('.checks > li').textContent(),
    `: emp-1: medical $69.23, medical $69.23, ${HOSTILE}`,
    'it stays visible',
  );
  await finalized('next', '2026-07-31');
  await open(page, '/runs/next');
  t.match(await cells(page, 'Findings by check'), [accepted], 'and with the run that keeps it');
});

t.test('what a manager approved, with a failed check, is finalized without runs:approve', async (t) => {
  const { signedIn, put, run, db, call, personWith } = await openPayroll(t);
  await deduct(db, 'evt-second', { id: 'ded-9', employee_id: 'emp-1' });
  await put('r', '2026-07-17');
  const body = { required: true, reason: 'a test' };
  await call({ method: 'PUT', url: '/v1/employers/acme/second-approval', body });
  const signedInAs = async (name: string, role: keyof typeof ROLES) =>
    signedIn({ token: await personWith(name, ...ROLES[role]) });
  const specialist = await signedInAs('ann@example.com', 'payroll-specialist');
  await open(specialist, '/runs/r/finalize');
  await specialist
    .getByText('One person must approve this run, and then another one can finalize it.')
    .waitFor();
  const manager = await signedInAs('bob@example.com', 'payroll-manager');
  await open(manager, '/runs/r/approve');
  await manager.getByLabel('Two deductions for one line of coverage', { exact: true }).check();
  await manager.getByLabel('Reason').fill('both are right');
  await click(manager, 'Approve finalizing');
  await manager.getByText('Another person can now finalize this run.').waitFor();
  await open(manager, '/runs/r/finalize');
  await manager.getByText('You approved this run, so another person must finalize it.').waitFor();
  await open(manager, '/runs/r/approve');
  await click(manager, 'Withdraw your approval');
  await manager.waitForURL('**/runs/r?withdrawn=true');
  await manager.getByText('waiting for approval').first().waitFor();
  await open(manager, '/runs/r/approve');
  t.equal(await manager.getByRole('button', { name: 'Withdraw your approval' }).count(), 0, 'none counts');
  await manager.getByLabel('Two deductions for one line of coverage', { exact: true }).check();
  await manager.getByLabel('Reason').fill('both are right');
  await click(manager, 'Approve finalizing');
  await manager.getByText('Another person can now finalize this run.').waitFor();
  await specialist.goto('/');
  await specialist.getByText('1 failed check accepted').waitFor();
  await follow(specialist, specialist.getByRole('link', { name: /^Review the payroll/ }));
  await specialist.getByRole('link', { name: 'Finalize …' }).click();
  await specialist.getByRole('heading', { name: /^Approved by/ }).waitFor();
  await click(specialist, 'Finalize');
  await specialist.waitForURL('**/runs/r?finalized=true');
  t.match(await run('r'), { accepted_checks: ['overlap'], accept_reason: 'both are right' });
});

t.test('a newer amount that is not applied is marked wherever its employee is shown', async (t) => {
  const { call, signedIn, put, db, tokenWith } = await openPayroll(t);
  await put('r', '2026-07-17');
  const newer = { member_contribution: '175.00', taxability: 'untaxed' };
  await deduct(db, 'evt-3', newer, '2026-07-09T00:00:00Z');
  const message = 'A newer amount for medical arrived on July 10 and is not applied';
  const page = await signedIn();
  await openLines(page, '/runs/r');
  t.match((await lines(page))[0], `${message}: $150.00 → $175.00`);
  t.notMatch((await lines(page))[1], 'not applied');
  const finding = page.locator('#check-events-quarantined .examples');
  t.equal((await finding.textContent())?.trim(), `evt-3: emp-1: ${message}: $150.00 → $175.00`, 'once');
  const body = {
    ...census,
    employees: [{ ...employee, employee_id: 'emp-1', first_name: 'Ana', last_name: 'Lima' }],
  };
  await call({ method: 'PUT', url: '/v1/employers/acme/census', body });
  await page.reload();
  await page.getByText(`evt-3: Ana Lima emp-1: ${message}`).waitFor();
  t.equal(await page.locator('h1').textContent(), 'Acme, biweekly, Jul 17, 2026', 'the legal name');
  t.match(await page.title(), 'acme, biweekly, Jul 17, 2026');
  await open(page, '/runs/r/finalize');
  await page.getByRole('heading', { name: 'Totals to finalize' }).waitFor();
  t.match(await finding.textContent(), `Ana Lima emp-1: ${message}: $150.00 → $175.00`);
  t.equal(await page.getByText('$175.00').count(), 1);
  await page.goto('/employees/emp-1');
  t.equal(await page.locator('h1').textContent(), 'Employee Ana Lima emp-1');
  t.equal(await page.title(), 'Employee emp-1 · benefits-sidecar', 'no name in the history of the browser');
  const notice = page.getByRole('region', { name: 'Amounts not applied' });
  t.match(await notice.textContent(), `${message}: $150.00 → $175.00`);
  const reader = await signedIn({ token: await tokenWith('runs:read') });
  await openLines(reader, '/runs/r');
  await reader.getByRole('heading', { name: 'Not ready' }).waitFor();
  t.match((await lines(reader))[0], message);
  t.notMatch(await reader.locator('main').textContent(), '175');
});

t.test('a warning is accepted by name with a reason', async (t) => {
  const { signedIn, put, run, db } = await openPayroll(t);
  for (const place of [3, 4])
    await deduct(db, `evt-${place}`, { id: `ded-${place}`, line_of_coverage: 'accident' });
  await put('r', '2026-07-17');
  const page = await signedIn();
  await open(page, '/runs/r/finalize');
  await page.getByLabel('Two deductions for one line of coverage').check();
  await click(page, 'Finalize');
  await page.locator('.field-problem').filter({ hasText: 'is required to accept findings' }).waitFor();
  t.ok(await page.getByLabel('Two deductions for one line of coverage').isChecked());
  await page.getByLabel('Reason to accept warnings').fill('two policies');
  await click(page, 'Finalize');
  await page.waitForURL('**/runs/r?finalized=true');
  t.match(await run('r'), { accept_reason: 'two policies', accepted_checks: ['overlap'] });
});

t.test(
  'a sentence of the API has amounts, days and pay dates as people write them, and ids as they are',
  async (t) => {
    const cases = {
      'emp-1: medical -3.00, 1,800.00 a year': 'emp-1: medical −$3.00, $1,800.00 a year',
      'of 2026-07-01 (or 2026-08-01)': 'of Jul 1, 2026 (or Aug 1, 2026)',
      'acme-2026-07-17, plan-1.50, v1.20, 51/52': 'acme-2026-07-17, plan-1.50, v1.20, 51/52',
      '3 shares, checks 12 to 14 of 26: 69.23': '3 shares, pay dates 12 to 14 of 26: $69.23',
      'dependent_care_fsa pre_tax, ded_hsa': 'dependent care FSA pre-tax, ded_hsa',
      '33 of 52 weekly checks; a final check': '33 of 52 weekly paychecks; a final paycheck',
      '2.125 each; 1.50% more': '$2.125 each; 1.50% more',
    };
    for (const [text, written] of Object.entries(cases)) t.equal(sentence(text), written);
  },
);

t.test('a finding about settings has days and amounts as people write them', async (t) => {
  const text = '2026-12-15: not run; 1 employee, 170.28 on 2026-11-30';
  const finding = { check: 'pay-date-skipped', text, date: '2026-12-15' };
  const run = { id: 'r', employer_id: 'acme' };
  t.match(
    renderPart(findingIn(finding, { may: () => true, caller: null }, run)),
    'Dec 15, 2026: not run; 1 employee, $170.28 on Nov 30, 2026',
  );
});

t.test('an open run can be deleted, a finalized run voided with a reason', async (t) => {
  const { signedIn, put, finalized, run, call } = await openPayroll(t);
  await put('wrong', '2026-07-31');
  await finalized('r', '2026-07-17');
  const lines = [{ employee_id: 'emp-1', amount: '1.00' }];
  await call({ method: 'POST', url: '/v1/payroll-runs/r/taken', body: { lines } });
  const page = await signedIn();
  await open(page, '/runs/wrong');
  page.once('dialog', (dialog) => dialog.dismiss());
  await click(page, 'Delete');
  t.equal((await call({ url: '/v1/payroll-runs/wrong' })).status, 200, 'deleting needs a confirmation');
  page.once('dialog', (dialog) => dialog.accept());
  await click(page, 'Delete');
  await page.waitForURL('**/runs?deleted=wrong');
  const left = await cells(page, 'Payroll runs, latest pay date first');
  t.equal(left.map((row) => row.at(-1)).join(), 'r');

  await open(page, '/runs/r');
  t.equal(await page.getByRole('button', { name: 'Delete' }).count(), 0);
  await page.getByRole('link', { name: 'Void' }).click();
  await page.waitForURL('**/runs/r/void');
  await click(page, 'Void the run');
  await page.locator('.field-problem').filter({ hasText: 'is required' }).waitFor();
  await page.getByLabel('Reason').fill('wrong pay period');
  await click(page, 'Void the run');
  await page.waitForURL('**/runs/r?voided=true&taken=1');
  await page.getByText('Report these deductions taken again for the run that replaces this one: 1').waitFor();
  t.match(await run('r'), { state: 'voided', void_reason: 'wrong pay period' });
  t.match(await page.locator('main').textContent(), /Reason for voiding\s*wrong pay period/);
  await page.getByRole('link', { name: 'Download voided amounts' }).waitFor();
  await page.goto('/');
  const row = page.getByRole('row', { name: /acme/ });
  t.match(await row.textContent(), /Not started.*Its run was voided/);
  await follow(page, row.getByRole('link', { name: 'Its run was voided' }));
  await click(page, 'Run this payroll again');
  const again = `${EMPLOYER}-biweekly-2026-07-17`;
  await page.waitForURL(`**/runs/${again}`);
  await page.getByText('Report them again once this run is final.').waitFor();
  await finalized(again, '2026-07-17');
  await open(page, `/runs/${again}`);
  await page.getByRole('link', { name: 'Report them again' }).waitFor();
  await call({ method: 'POST', url: `/v1/payroll-runs/${again}/taken`, body: { lines } });
  await open(page, `/runs/${again}`);
  t.equal(await page.getByText('that this one replaces').count(), 0, 'they are reported again');
});

t.test('an open run that cannot be computed shows why', async (t) => {
  const { signedIn, put, db } = await openPayroll(t);
  await put('r', '2026-07-17', { pay_frequency: 'semimonthly' });
  await setSchedules(db, [schedule({ pay_frequency: 'semimonthly', pay_dates: BIWEEKLY.slice(0, 1) })]);
  const page = await signedIn({ refusals: true });
  await open(page, '/runs/r');
  await page.getByRole('heading', { name: 'This run cannot be computed' }).waitFor();
  t.match(await page.locator('main').textContent(), 'must be a date of the pay schedule');
  t.equal(await page.getByRole('button', { name: 'Delete' }).count(), 1);
  t.equal((await page.goto('/runs/nobody'))?.status(), 404);
});

t.test('a run is compared with the previous one, and every employee outside it has a reason', async (t) => {
  const { signedIn, put, finalized, db } = await openPayroll(t);
  await employ(db, 'emp-3', { pay_frequency: 'monthly' });
  await employ(db, 'emp-4', { termination_date: '2026-05-01' });
  for (const place of [3, 4])
    await deduct(db, `evt-${place}`, { id: `ded-${place}`, employee_id: `emp-${place}` });
  await setSchedules(db, [
    schedule(),
    schedule({ pay_frequency: 'monthly', pay_dates: BIWEEKLY.slice(0, 1) }),
  ]);
  await finalized('before', '2026-07-03');
  const raised = { id: 'ded-1', member_contribution: '200.00', effective_start: '2026-07-10' };
  await deduct(db, 'evt-5', raised, '2026-07-05T00:00:00Z');
  await put('r', '2026-07-17');
  const page = await signedIn();
  await open(page, '/runs/r');
  await page.getByText('2 employees before, 2 now.').waitFor();
  t.match(
    await page.getByRole('region', { name: 'Payroll run' }).textContent(),
    '$161.53+$23.07 since the last run',
  );
  await unfold(page, 'By line of coverage');
  t.strictSame(await cells(page, 'By line of coverage'), [
    ['medical', '$69.23', '$92.30', '+$23.07', '$161.53', '$0.00'],
    ['dental', '$69.23', '$69.23', '$0.00', '$161.53', '$0.00'],
    ['Total', '$138.46', '$161.53', '+$23.07', '$323.06', '$0.00'],
  ]);
  const employees = page.locator('details.employee > summary');
  t.match(await employees.allTextContents(), [/emp-1.*\$69\.23.*\$92\.30.*\+\$23\.07.*medical changed/s]);
  await follow(page, page.getByRole('link', { name: 'All 2' }));
  await page.getByText('1 to 2 of 2').waitFor();
  t.equal(await employees.count(), 2);
  await page.getByText('1 employee with deductions not in this run').click();
  t.strictSame(await cells(page, 'Employees not in this run'), [['emp-4', 'Terminated']]);
  await page.getByText('1 employee with deductions on other pay schedules').click();
  t.strictSame(await cells(page, 'Employees on other pay schedules'), [['monthly', '', '1']]);
  const finder = page.getByLabel('Employee, by name or ID');
  await finder.fill('nobody');
  await click(page, 'Show');
  await page.getByText('No employee of this employer has this name or ID.').waitFor();
  await finder.fill('emp');
  await click(page, 'Show');
  await follow(page, page.locator('.matches').getByRole('link', { name: 'emp-2' }));
  await page.getByRole('heading', { name: 'Lines of emp-2' }).waitFor();
});

t.test('a deduction of two jobs is assigned on the page that the readiness check links to', async (t) => {
  const { signedIn, put, finalized, db, call } = await openPayroll(t);
  await finalized('before', '2026-07-03');
  await employ(db, 'emp-1', { employer_id: 'globex' });
  await deduct(db, 'evt-vision', { id: 'ded-7', employee_id: 'emp-1', line_of_coverage: 'vision' });
  await put('r', '2026-07-17');
  const page = await signedIn();
  await open(page, '/runs/r');
  const changes = page.getByRole('region', { name: 'Changes' });
  await changes.getByText('medical not assigned to an employer').waitFor();
  await changes.getByRole('link', { name: 'Assign it (ded-1)' }).waitFor();
  await assertGood(t, page, 'a change to decide');
  const title = 'Employees with two employers have unassigned deductions';
  const check = page.locator('.checks > li').filter({ hasText: title });
  await check.getByRole('link', { name: 'ded-1' }).click();
  await page.getByRole('heading', { name: 'Assign to an employer' }).waitFor();
  await assertGood(t, page, 'the assignment');
  await click(page, 'Assign the deduction');
  await page.getByRole('alert').filter({ hasText: 'Fix these fields first' }).waitFor();
  await page.getByLabel('Employer', { exact: true }).selectOption('globex');
  await page.getByLabel('From the pay period of').fill('2026-07-01');
  await page.getByLabel('Reason', { exact: true }).fill(HOSTILE);
  await page.getByLabel('Also assign the other deductions of this employee').check();
  await click(page, 'Assign the deduction');
  await page.waitForURL('**/deductions/ded-1?saved=true&run=r');
  const shown = `globex from the pay period of Jul 1, 2026. Assigned by API_TOKEN: ${HOSTILE}`;
  t.match(await page.locator('main').textContent(), shown);
  const { json } = await call({ url: '/v1/deductions/ded-1/employer' });
  t.match(json.assignments, [{ employer_id: 'globex', effective_on: '2026-07-01', reason: HOSTILE }]);
  await open(page, '/runs/r');
  t.equal(await check.count(), 0, 'the check passes: the other deduction is assigned too');
});

t.test('an amount of an open run is overridden on its line, and the override is removed again', async (t) => {
  const { signedIn, put, run, finalized } = await openPayroll(t);
  await put('r', '2026-07-17');
  const page = await signedIn();
  await open(page, '/runs/r?employee_id=emp-1');
  await page.locator('details.line > summary').click();
  await page.getByRole('link', { name: 'Override the amounts' }).click();
  await page.getByText('$69.23 in the run now.').waitFor();
  await page.getByLabel('Employee amount').fill('12.345');
  await click(page, 'Override the amounts');
  await page.getByRole('alert').filter({ hasText: 'Fix these fields first' }).waitFor();
  await page.getByText('$69.23 in the run now.').waitFor();
  await page.getByLabel('Employee amount').fill('$40.00');
  await page.getByLabel('Employer amount').fill('0');
  await page.getByLabel('Reason').fill(HOSTILE);
  await page.getByRole('cell', { name: '−$161.53' }).waitFor();
  t.strictSame(await cells(page, 'What changes'), [
    ['Employee amount', '$69.23', '$40.00', '−$29.23'],
    ['Employer amount', '$161.53', '$0.00', '−$161.53'],
  ]);
  await click(page, 'Override the amounts');
  await page.waitForURL('**/runs/r?employee_id=emp-1&saved=true#lines');
  t.match(await lines(page), [/^Medical, pre-tax New Overridden .*\$40\.00 .*\$0\.00$/]);
  await unfold(page, '1 override');
  const overrides = [['emp-1', 'ded-1', '$69.23', '$40.00', '$0.00', 'API_TOKEN', HOSTILE]];
  t.strictSame(await cells(page, 'Overrides'), overrides);
  await open(page, '/runs/r/finalize');
  await unfold(page, '1 override');
  t.strictSame(await cells(page, 'Overrides'), overrides, 'and before finalizing');
  await page.getByRole('table', { name: 'Overrides' }).getByRole('link', { name: 'ded-1' }).click();
  await page.getByText('the paycheck had an employee amount of $69.23 without it').waitFor();
  await click(page, 'Remove the override');
  await page.waitForURL('**/runs/r?employee_id=emp-1&saved=true#lines');
  t.match((await run('r')).totals, { member_amount: '138.46' });
  await finalized('final', '2026-07-31');
  await open(page, '/runs/final/override');
  t.match(await page.locator('main').textContent(), 'This run is finalized');
});
