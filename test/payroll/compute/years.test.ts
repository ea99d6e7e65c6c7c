import t from 'tap';
import type { RunBody } from '../../../src/payroll/records/body.ts';
import { scratch } from '../../database/scratch.ts';
import {
  BIWEEKLY,
  body,
  dateOf,
  employment,
  event,
  finalized,
  itemsIn,
  learn,
  lines,
  schedule,
  send,
  setSchedules,
} from '../../support/payroll.ts';

type Changes = Parameters<typeof event>[2];

const each = (id: string, changes: Changes = {}, sent = '2025-12-01') =>
  event(id, sent, { employee_id: 'e', period: 'biweekly', member_contribution: '10.00', ...changes });

const PAY_DATES = [...BIWEEKLY.map(({ pay_date }) => pay_date), '2026-12-31'];
/** The days of check 27 of 27. */
const LAST = { pay_date: '2026-12-31', period_end: '2026-12-30' };

const taken = async (db: Parameters<typeof lines>[0], given: RunBody) =>
  (await lines(db, given)).map((line) =>
    [line.deduction_id, line.member_amount, line.employer_amount].join(' '),
  );

t.test('an FSA that began with the year takes nothing after the contributions of a year', async (t) => {
  const { db } = await scratch(t);
  await learn(db, ...['e', 'f', 'g'].map((id) => employment(id)));
  const fsa: Changes = { line_of_coverage: 'healthcare_fsa', employer_contribution: '5' };
  await send(
    db,
    each('a', fsa),
    each('hsa', { line_of_coverage: 'hsa' }),
    each('later', { ...fsa, employee_id: 'f', effective_start: '2026-01-03' }),
    // A renewed election continues the coverage of the first date.
    each('old', { ...fsa, employee_id: 'g', effective_end: '2026-06-30' }),
    each('renewed', { ...fsa, employee_id: 'g', effective_start: '2026-07-01' }),
  );
  const all = ['a 10.00 5.00', 'hsa 10.00 0.00', 'later 10.00 5.00', 'renewed 10.00 5.00'];
  t.strictSame(await taken(db, body(25, { pay_dates: PAY_DATES })), all, 'check 26');
  t.strictSame(await taken(db, body(25, { ...LAST, pay_dates: PAY_DATES })), [
    'a 0.00 0.00',
    'hsa 10.00 0.00',
    'later 10.00 5.00',
    'renewed 0.00 0.00',
  ]);
  // With steps of two weeks from December 31, the year has 27 dates, too.
  t.strictSame(await taken(db, body(25, LAST)), all, 'no list of pay dates');
});

t.test('an FSA began with the year if the day of the first check that decides is in its dates', async (t) => {
  const { db } = await scratch(t);
  await learn(db, employment('e'));
  await send(db, each('a', { line_of_coverage: 'dependent_care_fsa', effective_start: '2026-01-01' }));
  await setSchedules(db, [schedule({ pay_dates: [...BIWEEKLY, dateOf('2026-12-31', 7)] })]);
  t.strictSame(await taken(db, body(25, LAST)), ['a 0.00 0.00']);
  t.strictSame(await taken(db, body(25, { ...LAST, applies_on: 'period_end' })), ['a 10.00 0.00']);
});

t.test('check 27 of an FSA is due if its coverage proves to have begun later', async (t) => {
  const { db } = await scratch(t);
  await learn(db, employment('e'));
  const fsa: Changes = { line_of_coverage: 'healthcare_fsa' };
  await send(db, each('a', { ...fsa, effective_start: '2026-07-01' }));
  await send(db, each('old', { ...fsa, effective_end: '2026-06-30' }));
  await finalized(db, 'r27', body(25, { ...LAST, pay_dates: PAY_DATES }));
  const adjustments = async () =>
    (await itemsIn(db, body(25, { pay_dates: PAY_DATES }))).map(
      ({ id, outstanding }) => `${id} ${outstanding.member}`,
    );
  t.strictSame(await adjustments(), []);
  await send(db, each('old', { ...fsa, effective_end: '2025-12-31' }, '2026-12-20'));
  t.strictSame(await adjustments(), ['adjustment:r27:e:a:healthcare_fsa:pre_tax 1000']);
});

t.test('a check that the calendar skips differs by the calendar', async (t) => {
  const { db } = await scratch(t);
  await learn(db, employment('e'));
  await send(db, each('a'), each('m', { period: 'monthly', line_of_coverage: 'vision' }));
  const amountChanges = async (given: RunBody) =>
    (await lines(db, given, 'regular')).map(({ amount_change }) => amount_change);
  // January has three pay dates.
  const firstChecks = { scheme: 'first-checks' } as const;
  await finalized(db, 'r1', body(1, firstChecks));
  t.strictSame(await amountChanges(body(2, firstChecks)), ['same', 'calendar'], 'the third of January');
  await finalized(db, 'r2', body(2, firstChecks));
  t.strictSame(await amountChanges(body(3, firstChecks)), ['same', 'calendar'], 'the first of February');
  const skip = { pay_dates: PAY_DATES, extra_paycheck: 'skip' } as const;
  await finalized(db, 'r25', body(25, { ...skip, pay_dates: PAY_DATES }));
  t.strictSame(await amountChanges(body(25, { ...skip, ...LAST })), ['calendar', 'rounding']);
});
