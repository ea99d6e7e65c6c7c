/** Payroll cases over HTTP about what a year of checks takes. Every expected amount was computed by hand. */
import { compensationChange, payRate } from '../contract/samples.ts';
import { every } from '../payroll/calendars.ts';
import { onEitherEngine } from '../support/engine.ts';
import { dateOf } from '../support/payroll.ts';
import { begin, brief } from './payroll-world.ts';

/** The second period of each two weeks ends with a biweekly one. */
const TWO_FREQUENCIES = [
  { pay_frequency: 'biweekly', pay_dates: every(14, '2026-01-02', 26).map((date) => dateOf(date)) },
  { pay_frequency: 'weekly', pay_dates: every(7, '2026-01-02', 52).map((date) => dateOf(date, 7)) },
];

/** A change of the pay frequency from a day on. */
const movesTo = (pay_frequency: string, effective_start: string, employee_id = 'emp-1') => ({
  ...{ ...compensationChange, employee_id, pay_frequency, pay_rate: { ...payRate, effective_start } },
});

onEitherEngine('the first check after a change of frequency states the shares of the year', async (t) => {
  const world = await begin(t, '2026-07-27');
  const { schedule, census, deduct, on, report, paid, put, lines, check, call, ok } = world;
  await schedule(...TWO_FREQUENCIES);
  await census({ 'emp-1': { pay_frequency: 'weekly' }, 'emp-2': { pay_frequency: 'weekly' }, 'emp-3': {} });
  for (const id of ['1', '2', '3'])
    await deduct(`ded-${id}`, { employee_id: `emp-${id}`, member_contribution: '150.00', period: 'monthly' });
  const week = { pay_frequency: 'weekly', ...dateOf('2026-08-14', 7) };
  t.strictSame(brief(await paid('weekly', '2026-08-14', week)), ['ded-1 new 34.61', 'ded-2 new 34.61']);
  // The period of weekly check 33 ends on August 9. Biweekly check 18 is for August 10 to 23.
  const moves = (id: string) => report('compensation-change', movesTo('biweekly', '2026-08-10', id));
  on('2026-08-10');
  await moves('emp-1');
  await put('r18', '2026-08-28');
  const [first, other] = await lines('r18');
  t.strictSame([first.member_amount, first.flags], ['69.23', ['frequency_moved']]);
  t.match(first.explanation, /; 33 of 52 weekly and 9 of 26 biweekly checks: 51\/52 of the year$/);
  t.strictSame(other.flags, [], 'an employee who did not move');
  const moved = { result: 'warn', examples: ['emp-1: 51/52 of the year'] };
  t.match(await check('r18', 'frequency-moved'), moved);
  await paid('r18', '2026-08-28');
  on('2026-09-07');
  await moves('emp-2');
  await put('r19', '2026-09-11');
  // The change of emp-2 was reported after the first check: the first line follows.
  t.match(await check('r19', 'frequency-moved'), { examples: ['emp-2: 51/52 of the year'], count: 1 });
  ok(await call({ method: 'POST', url: '/v1/payroll-runs/r18/void', body: { reason: 'a mistake' } }));
  t.match(await check('r19', 'frequency-moved'), { count: 2 }, 'a voided run had no check');
});

onEitherEngine('a change of frequency that completes the year is not flagged', async (t) => {
  const { schedule, census, deduct, on, report, paid, put, lines, check } = await begin(t, '2026-07-27');
  await schedule(...TWO_FREQUENCIES);
  await census({ 'emp-1': { pay_frequency: 'weekly' } });
  await deduct('ded-1', { member_contribution: '150.00', period: 'monthly' });
  await paid('weekly', '2026-08-21', { pay_frequency: 'weekly', ...dateOf('2026-08-21', 7) });
  on('2026-08-17');
  // Weekly checks 1 to 34 equal 17 biweekly checks, and 9 biweekly checks follow.
  await report('compensation-change', movesTo('biweekly', '2026-08-17'));
  await put('r18', '2026-08-28');
  t.strictSame((await lines('r18'))[0].flags, []);
  t.equal((await check('r18', 'frequency-moved')).result, 'pass');
});

onEitherEngine('a change of frequency may also take more than a year', async (t) => {
  const { schedule, census, deduct, report, paid, put, lines, check } = await begin(t, '2026-08-03');
  await schedule(...TWO_FREQUENCIES);
  await census({ 'emp-1': {} });
  await deduct('ded-1', { member_contribution: '150.00', period: 'monthly' });
  await paid('r17', '2026-08-14');
  // Biweekly check 17 and weekly check 33 end on August 9, and weekly check 34 is for the week after.
  await report('compensation-change', movesTo('weekly', '2026-08-10'));
  await put('w34', '2026-08-21', { pay_frequency: 'weekly', ...dateOf('2026-08-21', 7) });
  const [{ explanation }] = await lines('w34');
  t.match(explanation, '; 17 of 26 biweekly and 19 of 52 weekly checks: 53/52 of the year');
  t.match(await check('w34', 'frequency-moved'), { examples: ['emp-1: 53/52 of the year'] });
});
