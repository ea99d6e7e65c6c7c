/**
 * Half a year of payroll cases over HTTP, each with its own employer and database. Every expected amount was computed
 * by hand from docs/amounts.md.
 */
import { compensationChange, newHire, payRate } from '../contract/samples.ts';
import { every } from '../payroll/calendars.ts';
import { onEitherEngine } from '../support/engine.ts';
import { daysAfter } from '../support/payroll.ts';
import {
  adjustmentsIn,
  BIWEEKLY,
  begin,
  brief,
  cents,
  dateOf,
  EMPLOYER,
  INCLUDE,
  type Json,
  NO_SYNC,
  stated,
} from './payroll-world.ts';

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

onEitherEngine('1. a pay group learned one run late pays the missed check', async (t) => {
  const { schedule, census, deduct, paid, on } = await begin(t);
  await schedule({ ...BIWEEKLY, pay_group: 'north' });
  await census({ 'emp-1': { pay_group: 'north' }, 'emp-2': {} });
  await deduct('ded-1', { member_contribution: '10.00' });
  await deduct('ded-2', { employee_id: 'emp-2', member_contribution: '70.00' });
  const north = { pay_group: 'north', ...INCLUDE };
  t.strictSame(brief(await paid('r1', '2026-06-12', north, ['employees-not-scheduled'])), [
    'ded-1 new 10.00',
  ]);
  on('2026-06-15');
  await census({ 'emp-1': { pay_group: 'north' }, 'emp-2': { pay_group: 'north' } });
  const lines = await paid('r2', '2026-06-26', north);
  t.strictSame(brief(lines).toSorted(), ['ded-1 same 10.00', 'ded-2 new 70.00', 'ded-2 r1 70.00']);
});

onEitherEngine('1. one wrong census between two right ones loses no check', async (t) => {
  const { schedule, census, deduct, paid, on } = await begin(t);
  await schedule(BIWEEKLY);
  await census({ 'emp-1': {}, 'emp-2': {} });
  await deduct('ded-1', { member_contribution: '10.00' });
  await deduct('ded-2', { employee_id: 'emp-2', member_contribution: '70.00' });
  on('2026-06-03');
  await census({ 'emp-1': {}, 'emp-2': { pay_frequency: 'weekly' } });
  t.strictSame(brief(await paid('r1', '2026-06-12', INCLUDE, ['employees-not-scheduled'])), [
    'ded-1 new 10.00',
  ]);
  on('2026-06-15');
  await census({ 'emp-1': {}, 'emp-2': {} });
  const lines = await paid('r2', '2026-06-26', INCLUDE);
  t.strictSame(brief(lines).toSorted(), ['ded-1 same 10.00', 'ded-2 new 70.00', 'ded-2 r1 70.00']);
});

onEitherEngine('2. a pay frequency from August 3 on moves the employee in August', async (t) => {
  const { schedule, census, deduct, paid, on, report, put, lines, service } = await begin(t, '2026-07-01');
  const weekly = every(7, '2026-01-02', 52).map((date) => dateOf(date, 7, 0));
  const biweekly = every(14, '2026-01-02', 26).map((date) => dateOf(date, 14, 0));
  await schedule(
    { pay_frequency: 'weekly', pay_dates: weekly },
    { pay_frequency: 'biweekly', pay_dates: biweekly },
  );
  await census({ 'emp-1': { pay_frequency: 'weekly' }, 'emp-2': { pay_frequency: 'weekly' } });
  await deduct('ded-1', { period: 'weekly', member_contribution: '20.00' });
  await deduct('ded-2', { employee_id: 'emp-2', period: 'weekly', member_contribution: '5.00' });
  on('2026-07-06');
  const pay_rate = { ...payRate, effective_start: '2026-08-03' };
  const change = { ...compensationChange, pay_frequency: 'biweekly', pay_rate };
  await report('compensation-change', { ...change, effective_on: '2026-08-03' });
  t.notMatch(service.received.map(({ body }) => body).join(), 'effective_on');
  const week = (pay_date: string) => ({ pay_frequency: 'weekly', ...dateOf(pay_date, 7, 0) });
  t.strictSame(brief(await paid('w1', '2026-07-31', week('2026-07-31'))), [
    'ded-1 new 20.00',
    'ded-2 new 5.00',
  ]);
  await put('b1', '2026-07-31', dateOf('2026-07-31', 14, 0));
  t.strictSame(await lines('b1'), []);
  const after = await paid('w2', '2026-08-07', week('2026-08-07'));
  t.strictSame(brief(after), ['ded-1 moved 0.00', 'ded-2 same 5.00']);
  t.match(after[0].explanation, 'paid biweekly from August 3;');
  await put('b2', '2026-08-14', dateOf('2026-08-14', 14, 0));
  // 20.00 weekly × 52 = 1,040.00 a year over 26 checks.
  t.strictSame(brief(await lines('b2')), ['ded-1 new 40.00']);
});

onEitherEngine('3. a start corrected before it began takes nothing before the new start', async (t) => {
  const { schedule, census, deduct, on, put, lines, check } = await begin(t, '2026-06-01');
  await schedule(BIWEEKLY);
  await census({ 'emp-1': {} });
  await deduct('ded-1', { member_contribution: '60.00', effective_start: '2026-07-01' });
  on('2026-06-20');
  await deduct('ded-1', { member_contribution: '60.00', effective_start: '2026-08-01' });
  for (const date of ['2026-07-10', '2026-07-24']) {
    await put(date, date);
    t.strictSame(await lines(date), [], date);
    t.equal((await check(date, 'start-corrected')).result, 'warn');
  }
  await put('august', '2026-08-07');
  t.strictSame(brief(await lines('august')), ['ded-1 new 60.00']);
});

onEitherEngine('3. an ambiguous moved start fails readiness until a person decides', async (t) => {
  const { schedule, census, deduct, on, put, lines, check, call, ok } = await begin(t, '2026-06-01');
  await schedule(BIWEEKLY);
  await census({ 'emp-1': {} });
  await deduct('ded-1', { member_contribution: '50.00', effective_start: '2026-07-01' });
  on('2026-06-20');
  await deduct('ded-1', { member_contribution: '60.00', effective_start: '2026-08-01' });
  await put('july', '2026-07-10');
  t.equal((await check('july', 'start-moved')).result, 'fail');
  t.strictSame(brief(await lines('july')), ['ded-1 new 50.00']);
  for (const [decision, expected] of [
    ['keep', ['ded-1 new 50.00']],
    ['drop', []],
  ] as const) {
    const body = { version: 1, decision, reason: 'confirmed by telephone' };
    ok(await call({ method: 'POST', url: '/v1/deductions/ded-1/start-decision', body }));
    t.equal((await check('july', 'start-moved')).result, 'pass', decision);
    t.strictSame(brief(await lines('july')), expected, decision);
  }
});

onEitherEngine('4. a renewal is not refunded, and a retroactive change is adjusted once', async (t) => {
  const { schedule, census, deduct, paid, on } = await begin(t);
  await schedule(BIWEEKLY);
  await census({ 'emp-1': {}, 'emp-2': {} });
  const renewed = { period: 'monthly', member_contribution: '150.00' };
  await deduct('ded-1', { ...renewed, effective_start: '2025-07-01', effective_end: '2026-06-30' });
  await deduct('ded-2', { ...renewed, employee_id: 'emp-2', effective_start: '2026-01-01' });
  await paid('r1', '2026-06-12', INCLUDE);
  on('2026-06-15');
  await deduct('ded-1', {
    ...renewed,
    member_contribution: '160.00',
    effective_start: '2026-07-01',
    effective_end: '2027-06-30',
  });
  t.strictSame(adjustmentsIn(await paid('r2', '2026-06-26', INCLUDE)), []);
  on('2026-06-28');
  const raised = { ...renewed, employee_id: 'emp-2', member_contribution: '165.00' };
  await deduct('ded-2', { ...raised, effective_start: '2026-06-20' });
  const third = await paid('r3', '2026-07-10', INCLUDE);
  // 160.00 × 12 / 26 = 73.84; 165.00 × 12 / 26 = 76.15; 76.15 − 69.23 = 6.92.
  t.strictSame(brief(third), ['ded-1 changed 73.84', 'ded-2 changed 76.15', 'ded-2 r2 6.92']);
  t.strictSame(adjustmentsIn(await paid('r4', '2026-07-24', INCLUDE)), []);
});

onEitherEngine('6. adjustments for a voided run are reversed', async (t) => {
  const { schedule, census, deduct, paid, on, call, ok } = await begin(t);
  await schedule(BIWEEKLY);
  await census({ 'emp-1': {} });
  await deduct('ded-1', { member_contribution: '100.00', effective_start: '2026-01-01' });
  await paid('r1', '2026-06-12', INCLUDE);
  on('2026-06-20');
  await deduct('ded-1', { member_contribution: '110.00', effective_start: '2026-06-01' });
  const second = await paid('r2', '2026-06-26', INCLUDE);
  t.strictSame(brief(second), ['ded-1 changed 110.00', 'ded-1 r1 10.00']);
  const body = { reason: 'paid by mistake' };
  const voided = ok(await call({ method: 'POST', url: '/v1/payroll-runs/r1/void', body }));
  t.strictSame(voided.settled_by, ['r2']);
  const again = await paid('r1b', '2026-06-12', INCLUDE);
  const third = await paid('r3', '2026-07-10', INCLUDE);
  t.equal(cents(second) + cents(again) + cents(third), 330_00);
  t.strictSame(adjustmentsIn(await paid('r4', '2026-07-24', INCLUDE)), []);
});

onEitherEngine('7. a taxability corrected retroactively creates a pair of lines', async (t) => {
  const { schedule, census, deduct, paid, on } = await begin(t);
  await schedule(BIWEEKLY);
  await census({ 'emp-1': {} });
  const election = { member_contribution: '80.00', effective_start: '2026-01-01' };
  await deduct('ded-1', election);
  await paid('r1', '2026-06-12', INCLUDE);
  on('2026-06-20');
  await deduct('ded-1', { ...election, taxability: 'post_tax' });
  // The two are taken together, so that their sum counts.
  const lines = await paid('r2', '2026-06-26', INCLUDE);
  t.strictSame(
    adjustmentsIn(lines)
      .map((line) => [line.taxability, line.member_amount])
      .toSorted(),
    [
      ['post_tax', '80.00'],
      ['pre_tax', '-80.00'],
    ],
  );
  t.equal(cents(lines), 80_00);
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
  await deduct('ded-2', {
    employee_id: 'emp-2',
    line_of_coverage: 'vision',
    member_contribution: '10.00',
    effective_start: '2026-04-06',
  });
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

onEitherEngine('11. the original hire date in a census does not change a rehire', async (t) => {
  const { schedule, census, deduct, on, report, put, lines, run } = await begin(t, '2026-06-15');
  await schedule(BIWEEKLY);
  await census({ 'emp-1': { hire_date: '2020-03-02' } });
  await deduct('ded-1', { member_contribution: '20.00' });
  await report('termination', { employee_id: 'emp-1', termination_date: '2026-06-20' });
  const hire = { ...newHire, employee_id: 'emp-1', employer_id: EMPLOYER, hire_date: '2026-07-06' };
  await report('new-hire', { ...hire, pay_frequency: 'biweekly' });
  on('2026-07-20');
  await census({ 'emp-1': { hire_date: '2020-03-01' } });
  // The period of July 10 is June 22 to July 5, between the two employments.
  await put('r1', '2026-07-10');
  t.strictSame(await lines('r1'), []);
  t.strictSame((await run('r1')).not_in_run, [{ employee_id: 'emp-1', reason: 'terminated' }]);
  await put('r2', '2026-07-24');
  t.strictSame(brief(await lines('r2')), ['ded-1 new 20.00']);
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
  for (const url of ['/v1/readiness?employer_id=birch', '/v1/readiness']) {
    t.strictSame(results(ok(await call({ url }))), ['fail', 'fail', 'fail'], url);
  }
  await receive(type, { id: 'ded-x', employee_id: 'stranger', line_of_coverage: 'nonsense' });
  const report = await readiness('r1');
  t.strictSame(results(report), ['pass', 'pass', 'pass']);
  t.match(
    report.checks.find(({ id }: Json) => id === 'events-unattributed'),
    { result: 'warn', count: 1, examples: ['1 event'] },
  );
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

onEitherEngine('14. pre-tax increases for past checks warn, and a negative total fails', async (t) => {
  const { schedule, census, deduct, paid, on, put, check, lines, report } = await begin(t);
  await schedule(BIWEEKLY);
  await census({ 'emp-1': {}, 'emp-2': {} });
  const from = { effective_start: '2026-01-01' };
  await deduct('ded-1', { ...from, member_contribution: '100.00' });
  await deduct('ded-2', { ...from, employee_id: 'emp-2', member_contribution: '50.00' });
  await paid('r1', '2026-06-12');
  await paid('r2', '2026-06-26');
  on('2026-06-29');
  await deduct('ded-1', { ...from, member_contribution: '100.00', effective_end: '2026-05-31' });
  const raised = { employee_id: 'emp-2', member_contribution: '55.00', effective_start: '2026-06-20' };
  await deduct('ded-2', raised);
  await put('r3', '2026-07-10', INCLUDE);
  t.strictSame(brief(adjustmentsIn(await lines('r3'))), ['ded-2 r2 5.00'], 'refunds are held');
  t.match(await check('r3', 'retro-pre-tax'), { result: 'warn', examples: ['emp-2: medical 5.00'] });
  t.match(await check('r3', 'retro-refund'), { result: 'warn', examples: ['emp-1: medical -200.00'] });
  t.equal((await check('r3', 'negative-total')).result, 'pass');
  const lastCheck = { kind: 'off_cycle', employee_ids: ['emp-1'], final_checks: ['emp-1'] };
  await report('termination', { employee_id: 'emp-1', termination_date: '2026-06-28' });
  await put('last', '2026-07-10', { ...lastCheck, ...INCLUDE });
  t.match(await check('last', 'negative-total'), { result: 'fail', examples: ['emp-1: -200.00 pre_tax'] });
});

onEitherEngine(
  '14. coverage to the end of the month passes, and a late termination refunds only ended deductions',
  async (t) => {
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
  },
);

onEitherEngine('15. runs inherit the policy in effect on their pay date', async (t) => {
  const { schedule, census, deduct, put, run, lines, call, ok, paid } = await begin(t);
  await schedule(BIWEEKLY);
  await census({ 'emp-1': {} });
  await deduct('ded-1', { period: 'monthly', member_contribution: '150.00' });
  await paid('r1', '2026-06-12');
  for (const body of [
    { effective_from: '2026-06-20', scheme: 'month-even' },
    { effective_from: '2026-07-20', scheme: 'first-checks' },
  ]) {
    ok(await call({ method: 'PUT', url: '/v1/employers/acme/payroll-policy', body }));
  }
  await put('r2', '2026-06-26');
  await put('r3', '2026-07-24');
  t.equal((await run('r1')).scheme, 'annualized', 'a finalized run keeps its policy');
  t.equal((await run('r2')).scheme, 'month-even');
  t.equal((await run('r3')).scheme, 'first-checks');
  // Two pay dates a month: 150.00 / 2.
  const [line] = await lines('r2');
  t.match(line, { change: 'same', amount_change: 'changed', member_amount: '75.00' });
  const differing = await put('r4', '2026-07-10', { scheme: 'annualized' });
  t.equal(differing.status, 422);
  t.match(differing.json.errors, [{ path: 'policy_reason' }]);
  t.equal((await put('r4', '2026-07-10', stated({ scheme: 'annualized' }))).status, 201);
});

onEitherEngine('27.9. a deduction of two jobs is taken by the employer that it is assigned to', async (t) => {
  const { schedule, census, deduct, put, drop, lines, check, finalize, readiness, call, on } = await begin(t);
  await schedule(BIWEEKLY);
  await census({ 'emp-1': {} });
  await census({ 'emp-1': {} }, 'globex');
  await deduct('ded-1', { member_contribution: '40.00', effective_start: '2026-01-01' });
  const name = 'employees-with-two-employers';
  const globex = { employer_id: 'globex' };
  await put('r1', '2026-06-12');
  t.strictSame(await lines('r1'), []);
  t.match(await check('r1', name), { result: 'fail', examples: ['emp-1: deduction ded-1'] });
  const { etag } = await readiness('r1');
  const accept = { accept: [NO_SYNC, name], reason: 'the employee is asked' };
  t.equal((await finalize('r1', accept, etag)).status, 200);
  await put('r2', '2026-06-26');
  t.match(await check('r2', name), { result: 'accepted' }, 'remembered');
  on('2026-06-15');
  const url = '/v1/deductions/ded-1/employer';
  const assign = (fields: object) =>
    call({ method: 'PUT', url, body: { reason: 'elected in this job', ...fields } });
  t.match(await assign({ ...globex, effective_on: '2026-06-08' }), { status: 201 });
  t.strictSame(await lines('r2'), []);
  t.match(await check('r2', name), { result: 'pass' });
  await put('g2', '2026-06-26', globex);
  t.strictSame(brief(await lines('g2')), ['ded-1 new 40.00']);
  // The period of the run of June 12 ends on June 7.
  t.match(await assign({ employer_id: EMPLOYER, effective_on: '2026-06-07' }), { status: 201 });
  await drop('r2');
  await put('r3', '2026-06-26', INCLUDE);
  t.strictSame(brief(await lines('r3')), ['ded-1 new 40.00', 'ded-1 r1 40.00'], 'r1 took it in neither');
  const options = { ...INCLUDE, ...globex };
  await drop('g2');
  await put('g3', '2026-06-26', options);
  t.strictSame(await lines('g3'), []);
  const again = await readiness('r3');
  t.equal((await finalize('r3', { accept: [NO_SYNC], reason: 'no sync' }, again.etag)).status, 200);
  const refused = await assign({ ...globex, effective_on: '2026-06-20' });
  t.match(refused, { status: 409, json: { detail: /on or after 2026-06-20: r3\./ } });
});

onEitherEngine('27.3 a schedule replaces its year only, and keeps the dates of finalized runs', async (t) => {
  const { schedule, census, deduct, paid, call, put, check } = await begin(t);
  await schedule(BIWEEKLY);
  await census({ 'emp-1': {} });
  await deduct('ded-1', { member_contribution: '150.00', period: 'monthly' });
  await paid('r1', '2026-06-12');
  const url = (year: number) => `/v1/employers/${EMPLOYER}/pay-schedules/${year}`;
  const friday = (index: number) => daysAfter('2027-01-08', 14 * index);
  const dates = Array.from({ length: 26 }, (_, index) => ({
    pay_date: friday(index),
    period_start: daysAfter(friday(index), -14),
    period_end: daysAfter(friday(index), -1),
  }));
  const next = { schedules: [{ pay_frequency: 'biweekly', pay_dates: dates }] };
  t.equal((await call({ method: 'PUT', url: url(2027), body: next })).status, 200);
  const wrong = await call({ method: 'PUT', url: url(2028), body: next });
  t.match(wrong, { status: 422, json: { errors: [{ path: 'schedules[0].pay_dates[0].pay_date' }] } });
  const { json } = await call({ url: url(2026) });
  t.equal(json.schedules[0].pay_dates.length, 26, 'this year keeps its dates');
  await put('r2', '2026-06-26');
  t.equal((await check('r2', 'calendar-differs')).result, 'pass');
  for (const method of ['PUT', 'DELETE'] as const) {
    const refused = await call({
      method,
      url: url(2026),
      ...(method === 'PUT' && { body: { schedules: [] } }),
    });
    t.match(refused, { status: 409, json: { detail: /r1 \(2026-06-12\)/ } }, method);
  }
  t.equal((await call({ method: 'DELETE', url: url(2027) })).status, 204);
  t.strictSame((await call({ url: url(2027) })).json, { schedules: [] });
});
