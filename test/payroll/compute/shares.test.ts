import t, { type Test } from 'tap';
import type { Db } from '../../../src/database/tables.ts';
import type { LineRecord } from '../../../src/payroll/calculation/line.ts';
import type { RunBody } from '../../../src/payroll/records/body.ts';
import { scratch } from '../../database/scratch.ts';
import {
  BIWEEKLY,
  body,
  dateOf,
  employment,
  event,
  finalized,
  learn,
  lines,
  refusedRun,
  schedule,
  send,
  setSchedules,
  verified,
  voided,
} from '../../support/payroll.ts';

type Changes = Parameters<typeof event>[2];

/** 150.00 a month: 69.23 on each of 26 checks except the last. */
const each = (changes: Changes = {}, sent = '2025-12-01', id = 'a') =>
  event(id, sent, { employee_id: 'e', member_contribution: '150.00', ...changes });

/** An employee who left on June 10, with a deduction. Check 13 of June 19 is the last regular one. */
async function staged(t: Test, changes: Changes = {}): Promise<Db> {
  const { db } = await scratch(t);
  const pay_dates = BIWEEKLY.map(({ pay_date }) => dateOf(pay_date, 14, 1));
  await setSchedules(db, [schedule({ pay_dates })]);
  await learn(db, employment('e', { termination_date: '2026-06-10' }));
  await send(db, each(changes));
  return db;
}

const LAST = 12;
const final = (shares: number | 'all', fields: Partial<RunBody> = {}): Partial<RunBody> => ({
  final_checks: [{ employee_id: 'e', shares }],
  ...fields,
});
const OFF_CYCLE: Partial<RunBody> = {
  kind: 'off_cycle',
  employee_ids: ['e'],
  deductions: ['a'],
  period_start: '2026-06-19',
  period_end: '2026-06-24',
  pay_date: '2026-06-24',
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
const due = async (db: Db, place: number) =>
  (await lines(db, body(place, { adjustments: 'include' }), 'adjustment')).map(brief);

/** Withdraws the termination. */
const returned = (db: Db) => learn(db, employment('e', { hire_date: '2026-06-11' }));

t.test('a final check takes the first remaining shares in one explained line', async (t) => {
  const db = await staged(t, { effective_end: '2026-07-31', employer_contribution: '300.00' });
  const explanation = async (fields: Partial<RunBody>) =>
    (await lines(db, body(LAST, fields))).map((line) => line.explanation)[0];
  const regular =
    '150.00 monthly × 12 = 1,800.00 a year; check 13 of 26; 69.23; plus employer 300.00 monthly × 12 = 3,600.00 a year; check 13 of 26; 138.46';
  t.equal(await explanation({}), `${regular}; 3 shares after this check: 207.69 plus employer 415.38`);
  const listed = await explanation({ final_checks: ['e'] });
  t.equal(listed, `${regular}; 3 shares after this check: 207.69 plus employer 415.38`);
  t.equal(
    await explanation(final(3)),
    '3 shares, checks 13 to 15 of 26: 69.23 + 69.23 + 69.23 = 207.69; plus employer 138.46 + 138.46 + 138.46 = 415.38; ' +
      '1 share after this check: 69.23 plus employer 138.46',
  );
  t.strictSame(await taken(db, LAST, final('all')), [' 276.92 06-19 07-03 07-17 07-31']);
  t.strictSame(await taken(db, LAST + 1, final(1)), [' 69.23 07-03 coverage_beyond_last_check']);
});

t.test('each share has the state and the place of its own day', async (t) => {
  const db = await staged(t, { effective_end: '2026-12-31' });
  await send(
    db,
    each(
      { member_contribution: '300.00', effective_start: '2026-12-01', effective_end: '2026-12-31' },
      '2026-05-01',
    ),
  );
  const [line] = await lines(db, body(23, final('all')));
  t.equal(line?.explanation, '3 shares, checks 24 to 26 of 26: 69.23 + 138.46 + 138.50 = 346.19');
  t.strictSame(line?.shares, [
    { pay_date: '2026-11-20', member_amount: '69.23', employer_amount: '0.00' },
    { pay_date: '2026-12-04', member_amount: '138.46', employer_amount: '0.00' },
    { pay_date: '2026-12-18', member_amount: '138.50', employer_amount: '0.00' },
  ]);
});

t.test('after the month of the termination, a share remains only if the deduction has an end', async (t) => {
  const open = await staged(t);
  t.strictSame(await taken(open, LAST, final('all')), [' 69.23 06-19']);
  t.strictSame(await taken(open, LAST + 1, final('all')), []);
  await finalized(open, 'last', body(LAST));
  t.match(await lines(open, body(LAST + 1, final(1))), [
    { member_amount: '0.00', change: 'ended', explanation: /^employment ended June 10; / },
  ]);
  const ended = await staged(t, { effective_end: '2026-07-16' });
  t.strictSame(await taken(ended, LAST), [' 69.23 coverage_beyond_last_check']);
  t.strictSame(await taken(ended, LAST + 1, final('all')), [' 69.23 07-03']);
});

t.test('a date that the deduction has not by applies_on does not remain', async (t) => {
  const db = await staged(t, { effective_end: '2026-07-02' });
  t.strictSame(await taken(db, LAST), [' 69.23'], 'July 3 is after the end');
  t.strictSame(
    await taken(db, LAST, { applies_on: 'period_end' }),
    [' 69.23'],
    'the period of July 3 ends on July 2, but the pay date is after the end',
  );
});

t.test('a pay date that another run settled does not remain', async (t) => {
  const db = await staged(t, { effective_end: '2026-07-31' });
  await returned(db);
  await finalized(db, 'later', body(14));
  await learn(db, employment('e', { hire_date: '2026-06-11', termination_date: '2026-06-12' }));
  t.strictSame(await taken(db, LAST, final('all')), [' 207.69 06-19 07-03 07-31']);
  const [line] = await lines(db, body(LAST, final('all')));
  t.match(line?.explanation, /^3 shares, checks 13, 14, 16 of 26: /);
  await voided(db, 'later');
  t.strictSame(await taken(db, LAST, final('all')), [' 276.92 06-19 07-03 07-17 07-31']);
});

t.test('an off-cycle final check takes shares, and only of the deductions it names', async (t) => {
  const db = await staged(t, { effective_end: '2026-07-31' });
  await send(db, each({ line_of_coverage: 'dental', effective_end: '2026-07-31' }, '2025-12-01', 'b'));
  t.strictSame(await taken(db, LAST, final(2, OFF_CYCLE)), [
    ' 138.46 07-03 07-17 coverage_beyond_last_check',
  ]);
  const run = await finalized(db, 'off', body(LAST, final(2, OFF_CYCLE)));
  t.ok((await verified(db, run.run_id)).identical);
  t.strictSame(await taken(db, LAST + 1, final('all')), [' 207.69 07-03 07-17 07-31', ' 69.23 07-31']);
});

t.test('a share is taken once, even if the employee returns', async (t) => {
  const db = await staged(t, { effective_end: '2026-12-31' });
  await finalized(db, 'r11', body(11));
  await finalized(db, 'off', body(LAST, final(2, OFF_CYCLE)));
  await returned(db);
  t.strictSame(await taken(db, LAST), [' 69.23']);
  const [line] = await lines(db, body(LAST + 1));
  t.match(line, {
    member_amount: '0.00',
    flags: ['share_taken'],
    change: 'same',
    amount_change: 'shares',
    explanation: 'a final check took the share of 2026-07-03; 0.00',
  });
  t.strictSame(await due(db, LAST + 1), []);
  await finalized(db, 'r13', body(LAST + 1));
  t.ok((await verified(db, 'r13')).identical);
  t.strictSame(await taken(db, LAST + 2), [' 0.00 share_taken']);
  t.strictSame(await taken(db, LAST + 3), [' 69.23']);
  await voided(db, 'off');
  t.strictSame(await due(db, LAST + 2), ['r13 69.23'], 'the share of a voided run is due');
  const [share] = await lines(db, body(LAST + 2, { adjustments: 'include' }), 'adjustment');
  t.match(share?.explanation, /\(the final check was voided on July 10\)/);
  t.ok((await verified(db, 'r13')).identical, 'a final run keeps what it knew');
});

t.test('a check whose share was taken is not missed', async (t) => {
  const db = await staged(t, { effective_end: '2026-12-31' });
  await finalized(db, 'off', body(LAST, final(1, OFF_CYCLE)));
  await finalized(db, 'r13', body(LAST + 1));
  await finalized(db, 'r14', body(LAST + 2));
  await returned(db);
  t.strictSame(await due(db, LAST + 3), ['r14 69.23 missed_check']);
});

t.test('a later difference is due for the run that took the shares, on the same dates', async (t) => {
  const db = await staged(t, { effective_end: '2026-07-31' });
  await finalized(db, 'off', body(LAST, final(2, OFF_CYCLE)));
  const later = body(LAST + 2, { adjustments: 'include', final_checks: ['e'] });
  const adjustments = async () => (await lines(db, later, 'adjustment')).map(brief);
  t.strictSame(await adjustments(), []);
  await send(db, each({ member_contribution: '300.00', effective_end: '2026-07-31' }, '2026-06-25'));
  t.strictSame(await adjustments(), ['off 138.46 retro_pre_tax']);
  await send(db, each({ member_contribution: '300.00', effective_end: '2026-07-10' }, '2026-06-26'));
  t.strictSame(await adjustments(), [], '138.46 for July 3, and nothing for July 17');
});

t.test('a deduction reported after a final check is due on the pay dates since', async (t) => {
  const db = await staged(t, { effective_end: '2026-07-31' });
  await finalized(db, 'final', body(LAST, final('all')));
  await send(db, each({ line_of_coverage: 'dental', effective_end: '2026-07-31' }, '2026-07-01', 'b'));
  const later = body(LAST + 3, { adjustments: 'include', final_checks: ['e'] });
  t.strictSame((await lines(db, later)).map(brief), [
    ' 69.23 07-31',
    ' 0.00 share_taken',
    'final 207.69 retro_pre_tax',
  ]);
});

t.test('an off-cycle final check owes shares only, also if the employee returns', async (t) => {
  const db = await staged(t, { effective_end: '2026-12-31' });
  const dental = (effective_start: string, sent?: string) =>
    send(db, each({ line_of_coverage: 'dental', effective_start }, sent, 'b'));
  await dental('2026-08-01');
  await finalized(db, 'off', body(LAST, final(1, { ...OFF_CYCLE, deductions: ['a', 'b'] })));
  await returned(db);
  await dental('2026-06-01', '2026-06-25');
  t.strictSame(await due(db, LAST + 1), [], 'dental is in effect on June 24, which is no regular pay date');
});

t.test('without a list of pay dates, a final check takes the share of its own date', async (t) => {
  const db = await staged(t, { effective_end: '2026-07-31' });
  await setSchedules(db, []);
  t.strictSame(await taken(db, LAST + 1, { final_checks: ['e'] }), [' 69.23 coverage_beyond_last_check']);
});

t.test('a final check needs a termination, and takes no more shares than remain', async (t) => {
  const db = await staged(t, { effective_end: '2026-07-31' });
  await learn(db, employment('f'));
  const refused = (...final_checks: NonNullable<RunBody['final_checks']>) =>
    refusedRun(db, body(LAST, { final_checks }));
  t.strictSame(await refused('f'), [
    'final_checks: must name employees with a termination; none is reported for f',
  ]);
  t.strictSame(await refused({ employee_id: 'e', shares: 5 }), [
    'final_checks: must state no more shares than remain: e (4)',
  ]);
  t.match(await refused({ employee_id: 'e', shares: 0 }), [/^final_checks\[0\]: /]);
  t.match(await refused('e', { employee_id: 'e', shares: 2 }), [/^final_checks: /]);
  t.strictSame(await refused({ employee_id: 'e', shares: 4 }), []);
  await setSchedules(db, []);
  t.match(await refused({ employee_id: 'e', shares: 'all' }), [/ without a list of pay dates: .* e$/]);
  t.strictSame(await refused('e'), [], 'one share needs no list');
});
