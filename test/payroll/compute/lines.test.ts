import t from 'tap';
import { scratch } from '../../database/scratch.ts';
import {
  body,
  bodyUnder,
  elected,
  election,
  employment,
  event,
  learn,
  lines,
  send,
  setCodes,
} from '../../support/payroll.ts';

type Changes = Parameters<typeof event>[2];

t.test('a line has the contents of the version and its amounts', async (t) => {
  const { db } = await scratch(t);
  await learn(db, employment('e'));
  await send(
    db,
    event('a', '2025-12-01', {
      employee_id: 'e',
      member_contribution: '150',
      employer_contribution: '+300.0',
      coverage_type: 'member_spouse',
      description: 'Gold',
    }),
  );
  // The seventh pay date.
  t.match(await lines(db, body(6)), [
    {
      ...{ employee_id: 'e', deduction_id: 'a', version: 1, change: 'new', flags: [], payroll_code: null },
      ...{ line_of_coverage: 'medical', taxability: 'pre_tax' },
      ...{ coverage_type: 'member_spouse', description: 'Gold' },
      ...{ period: 'monthly', member_contribution: '150', employer_contribution: '+300.0' },
      ...{ member_amount: '69.23', employer_amount: '138.46', kind: 'regular', previous_amount: null },
      explanation:
        '150.00 monthly × 12 = 1,800.00 a year; one of 26 checks: 1,800.00 / 26 = 69.23; plus employer 300.00 monthly × 12 = 3,600.00 a year; one of 26 checks: 3,600.00 / 26 = 138.46',
    },
  ]);
});

t.test('a code for the taxability takes precedence over one for the line of coverage', async (t) => {
  const db = await elected(t);
  const dental = election('2025-12-01', { line_of_coverage: 'dental' }, 'c');
  await send(db, election('2025-12-01', { taxability: 'post_tax' }, 'b'), dental);
  await setCodes(db, [
    { line_of_coverage: 'medical', taxability: null, side: 'employee', code: 'MED', treatment: null },
    { line_of_coverage: 'medical', taxability: 'post_tax', side: 'employee', code: 'MEDP', treatment: null },
    { line_of_coverage: 'medical', taxability: null, side: 'employer', code: 'MEDER', treatment: 'memo' },
  ]);
  t.strictSame(
    (await lines(db, body(2))).map((line) => [
      line.deduction_id,
      line.payroll_code,
      line.employer_payroll_code,
      line.employer_treatment,
    ]),
    [
      ['c', null, null, null],
      ['a', 'MED', 'MEDER', 'memo'],
      ['b', 'MEDP', 'MEDER', 'memo'],
    ],
  );
});

t.test(
  'a deduction applies if it is in effect on the pay date, the period end, or the first of the next month',
  async (t) => {
    const { db } = await scratch(t);
    await learn(db, employment('e'));
    // The period of the run is 2026-01-16 to 2026-01-29, its pay date 2026-01-30.
    for (const [index, start] of [
      ...'2026-01-16 2026-01-17 2026-01-29 2026-01-30 2026-01-31'.split(' '),
    ].entries())
      await send(
        db,
        election('2025-12-01', { effective_start: `${start}T05:31:56Z` }, `start-${start.slice(8)}-${index}`),
      );
    for (const end of ['2026-01-15', '2026-01-16', '2026-01-28', '2026-01-29', '2026-01-30'])
      await send(
        db,
        election('2025-12-01', { effective_end: `${end}T23:00:00-05:00` }, `end-${end.slice(8)}`),
      );
    await send(
      db,
      election('2025-12-01', { effective_start: '2026-01-20', effective_end: '2026-01-19' }, 'never'),
    );
    const taken = async (applies_on: 'pay_date' | 'period_end' | 'next_month') =>
      (await lines(db, await bodyUnder(db, 2, { applies_on }))).map((line) => line.deduction_id);
    const byEnd = ['end-29', 'end-30', 'start-16-0', 'start-17-1', 'start-29-2'];
    t.strictSame(await taken('period_end'), byEnd);
    const byPayDate = ['end-30', 'start-16-0', 'start-17-1', 'start-29-2', 'start-30-3'];
    t.strictSame(await taken('pay_date'), byPayDate);
    const started = ['start-16-0', 'start-17-1', 'start-29-2', 'start-30-3', 'start-31-4'];
    t.strictSame(await taken('next_month'), started);
  },
);

t.test('a deduction without an end is flagged on the last lines only', async (t) => {
  const flagsOf = async (termination: string, changes: Changes = {}) => {
    const { db } = await scratch(t);
    await learn(db, employment('e', { termination_date: termination }));
    await send(db, election('2025-12-01', changes));
    return (await lines(db, body(2))).map((line) => line.flags);
  };
  t.strictSame(await flagsOf('2026-01-20'), [['open_after_termination']]);
  t.strictSame(await flagsOf('2026-01-20', { effective_end: '2026-01-31' }), [[]], 'it ends with the month');
  t.strictSame(await flagsOf('2026-01-20', { effective_end: '2026-02-01' }), [['open_after_termination']]);
  t.strictSame(await flagsOf('2026-01-29'), [['open_after_termination']], 'the last day of the period');
  t.strictSame(await flagsOf('2026-01-30'), [[]], 'the next run has the last lines');
});

t.test('a line has the flags of its amount', async (t) => {
  const { db } = await scratch(t);
  await learn(db, employment('e'));
  await send(
    db,
    election('2025-12-01', { period: 'weekly', member_contribution: '-1', effective_start: '2026-01-20' }),
  );
  t.match(await lines(db, body(2)), [{ flags: ['negative'] }]);
});
