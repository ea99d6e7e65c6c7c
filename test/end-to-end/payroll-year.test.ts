/** Payroll cases over HTTP about what a year of checks takes. Every expected amount was computed by hand. */
import { every } from '../payroll/calendars.ts';
import { onEitherEngine } from '../support/engine.ts';
import { begin, brief, dateOf } from './payroll-world.ts';

onEitherEngine('an FSA takes 26 contributions in a year of 27 checks, and other lines warn', async (t) => {
  const { schedule, census, deduct, put, lines, check } = await begin(t, '2026-12-20');
  // Thursdays from January 1 to December 31.
  const pay_dates = every(14, '2026-01-01', 27).map((date) => dateOf(date));
  await schedule({ pay_frequency: 'biweekly', pay_dates });
  await census({ 'emp-1': {} });
  const since = { effective_start: '2026-01-01', member_contribution: '100.00' };
  await deduct('fsa', { ...since, line_of_coverage: 'healthcare_fsa' });
  await deduct('medical', { ...since, member_contribution: '70.00' });
  await put('r26', '2026-12-17');
  t.strictSame(brief(await lines('r26')), ['fsa new 100.00', 'medical new 70.00']);
  t.equal((await check('r26', 'check-beyond-year')).result, 'pass');
  await put('r27', '2026-12-31');
  t.strictSame(brief(await lines('r27')), ['fsa new 0.00', 'medical new 70.00']);
  t.match(await check('r27', 'check-beyond-year'), {
    result: 'warn',
    examples: ['medical: 1 employee, 70.00 on check 27, after the first 26'],
  });
});
