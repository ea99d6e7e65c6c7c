/** Final checks over HTTP: shares of pay dates after an employee's last check. Every expected amount was computed by hand. */
import { onEitherEngine } from '../support/engine.ts';
import { BIWEEKLY, begin } from './payroll-world.ts';

const MONTHLY = { period: 'monthly', member_contribution: '150.00' };

onEitherEngine('shares remain on the pay dates of the coverage, and more are refused', async (t) => {
  const { schedule, census, deduct, put, drop, lines, check } = await begin(t);
  await schedule(BIWEEKLY);
  const left = { termination_date: '2026-06-10' };
  await census({ 'emp-1': left, 'emp-2': left, 'emp-3': {}, 'emp-4': left });
  await deduct('ded-1', { ...MONTHLY, effective_end: '2026-07-31' });
  await deduct('ded-2', { ...MONTHLY, employee_id: 'emp-2', effective_end: '2026-06-30' });
  await deduct('ded-3', { ...MONTHLY, employee_id: 'emp-3' });
  // Friday, June 26, is the last check: July 10 and 24 remain for emp-1 alone.
  await put('last', '2026-06-26');
  const examples = ['emp-1: 2 shares, 138.46, coverage through 2026-07-31'];
  t.match(await check('last', 'coverage-beyond-last-check'), { result: 'warn', count: 1, examples });
  const wrong = async (final_checks: unknown[]) =>
    (await put('final', '2026-06-26', { final_checks })).json.errors;
  t.match(await wrong(['emp-3']), [
    { path: 'final_checks', rule: 'must name employees with a termination; none is reported for emp-3' },
  ]);
  t.match(await wrong([{ employee_id: 'emp-1', shares: 4 }]), [
    { path: 'final_checks', rule: 'must state no more shares than remain: emp-1 (3)' },
  ]);
  t.match(await wrong([{ employee_id: 'emp-1', shares: 0 }]), [{ path: 'final_checks[0]' }]);
  t.match(await wrong(['emp-1', { employee_id: 'emp-1', shares: 2 }]), [{ path: 'final_checks' }]);
  await drop('last');
  const final_checks = [{ employee_id: 'emp-1', shares: 3 }, 'emp-4'];
  t.equal((await put('final', '2026-06-26', { final_checks })).status, 201);
  const line = (await lines('final')).find(({ deduction_id }) => deduction_id === 'ded-1');
  t.match(line, {
    member_amount: '207.69',
    explanation: '3 shares, checks 13 to 15 of 26: 69.23 + 69.23 + 69.23 = 207.69',
  });
  t.equal((await check('final', 'coverage-beyond-last-check')).result, 'pass');
  t.match(await check('final', 'final-check-empty'), { result: 'warn', examples: ['emp-4'] });
});

onEitherEngine('several shares need a list of pay dates', async (t) => {
  const { census, deduct, put } = await begin(t);
  await census({ 'emp-1': { termination_date: '2026-06-10' } });
  await deduct('ded-1', { ...MONTHLY, effective_end: '2026-07-31' });
  const final_checks = [{ employee_id: 'emp-1', shares: 'all' }];
  t.match((await put('final', '2026-06-26', { final_checks })).json.errors, [
    { path: 'final_checks', rule: /without a list of pay dates/ },
  ]);
  t.equal((await put('final', '2026-06-26', { final_checks: ['emp-1'] })).status, 201);
});
