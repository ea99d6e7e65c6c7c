/**
 * Half a year of payroll cases over HTTP, each with its own employer and database. Every expected amount was computed
 * by hand from docs/amounts.md.
 */
import { compensationChange, newHire, payRate } from '../contract/samples.ts';
import { every } from '../payroll/calendars.ts';
import { onEitherEngine } from '../support/engine.ts';
import { dateOf, daysAfter, EMPLOYER } from '../support/payroll.ts';
import { adjustmentsIn, BIWEEKLY, begin, brief, INCLUDE, type Json, stated } from './payroll-world.ts';

onEitherEngine('1. a hire reported after two runs pays both missed checks', async (t) => {
  const { schedule, census, deduct, paid, on, report, put, lines, check } = await begin(t);
  await schedule(BIWEEKLY);
  await census({ 'emp-1': {} });
  await deduct('ded-1', { member_contribution: '10.00' });
  const missed = { employee_id: 'emp-2', line_of_coverage: 'dental', member_contribution: '70.00' };
  await deduct('ded-2', { ...missed, effective_start: '2026-06-01' });
  await paid('r1', '2026-06-12');
  await paid('r2', '2026-06-26');
  on('2026-07-01');
  const hire = { ...newHire, employee_id: 'emp-2', employer_id: EMPLOYER, hire_date: '2026-05-26' };
  await report('new-hire', { ...hire, pay_frequency: 'biweekly' });
  await put('r3', '2026-07-10', INCLUDE);
  const own = (await lines('r3')).filter(({ employee_id }) => employee_id === 'emp-2');
  t.strictSame(brief(own).toSorted(), ['ded-2 new 70.00', 'ded-2 r1 70.00', 'ded-2 r2 70.00']);
  for (const line of adjustmentsIn(own)) t.ok(line.flags.includes('missed_check'));
  t.match(await check('r3', 'missed-checks'), { result: 'warn', examples: ['emp-2'] });
});

onEitherEngine('2. a pay frequency from August 3 on moves the employee in August', async (t) => {
  const { schedule, census, deduct, paid, on, report, put, lines, service } = await begin(t, '2026-07-01');
  const weekly = every(7, '2026-01-02', 52).map((date) => dateOf(date, 7, 0));
  const biweekly = every(14, '2026-01-02', 26).map((date) => dateOf(date, 14, 0));
  const [weeks, others] = [
    { pay_frequency: 'weekly', pay_dates: weekly },
    { ...BIWEEKLY, pay_dates: biweekly },
  ];
  await schedule(weeks, others);
  await census({ 'emp-1': { pay_frequency: 'weekly' }, 'emp-2': { pay_frequency: 'weekly' } });
  await deduct('ded-1', { period: 'weekly', member_contribution: '20.00' });
  await deduct('ded-2', { employee_id: 'emp-2', period: 'weekly', member_contribution: '5.00' });
  on('2026-07-06');
  const pay_rate = { ...payRate, effective_start: '2026-08-03' };
  const change = { ...compensationChange, pay_frequency: 'biweekly', pay_rate };
  await report('compensation-change', { ...change, effective_on: '2026-08-03' });
  t.notMatch(service.received.map(({ body }) => body).join(), 'effective_on');
  const week = (pay_date: string) => ({ pay_frequency: 'weekly', ...dateOf(pay_date, 7, 0) });
  const first = await paid('w1', '2026-07-31', week('2026-07-31'));
  t.strictSame(brief(first), ['ded-1 new 20.00', 'ded-2 new 5.00']);
  await put('b1', '2026-07-31', dateOf('2026-07-31', 14, 0));
  t.strictSame(await lines('b1'), []);
  const after = await paid('w2', '2026-08-07', week('2026-08-07'));
  t.strictSame(brief(after), ['ded-1 moved 0.00', 'ded-2 same 5.00']);
  t.match(after[0].explanation, 'paid biweekly from August 3;');
  await put('b2', '2026-08-14', dateOf('2026-08-14', 14, 0));
  // 20.00 weekly × 52 = 1,040.00 a year over 26 checks.
  t.strictSame(brief(await lines('b2')), ['ded-1 new 40.00']);
});

onEitherEngine('10. a run is compared with the previous one, and moved cents are rounding', async (t) => {
  const { schedule, census, deduct, paid, on, report, run } = await begin(t, '2026-03-10');
  await schedule(BIWEEKLY);
  await census({ 'emp-1': {} });
  await deduct('ded-1', { period: 'monthly', member_contribution: '150.00' });
  const spread = stated({ remainder: 'spread' });
  await paid('r6', '2026-03-20', spread);
  // Check 7: 484.62 − 415.38 = 69.24; check 8: 553.85 − 484.62 = 69.23.
  const shown = (line: Json) => [line.change, line.amount_change, line.member_difference];
  t.strictSame((await paid('r7', '2026-04-03', spread)).map(shown), [['same', 'rounding', '0.01']]);
  on('2026-04-06');
  const hire = { ...newHire, employee_id: 'emp-2', employer_id: EMPLOYER, hire_date: '2026-04-06' };
  await report('new-hire', { ...hire, pay_frequency: 'biweekly' });
  const vision = { employee_id: 'emp-2', line_of_coverage: 'vision', member_contribution: '10.00' };
  await deduct('ded-2', { ...vision, effective_start: '2026-04-06' });
  const eighth = await paid('r8', '2026-04-17', spread);
  t.strictSame(eighth.map(shown), [
    ['same', 'rounding', '-0.01'],
    ['new', 'changed', '10.00'],
  ]);
  const totals = { previous_member_amount: '69.24', member_amount: '79.23', member_difference: '9.99' };
  t.match((await run('r8')).comparison, {
    previous_run_id: 'r7',
    employees: { previous: 1, current: 2, joined: 1, left: 0 },
    totals,
    by_line_of_coverage: [
      { line_of_coverage: 'medical', member_difference: '-0.01' },
      { line_of_coverage: 'vision', previous_member_amount: '0.00', member_difference: '10.00' },
    ],
    largest_movers: [
      { employee_id: 'emp-2', member_difference: '10.00' },
      { employee_id: 'emp-1', member_difference: '-0.01' },
    ],
  });
});

onEitherEngine('11. an employee who leaves for another employer keeps the last check', async (t) => {
  const { schedule, census, deduct, paid, on, report, put, lines, run } = await begin(t);
  await schedule(BIWEEKLY);
  await census({ 'emp-1': {} });
  await census({ 'emp-b': {} }, 'birch');
  await deduct('ded-1', { member_contribution: '20.00', effective_end: '2026-06-30' });
  await paid('r1', '2026-05-29');
  on('2026-06-02');
  await report('termination', { employee_id: 'emp-1', termination_date: '2026-06-03' });
  const hire = { ...newHire, employee_id: 'emp-1', employer_id: 'birch', hire_date: '2026-06-22' };
  await report('new-hire', { ...hire, pay_frequency: 'biweekly' });
  // The periods end on June 7 and June 21.
  await put('r2', '2026-06-12');
  t.strictSame(brief(await lines('r2')), ['ded-1 same 20.00']);
  t.strictSame((await lines('r2'))[0].flags, ['coverage_beyond_last_check']);
  await put('r3', '2026-06-26');
  t.strictSame((await run('r3')).not_in_run, [{ employee_id: 'emp-1', reason: 'terminated' }]);
  // A corrected termination belongs to the employer that the employee left.
  await report('termination', { employee_id: 'emp-1', termination_date: '2026-06-10' });
  t.strictSame(brief(await lines('r3')), ['ded-1 same 20.00']);
});

onEitherEngine('12. an event of one employer fails only that employer', async (t) => {
  const { schedule, census, deduct, put, receive, readiness, call, ok } = await begin(t);
  await schedule(BIWEEKLY);
  await census({ 'emp-1': {} });
  await census({ 'emp-b': {} }, 'birch');
  await deduct('ded-1', { member_contribution: '10.00' });
  const type = 'employee.deduction-updated';
  await receive(type, { id: 'ded-q', employee_id: 'emp-b', line_of_coverage: 'nonsense' });
  const other = { employee_id: 'emp-b', line_of_coverage: 'dental' };
  await deduct('ded-b', { ...other, member_contribution: '1.00' }, '2026-05-25T08:00:00Z');
  await deduct('ded-b', { ...other, member_contribution: '2.00' }, '2026-05-25T08:00:00Z');
  await deduct('ded-f', { ...other, line_of_coverage: 'vision' }, '2026-09-01T00:00:00Z');
  await put('r1', '2026-06-12');
  const ids = ['events-quarantined', 'ties-changed-content', 'events-future-dated'];
  const results = ({ checks }: Json) => ids.map((id) => checks.find((check: Json) => check.id === id).result);
  t.strictSame(results(await readiness('r1')), ['pass', 'pass', 'pass']);
  for (const url of ['/v1/readiness?employer_id=birch', '/v1/readiness'])
    t.strictSame(results(ok(await call({ url }))), ['fail', 'fail', 'fail'], url);
  await receive(type, { id: 'ded-x', employee_id: 'stranger', line_of_coverage: 'nonsense' });
  const report = await readiness('r1');
  t.strictSame(results(report), ['pass', 'pass', 'pass']);
  const unattributed = report.checks.find(({ id }: Json) => id === 'events-unattributed');
  t.match(unattributed, { result: 'warn', count: 1, examples: ['1 event'] });
  t.notMatch(JSON.stringify(report), /emp-b|stranger/);
});

onEitherEngine('14. several voluntary elections warn, and 24 of 26 is not a mismatch', async (t) => {
  const { schedule, census, deduct, put, drop, lines, check } = await begin(t);
  await schedule(BIWEEKLY);
  await census({ 'emp-1': {} });
  const voluntary = { line_of_coverage: 'voluntary_life', member_contribution: '3.00' };
  await deduct('ded-1', { ...voluntary, period: 'semimonthly' });
  await deduct('ded-2', { ...voluntary, period: 'semimonthly' });
  await put('r1', '2026-06-12', stated({ scheme: 'first-checks' }));
  t.equal((await check('r1', 'overlap')).result, 'warn');
  t.equal((await check('r1', 'frequency-mismatch')).result, 'pass');
  // 3.00 × 24 / 12 = 6.00 a month on the first two checks.
  t.strictSame(brief(await lines('r1')), ['ded-1 new 3.00', 'ded-2 new 3.00']);
  await drop('r1');
  await put('annualized', '2026-06-12');
  t.equal((await check('annualized', 'frequency-mismatch')).result, 'warn');
});

onEitherEngine('14. a late termination refunds only deductions that ended', async (t) => {
  const { schedule, census, deduct, paid, on, report, put, lines, check } = await begin(t);
  await schedule(BIWEEKLY);
  await census({ 'emp-1': { termination_date: '2026-06-10' }, 'emp-2': {}, 'emp-3': {} });
  await deduct('ded-1', { member_contribution: '10.00', effective_end: '2026-06-30' });
  await deduct('ded-2', { employee_id: 'emp-2', member_contribution: '70.00' });
  await deduct('ded-3', { employee_id: 'emp-3', member_contribution: '5.00' });
  await paid('r1', '2026-06-12');
  await put('r2', '2026-06-26');
  t.equal((await check('r2', 'coverage-beyond-last-check')).result, 'pass', 'no pay date of June remains');
  t.equal((await check('r2', 'open-after-termination')).result, 'pass');
  await paid('r2', '2026-06-26');
  on('2026-07-01');
  await report('termination', { employee_id: 'emp-2', termination_date: '2026-06-05' });
  await put('r3', '2026-07-10', INCLUDE);
  t.strictSame(adjustmentsIn(await lines('r3')), []);
  t.match(await check('r3', 'paid-after-termination'), {
    result: 'warn',
    examples: ['emp-2: medical (ded-2), paid on 2026-06-26 after 2026-06-05'],
  });
  const ended = { employee_id: 'emp-2', member_contribution: '70.00', effective_end: '2026-06-12' };
  await deduct('ded-2', ended);
  t.strictSame(adjustmentsIn(await lines('r3')), [], 'no regular run has the employee');
  const lastCheck = { kind: 'off_cycle', employee_ids: ['emp-2'], final_checks: ['emp-2'] };
  await put('last', '2026-07-10', { ...lastCheck, ...INCLUDE });
  t.strictSame(brief(adjustmentsIn(await lines('last'))), ['ded-2 r2 -70.00']);
  t.equal((await check('r3', 'paid-after-termination')).result, 'pass');
});

onEitherEngine('27.3 a schedule replaces its year only, and keeps the dates of finalized runs', async (t) => {
  const { schedule, census, deduct, paid, call, put, check } = await begin(t);
  await schedule(BIWEEKLY);
  await census({ 'emp-1': {} });
  await deduct('ded-1', { member_contribution: '150.00', period: 'monthly' });
  await paid('r1', '2026-06-12');
  const url = (year: number) => `/v1/employers/${EMPLOYER}/pay-schedules/${year}`;
  const friday = (index: number) => daysAfter('2027-01-08', 14 * index);
  const dates = Array.from({ length: 26 }, (_, index) => dateOf(friday(index), 14, 1));
  const next = { schedules: [{ pay_frequency: 'biweekly', pay_dates: dates }] };
  t.equal((await call({ method: 'PUT', url: url(2027), body: next })).status, 200);
  const wrong = await call({ method: 'PUT', url: url(2028), body: next });
  t.match(wrong, { status: 422, json: { errors: [{ path: 'schedules[0].pay_dates[0].pay_date' }] } });
  const { json } = await call({ url: url(2026) });
  t.equal(json.schedules[0].pay_dates.length, 26, 'this year keeps its dates');
  await put('r2', '2026-06-26');
  t.equal((await check('r2', 'calendar-differs')).result, 'pass');
  for (const method of ['PUT', 'DELETE'] as const) {
    const body = method === 'PUT' && { body: { schedules: [] } };
    const refused = await call({ method, url: url(2026), ...body });
    t.match(refused, { status: 409, json: { detail: /r1 \(2026-06-12\)/ } }, method);
  }
  t.equal((await call({ method: 'DELETE', url: url(2027) })).status, 204);
  t.strictSame((await call({ url: url(2027) })).json, { schedules: [] });
});
