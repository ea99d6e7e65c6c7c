import t, { type Test } from 'tap';
import type { Db } from '../../../src/database/tables.ts';
import type { LineRecord } from '../../../src/payroll/calculation/line.ts';
import type { RunBody } from '../../../src/payroll/records/body.ts';
import { scratch } from '../../database/scratch.ts';
import {
  BIWEEKLY,
  body,
  dateOf,
  EMPLOYER,
  employment,
  event,
  finalized,
  learn,
  lines,
  refusedRun,
  schedule,
  send,
  setPolicy,
  setSchedules,
  verified,
  voided,
} from '../../support/payroll.ts';
import { every } from '../calendars.ts';

type Changes = Parameters<typeof event>[2];

/** 150.00 a month: 69.23 on each of 26 checks except the last. */
const each = (changes: Changes = {}, sent = '2025-12-01', id = 'a') =>
  event(id, sent, { employee_id: 'e', member_contribution: '150.00', ...changes });

/** An employee who left on June 10, with a deduction. The pay dates of June are 5 and 19, checks 12 and 13. */
async function staged(t: Test, changes: Changes = {}): Promise<Db> {
  const { db } = await scratch(t);
  const pay_dates = BIWEEKLY.map(({ pay_date }) => dateOf(pay_date, 14, 1));
  await setSchedules(db, [schedule({ pay_dates })]);
  await setPolicy(db, { open_items: 'include', recoup: { method: 'all' } });
  await learn(db, employment('e', { termination_date: '2026-06-10' }));
  await send(db, each(changes));
  return db;
}

/** The indexes of the checks of June 5 and June 19, whose period contains the termination. */
const [FIRST, LAST] = [11, 12];
const FINAL: Partial<RunBody> = { final_checks: ['e'] };
const OFF_CYCLE: Partial<RunBody> = {
  ...FINAL,
  kind: 'off_cycle',
  employee_ids: ['e'],
  deductions: ['a'],
  period_start: '2026-06-08',
  period_end: '2026-06-10',
  pay_date: '2026-06-11',
};

const brief = ({ adjustment_for, member_amount, flags, shares }: LineRecord) =>
  [
    adjustment_for,
    member_amount,
    ...(shares ?? []).map(({ pay_date }) => pay_date.slice(5)),
    ...flags.filter((flag) => !['open_after_termination', 'partial_cycle'].includes(flag)),
  ].join(' ');
const taken = async (db: Db, place: number, fields: Partial<RunBody> = {}) =>
  (await lines(db, body(place, fields))).map(brief);
const due = async (db: Db, place: number, fields: Partial<RunBody> = {}) =>
  (await lines(db, body(place, fields), 'adjustment')).map(brief);

/** Withdraws the termination. */
const returned = (db: Db) => learn(db, employment('e', { hire_date: '2026-06-11' }));

t.test('a final check takes the rest of the month of the termination in one explained line', async (t) => {
  const db = await staged(t, { effective_end: '2026-12-31', employer_contribution: '300.00' });
  await finalized(db, 'before', body(FIRST - 1));
  const [line] = await lines(db, body(FIRST - 1 + 1, { ...OFF_CYCLE, period_start: '2026-06-01' }));
  t.equal(
    line?.explanation,
    '2 shares, June 5 and 19: 69.23 + 69.23; plus employer 138.46 + 138.46',
    'none of July, although the deduction has an end',
  );
  t.strictSame(line?.shares, [
    { pay_date: '2026-06-05', member_amount: '69.23', employer_amount: '138.46' },
    { pay_date: '2026-06-19', member_amount: '69.23', employer_amount: '138.46' },
  ]);
});

t.test('a weekly leaver of September 9 pays the rest of September, and one share of an FSA', async (t) => {
  const { db } = await scratch(t);
  const pay_dates = every(7, '2026-01-02', 52).map((date) => dateOf(date, 7, 5));
  await setSchedules(db, [schedule({ pay_frequency: 'weekly', pay_dates })]);
  await learn(db, employment('e', { pay_frequency: 'weekly', termination_date: '2026-09-09' }));
  const ends = { effective_end: '2026-12-31' };
  await send(db, each(ends), each({ ...ends, line_of_coverage: 'healthcare_fsa' }, '2025-12-01', 'f'));
  const run = (pay_date: string): RunBody => {
    const { takes: _, ...date } = dateOf(pay_date, 7, 5);
    return { employer_id: 'acme', pay_frequency: 'weekly', ...date };
  };
  await finalized(db, 'before', run('2026-09-04'));
  const shown = (await lines(db, { ...run('2026-09-11'), ...FINAL })).map((line) => line.explanation);
  t.match(shown, [
    /^150.00 monthly × 12 = 1,800.00 a year; check 37 of 52; 34.61$/,
    '3 shares, September 11, 18 and 25: 34.61 + 34.61 + 34.61',
  ]);
});

t.test('each share has the state and the place of its own day', async (t) => {
  const db = await staged(t);
  await send(db, each({ member_contribution: '300.00', effective_start: '2026-06-10' }, '2026-05-01'));
  await finalized(db, 'before', body(FIRST - 1));
  const [line] = await lines(db, body(FIRST, OFF_CYCLE));
  t.equal(line?.explanation, '2 shares, June 5 and 19: 69.23 + 138.46');
});

t.test('a date on which the deduction is not in effect has no share', async (t) => {
  const db = await staged(t, { effective_end: '2026-06-18' });
  await finalized(db, 'before', body(FIRST - 1));
  t.strictSame(await taken(db, FIRST, OFF_CYCLE), [' 69.23 06-05']);
  await setPolicy(db, { applies_on: 'period_end' });
  t.strictSame(await taken(db, FIRST, OFF_CYCLE), [' 138.46 06-05 06-19'], 'its period ends on June 18');
});

t.test('dates before the first run of the employer are settled', async (t) => {
  const db = await staged(t);
  await finalized(db, 'first', body(LAST));
  t.strictSame(await taken(db, LAST + 1, FINAL), [' 69.23 07-03'], 'June 19 was its first run');
  await voided(db, 'first');
  t.strictSame(await taken(db, LAST, FINAL), [' 69.23 06-19'], 'without a run, the pay date is the first');
});

t.test('a final check is itself the first run if it is dated before all others', async (t) => {
  const db = await staged(t);
  await finalized(db, 'later', body(LAST + 1));
  t.strictSame(await taken(db, FIRST, FINAL), [' 138.46 06-05 06-19']);
  t.strictSame(await taken(db, FIRST, OFF_CYCLE), [], 'an off-cycle run never counts as one');
});

t.test('a date of a run in which the employee was or belongs is no share', async (t) => {
  const db = await staged(t);
  await finalized(db, 'before', body(FIRST - 1));
  await finalized(db, 'of-others', body(FIRST, { employee_ids: ['e'] }));
  t.strictSame(await taken(db, LAST, FINAL), [' 69.23 06-19']);
  await voided(db, 'of-others');
  t.strictSame(
    await taken(db, LAST, FINAL),
    [' 138.46 06-05 06-19'],
    'a void frees its date, also a past one',
  );
  await learn(db, employment('f'));
  await finalized(db, 'of-f', body(FIRST, { employee_ids: ['f'] }));
  t.strictSame(await taken(db, LAST, FINAL), [' 69.23 06-19', 'of-f 69.23 missed_check'], 'that is an item');
});

t.test('a final check that takes only the share of another date says so', async (t) => {
  const db = await staged(t);
  const nothing = [FIRST - 1, FIRST].map((place) => BIWEEKLY[place]?.pay_date);
  const pay_dates = BIWEEKLY.map(({ pay_date }) => ({
    ...dateOf(pay_date, 14, 1),
    ...(nothing.includes(pay_date) && { takes: 'none' as const }),
  }));
  await setSchedules(db, [schedule({ pay_dates })]);
  await learn(db, employment('e', { termination_date: '2026-06-03' }));
  await finalized(db, 'before', body(FIRST - 1));
  const [line] = await lines(db, body(FIRST, FINAL));
  t.match(line, {
    shares: [{ pay_date: '2026-06-19' }],
    member_difference: '75.00',
    amount_change: 'shares',
  });
});

t.test('a date that a run takes itself is not due for an earlier final check', async (t) => {
  const db = await staged(t, { effective_end: '2026-06-10' });
  await finalized(db, 'before', body(FIRST - 1));
  await finalized(db, 'first', body(FIRST));
  await finalized(db, 'last', body(LAST, FINAL));
  await voided(db, 'first');
  t.strictSame(await taken(db, FIRST), [' 69.23']);
});

t.test('a final check whose one share another one takes is due 0.00', async (t) => {
  const db = await staged(t, { line_of_coverage: 'hsa', coverage_type: null });
  await send(db, each({ line_of_coverage: 'dental' }, '2025-12-01', 'b'));
  await finalized(db, 'before', body(FIRST - 1));
  await finalized(db, 'off', body(FIRST, OFF_CYCLE));
  await finalized(db, 'last', body(LAST, FINAL));
  await voided(db, 'off');
  const { final_checks: _, ...dental } = { ...OFF_CYCLE, deductions: ['b'] };
  await finalized(db, 'item', body(FIRST, dental));
  const [line, refund] = await lines(db, body(FIRST, OFF_CYCLE));
  t.match(line, { member_amount: '69.23', shares: [{ pay_date: '2026-06-05' }] });
  t.match(refund, { adjustment_for: 'last', member_amount: '-69.23', flags: ['share_taken'] });
  t.match(refund?.explanation, /hsa should have been 0.00 \(another check took its share\)/);
});

t.test('a final check takes no share of a date that another frequency paid', async (t) => {
  const db = await staged(t, { effective_end: '2026-06-20' });
  const pay_dates = BIWEEKLY.map(({ pay_date }) => dateOf(pay_date, 14, 1));
  const weekly = every(7, '2026-01-02', 52).map((date) => dateOf(date, 7, 1));
  await setSchedules(db, [schedule({ pay_dates }), schedule({ pay_frequency: 'weekly', pay_dates: weekly })]);
  const weeklyFrom = {
    termination_date: '2026-06-10',
    pay_frequency: 'weekly',
    effective_on: '2026-06-15',
  } as const;
  await learn(db, employment('e', weeklyFrom));
  const { takes: _, ...date } = dateOf('2026-06-19', 7, 1);
  const last: RunBody = { employer_id: EMPLOYER, pay_frequency: 'weekly', ...date, ...FINAL };
  t.strictSame((await lines(db, last)).map(brief), [' 34.61 06-19']);
  await finalized(db, 'biweekly', body(LAST));
  const [line] = await lines(db, last);
  t.equal(brief(line as LineRecord), ' 0.00 share_taken');
  t.equal(line?.explanation, 'another check took the share of June 19; 0.00');
});

t.test('a share is taken once, even if the employee returns', async (t) => {
  const db = await staged(t);
  await finalized(db, 'before', body(FIRST - 1));
  await finalized(db, 'off', body(FIRST, OFF_CYCLE));
  await returned(db);
  const [line] = await lines(db, body(LAST));
  t.match(line, {
    member_amount: '0.00',
    flags: ['share_taken'],
    amount_change: 'shares',
    explanation: 'a final check took the share of June 19; 0.00',
  });
  await finalized(db, 'r12', body(LAST));
  t.ok((await verified(db, 'r12')).identical);
  t.strictSame(await due(db, LAST + 1), []);
  await voided(db, 'off');
  t.strictSame(await due(db, LAST + 1), ['r12 69.23'], 'the share of a voided run is due');
  const [share] = await lines(db, body(LAST + 1), 'adjustment');
  t.match(share?.explanation, /\(the final check was voided on July 10\)/);
  t.ok((await verified(db, 'r12')).identical, 'a final run keeps what it knew');
});

t.test('a voided final check frees its dates, past ones too', async (t) => {
  const db = await staged(t);
  await finalized(db, 'before', body(FIRST - 1));
  await finalized(db, 'off', body(FIRST, OFF_CYCLE));
  t.strictSame(await taken(db, LAST + 1, FINAL), [' 69.23 07-03'], 'its own date');
  await voided(db, 'off');
  t.strictSame(await taken(db, LAST + 1, FINAL), [' 207.69 06-05 06-19 07-03']);
});

t.test('a later difference is due for the run that took the shares, on the same dates', async (t) => {
  const db = await staged(t);
  await finalized(db, 'before', body(FIRST - 1));
  await finalized(db, 'off', body(FIRST, OFF_CYCLE));
  await send(db, each({ member_contribution: '300.00' }, '2026-06-05'));
  t.strictSame(await due(db, LAST, FINAL), ['off 138.46']);
});

t.test('what a final check is due follows the termination that it knew', async (t) => {
  const db = await staged(t);
  await finalized(db, 'before', body(FIRST - 1));
  await finalized(db, 'last', body(LAST, FINAL));
  await learn(db, employment('e', { termination_date: '2026-07-20' }));
  await send(db, each({}, '2025-12-01', 'late'));
  t.strictSame(await due(db, LAST + 1), ['before 69.23', 'last 138.46'], 'June 5 and 19');
});

t.test('all final checks of an employee take one share of money at a custodian', async (t) => {
  const db = await staged(t);
  await send(db, each({ line_of_coverage: 'hsa' }, '2025-12-01', 'h'));
  await finalized(db, 'before', body(FIRST - 1));
  const both = { ...OFF_CYCLE, deductions: ['a', 'h'] };
  t.strictSame(await taken(db, FIRST, both), [' 69.23 06-05', ' 138.46 06-05 06-19']);
  t.strictSame(await taken(db, LAST, FINAL), [' 69.23 06-19', ' 138.46 06-05 06-19'], 'its own date first');
  await finalized(db, 'off', body(FIRST, { ...OFF_CYCLE, deductions: ['h'] }));
  t.strictSame(await taken(db, LAST, FINAL), [' 0.00 share_taken', ' 138.46 06-05 06-19']);
});

t.test('the last regular line names what a final check would take', async (t) => {
  const db = await staged(t, { employer_contribution: '300.00' });
  await finalized(db, 'before', body(FIRST - 1));
  await learn(db, employment('f'));
  await finalized(db, 'of-f', body(FIRST - 1 + 1, { employee_ids: ['f'] }));
  await voided(db, 'of-f');
  const [line] = await lines(db, body(LAST));
  t.match(line?.flags, ['open_after_termination', 'coverage_beyond_last_check']);
  t.match(line?.explanation, /; 1 share after this check: 69.23 plus employer 138.46$/);
  t.strictSame(await taken(db, LAST, FINAL), [' 138.46 06-05 06-19']);
});

t.test('without a list of pay dates, a final check takes the share of its own date', async (t) => {
  const db = await staged(t);
  await setSchedules(db, []);
  t.strictSame(await taken(db, LAST, FINAL), [' 69.23']);
});

t.test('a final check needs a termination', async (t) => {
  const db = await staged(t);
  await learn(db, employment('f'));
  t.strictSame(await refusedRun(db, body(LAST, { final_checks: ['f'] })), [
    'final_checks: must name employees with a termination; none is reported for f',
  ]);
});
