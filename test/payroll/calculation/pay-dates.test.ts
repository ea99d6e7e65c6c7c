import t from 'tap';
import { PAY_FREQUENCIES, type PayFrequency } from '../../../src/contract/employee.ts';
import { coverProblem } from '../../../src/payroll/calculation/pay-dates.ts';
import { every, yearOfDates } from '../calendars.ts';

const FRIDAYS = every(14, '2026-01-02', 26);

/** Returns the problem of a biweekly list of 2026; '' without one. */
function problemOf(dates: readonly string[], frequency: PayFrequency = 'biweekly', year = '2026'): string {
  const problem = coverProblem(dates, year, frequency, 'pay_dates');
  return problem === null ? '' : `${problem.path}: ${problem.rule}`;
}

t.test('a pay date moved by a bank holiday does not invalidate a list', async (t) => {
  t.equal(problemOf(['2026-01-02', ...FRIDAYS.slice(1, -1), '2026-12-17']), '', 'within the year');
  t.equal(problemOf(every(14, '2026-01-16', 25)), '', 'the first moved into the previous year');
  t.equal(problemOf([...FRIDAYS, '2026-12-31']), '', 'the first of the next year moved into this year');
  const problem = problemOf(every(7, '2023-01-09', 51), 'weekly', '2023');
  t.equal(problem, '', 'Monday, 2 January 2023 was a holiday');
  const thanksgiving = every(7, '2026-01-02', 52).map((date) =>
    date === '2026-11-27' ? '2026-11-25' : date,
  );
  t.equal(problemOf(thanksgiving, 'weekly'), '');
});

t.test('a list that does not cover the year is rejected', async (t) => {
  const missing = (index: number) => FRIDAYS.toSpliced(index, 1);
  t.equal(
    problemOf(missing(10)),
    'pay_dates: must cover 2026: there is no biweekly pay date between 2026-05-08 and 2026-06-05',
  );
  t.equal(problemOf([]), 'pay_dates: must cover 2026: 25 to 27 biweekly pay dates, not 0');
  t.equal(problemOf(FRIDAYS.slice(13)), 'pay_dates: must cover 2026: 25 to 27 biweekly pay dates, not 13');
  t.equal(
    problemOf(every(13, '2026-02-02', 25)),
    'pay_dates: must cover 2026: there is no biweekly pay date between 2026-01-01 and 2026-02-02',
  );
  t.equal(
    problemOf(every(13, '2026-01-02', 26)),
    'pay_dates: must cover 2026: there is no biweekly pay date between 2026-11-23 and 2026-12-31',
  );
  for (const frequency of PAY_FREQUENCIES) {
    const dates = yearOfDates(frequency, 2026, 5);
    for (let index = 1; index < dates.length - 1; index += 1)
      t.not(problemOf(dates.toSpliced(index, 1), frequency), '', `${frequency} without ${dates[index]}`);
  }
});

t.test('a gap closer to two periods than to one is a missing date', async (t) => {
  const longest = { weekly: 10, biweekly: 21, semimonthly: 22, monthly: 45 };
  for (const frequency of PAY_FREQUENCIES) {
    const dates = yearOfDates(frequency, 2026, 5);
    const [before] = dates.slice(4);
    const [allowed, tooLate] = every(1, before as string, longest[frequency] + 2).slice(-2);
    t.equal(problemOf(dates.with(5, allowed as string), frequency), '', `${frequency} ${allowed}`);
    t.match(problemOf(dates.with(5, tooLate as string), frequency), `between ${before} and ${tooLate}`);
  }
});

t.test('a list of a different frequency is rejected', async (t) => {
  for (const frequency of PAY_FREQUENCIES) {
    for (const other of PAY_FREQUENCIES) {
      if (frequency === other) continue;
      t.match(problemOf(yearOfDates(frequency, 2026), other), /must cover 2026/, `${frequency} as ${other}`);
    }
  }
});
