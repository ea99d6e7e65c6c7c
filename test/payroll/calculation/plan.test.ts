import t from 'tap';
import { type PlannedRun, planOf } from '../../../src/payroll/calculation/plan.ts';
import { every, plan, plannedRun, scheduled, yearOfDates } from '../calendars.ts';

const FRIDAYS = every(14, '2026-01-02', 26);
/** The same dates with one moved by a holiday, which stepping does not produce. */
const MOVED = FRIDAYS.map((date) => (date === '2026-07-03' ? '2026-07-02' : date));

/** Returns why a run can't be planned; '' if it can. */
function refusal(run: Partial<PlannedRun>, schedule: readonly string[] | null = null): string {
  const planned = planOf(plannedRun(run), scheduled(schedule));
  return planned.ok ? '' : `${planned.problem.path}: ${planned.problem.rule}`;
}

t.test('pay dates come from the run, else from the schedule of that year, else from stepping', async (t) => {
  const other = FRIDAYS.map((date) => (date === '2026-12-04' ? '2026-12-03' : date));
  const own = plan({ pay_dates: MOVED }, other);
  t.strictSame([own.dates, own.calendarAssumed], [MOVED, false]);
  const years = [...yearOfDates('biweekly', 2025, 3), ...other, ...every(14, '2027-01-15', 25)];
  const scheduled = plan({}, years);
  t.strictSame([scheduled.dates, scheduled.calendarAssumed], [other, false]);
  const stepped = plan({}, yearOfDates('biweekly', 2025, 3));
  t.strictSame([stepped.dates, stepped.calendarAssumed], [FRIDAYS, true]);
});

t.test('k and N are the place among the pay dates of the cycle', async (t) => {
  const place = (run: Partial<PlannedRun>) => {
    const { k, N, month, cycleDays, placeInYear } = plan(run);
    return [k, N, month, cycleDays[0], cycleDays.at(-1), placeInYear];
  };
  const july = { pay_date: '2026-07-17', pay_dates: FRIDAYS };
  t.strictSame(place({ ...july }), [15, 26, 7, '2026-01-02', '2026-12-18', 15]);
  t.strictSame(place({ ...july, scheme: 'month-even' }), [2, 3, 7, '2026-07-03', '2026-07-31', 15]);
  t.strictSame(place({ ...july, scheme: 'first-checks' }), [2, 2, 7, '2026-07-03', '2026-07-17', 15]);
  t.strictSame(place({ ...july, scheme: 'first-checks', pay_date: '2026-07-31' }), [
    3,
    2,
    7,
    '2026-07-03',
    '2026-07-17',
    16,
  ]);
});

t.test('first-checks takes as many checks as a month of the frequency has', async (t) => {
  const counts = (['monthly', 'semimonthly', 'biweekly', 'weekly'] as const).map((pay_frequency) => {
    const pay_dates = yearOfDates(pay_frequency, 2026, 2);
    const inJuly = pay_dates.filter((date) => date.startsWith('2026-07'));
    const { N } = plan({ pay_frequency, pay_dates, pay_date: inJuly[0] as string, scheme: 'first-checks' });
    return [inJuly.length, N];
  });
  t.strictSame(counts, [
    [1, 1],
    [2, 2],
    [3, 2],
    [5, 4],
  ]);
});

t.test('semimonthly and monthly runs without a list are annualized with remainder none', async (t) => {
  for (const [pay_frequency, N] of [
    ['semimonthly', 24],
    ['monthly', 12],
  ] as const) {
    const run = { pay_frequency, pay_date: '2026-03-31', remainder: 'spread' } as const;
    const { dates, calendarAssumed, k, placeInYear, cycleDays, remainder, ...rest } = plan(run);
    t.strictSame([dates, calendarAssumed, k, placeInYear, rest.N], [null, false, null, null, N]);
    t.strictSame([cycleDays, remainder], [[], 'none']);
    const refused = `pay_dates: is required: without a list of pay dates a ${pay_frequency} run can only have scheme annualized`;
    t.equal(refusal({ ...run, scheme: 'month-even' }), refused);
    t.equal(refusal({ ...run, scheme: 'first-checks' }), refused);
    t.equal(plan({ ...run, pay_dates: yearOfDates(pay_frequency, 2026) }).remainder, 'spread');
  }
});

t.test('a stepped calendar has remainder none', async (t) => {
  t.equal(plan({ remainder: 'spread' }).remainder, 'none');
  t.equal(plan({ remainder: 'spread' }, FRIDAYS).remainder, 'spread');
});

t.test('the month schemes reject a list with a month without dates', async (t) => {
  const pay_dates = yearOfDates('monthly', 2026).with(1, '2026-03-01');
  const run = { pay_frequency: 'monthly', pay_date: '2026-03-31', pay_dates } as const;
  t.equal(refusal(run), '');
  for (const kind of ['regular', 'off_cycle'] as const) {
    for (const scheme of ['month-even', 'first-checks'] as const) {
      t.equal(
        refusal({ ...run, kind, scheme }),
        `pay_dates: must have a pay date in every month for scheme ${scheme}; February has none`,
      );
    }
  }
  t.match(refusal({ ...run, pay_dates: null, scheme: 'month-even' }, pay_dates), /^pay_schedule: /);
});

t.test('a run on another date is rejected with the nearest pay dates', async (t) => {
  const pay_date = '2026-07-03';
  t.equal(
    refusal({ pay_date, pay_dates: MOVED }),
    'pay_dates: must contain the pay date 2026-07-03; next to it are 2026-07-02 and 2026-07-17',
  );
  t.equal(
    refusal({ pay_date }, MOVED),
    'pay_date: must be a date of the pay schedule; next to 2026-07-03 are 2026-07-02 and 2026-07-17',
  );
  t.equal(
    refusal({ pay_date: '2026-12-31', pay_dates: MOVED }),
    'pay_dates: must contain the pay date 2026-12-31; next to it are 2026-12-18',
  );
});

t.test('an invalid date or list is rejected with its field', async (t) => {
  t.equal(refusal({ pay_date: '2026-02-30' }), 'pay_date: must be a real date, YYYY-MM-DD');
  t.match(refusal({ pay_dates: FRIDAYS.with(4, 'x') }), /^pay_dates\[4\]: must be a real date/);
  t.match(refusal({ pay_dates: [] }), /^pay_dates: must cover 2026/);
  t.match(refusal({}, ['2026-03-27']), /^pay_schedule: must cover 2026/);
});

t.test('an off-cycle check has no place among the pay dates', async (t) => {
  const offCycle = { kind: 'off_cycle', pay_date: '2026-07-08' } as const;
  const { k, N, placeInYear, calendarAssumed } = plan(offCycle, FRIDAYS);
  t.strictSame([k, N, placeInYear, calendarAssumed], [null, 26, null, false]);
  t.equal(plan({ ...offCycle, scheme: 'month-even' }, FRIDAYS).N, 3);
  t.equal(plan({ ...offCycle, scheme: 'first-checks' }, FRIDAYS).N, 2);
  t.equal(plan(offCycle).calendarAssumed, true);
});
