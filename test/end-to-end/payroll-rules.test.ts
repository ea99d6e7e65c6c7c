/**
 * Payroll cases over HTTP, from a census and reported changes to the lines of a run. Every expected amount was computed by
 * hand from docs/payroll-settings.md.
 */
import { compensationChange, newHire, payRate } from '../contract/samples.ts';
import { every } from '../payroll/calendars.ts';
import { onEitherEngine } from '../support/engine.ts';
import { dateOf, EMPLOYER } from '../support/payroll.ts';
import { BIWEEKLY, begin, brief, type Json, periodOf } from './payroll-world.ts';

onEitherEngine('a hire reported after two runs pays one missed check per paycheck', async (t) => {
  const { schedule, policy, census, deduct, paid, on, report, put, lines, readiness } = await begin(t);
  await census({ 'emp-1': {} });
  await schedule(BIWEEKLY);
  await policy({ open_items: 'include' });
  await deduct('ded-1', { member_contribution: '10.00' });
  const missed = { employee_id: 'emp-2', line_of_coverage: 'dental', member_contribution: '70.00' };
  await deduct('ded-2', { ...missed, effective_start: '2026-06-01' });
  await paid('r1', '2026-06-12');
  await paid('r2', '2026-06-26');
  on('2026-07-01');
  const hire = { ...newHire, employee_id: 'emp-2', employer_id: EMPLOYER, hire_date: '2026-05-26' };
  await report('new-hire', { ...hire, pay_frequency: 'biweekly' });
  await put('r3', '2026-07-10');
  const own = (await lines('r3')).filter(({ employee_id }) => employee_id === 'emp-2');
  t.strictSame(brief(own).toSorted(), ['ded-2 new 70.00', 'ded-2 r1 70.00']);
  const { checks } = await readiness('r3');
  const missing = checks.find(({ id }: Json) => id === 'missed-checks');
  t.match(missing, { result: 'warn', findings: [{ text: 'emp-2' }] });
});

onEitherEngine('a pay frequency from August 3 on moves the employee in August', async (t) => {
  const { schedule, census, deduct, paid, on, report, put, lines, service } = await begin(t, '2026-07-01');
  const weekly = every(7, '2026-01-02', 52).map((date) => dateOf(date, 7, 0));
  const biweekly = every(14, '2026-01-02', 26).map((date) => dateOf(date, 14, 0));
  const [weeks, others] = [
    { pay_frequency: 'weekly', pay_dates: weekly },
    { ...BIWEEKLY, pay_dates: biweekly },
  ];
  await census({ 'emp-1': { pay_frequency: 'weekly' }, 'emp-2': { pay_frequency: 'weekly' } });
  await schedule(weeks, others);
  await deduct('ded-1', { period: 'weekly', member_contribution: '20.00' });
  await deduct('ded-2', { employee_id: 'emp-2', period: 'weekly', member_contribution: '5.00' });
  on('2026-07-06');
  const pay_rate = { ...payRate, effective_start: '2026-08-03' };
  const change = { ...compensationChange, pay_frequency: 'biweekly', pay_rate };
  await report('compensation-change', { ...change, effective_on: '2026-08-03' });
  t.notMatch(service.received.map(({ body }) => body).join(), 'effective_on');
  const week = (pay_date: string) => ({ pay_frequency: 'weekly', ...periodOf(pay_date, 7, 0) });
  const first = await paid('w1', '2026-07-31', week('2026-07-31'));
  t.strictSame(brief(first), ['ded-1 new 20.00', 'ded-2 new 5.00']);
  await put('b1', '2026-07-31', periodOf('2026-07-31', 14, 0));
  t.strictSame(await lines('b1'), []);
  const after = await paid('w2', '2026-08-07', week('2026-08-07'));
  t.strictSame(brief(after), ['ded-1 moved 0.00', 'ded-2 same 5.00']);
  t.match(after[0].explanation, 'paid biweekly from August 3;');
  await put('b2', '2026-08-14', periodOf('2026-08-14', 14, 0));
  // 20.00 weekly × 52 = 1,040.00 a year over 26 checks.
  t.strictSame(brief(await lines('b2')), ['ded-1 new 40.00']);
});

onEitherEngine('an employee who leaves for another employer keeps the last check', async (t) => {
  const { schedule, census, deduct, paid, on, report, put, lines, run } = await begin(t);
  await census({ 'emp-1': {} });
  await schedule(BIWEEKLY);
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
