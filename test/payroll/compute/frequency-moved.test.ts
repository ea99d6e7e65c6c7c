/** The first check after a change of pay frequency states the shares of the year: "A change of pay frequency" in docs/amounts.md. */
import t, { type Test } from 'tap';
import type { Db } from '../../../src/database/tables.ts';
import type { RunBody } from '../../../src/payroll/records/body.ts';
import { scratch } from '../../database/scratch.ts';
import {
  BIWEEKLY,
  dateOf,
  EMPLOYER,
  election,
  employment,
  finalized,
  learn,
  lines,
  schedule,
  send,
  setSchedules,
  voided,
} from '../../support/payroll.ts';
import { every } from '../calendars.ts';

const WEEKLY = every(7, '2026-01-02', 52).map((date) => dateOf(date, 7));

const bodyOf = (pay_frequency: 'weekly' | 'biweekly', payDate: string): RunBody => ({
  ...{ employer_id: EMPLOYER, pay_frequency },
  ...dateOf(payDate, pay_frequency === 'weekly' ? 7 : 14),
});

/** An employee with 150.00 a month whose frequency changes on a day. */
async function moving(
  t: Test,
  from: 'weekly' | 'biweekly',
  to: 'weekly' | 'biweekly',
  on: string,
): Promise<Db> {
  const { db } = await scratch(t);
  await setSchedules(db, [
    schedule({ pay_dates: BIWEEKLY }),
    schedule({ pay_frequency: 'weekly', pay_dates: WEEKLY }),
  ]);
  await learn(db, employment('e', { pay_frequency: from, effective_on: '2020-01-01' }));
  await learn(db, employment('e', { pay_frequency: to, effective_on: on }));
  await send(db, election('2025-12-01', { period: 'monthly', member_contribution: '150.00' }));
  return db;
}

/** Returns the shares of the year that the line of a run states, if it is flagged. */
async function stated(db: Db, given: RunBody): Promise<string | null> {
  const [line] = await lines(db, given, 'regular');
  if (!line?.flags.includes('frequency_moved')) return null;
  return line.explanation.split('; ').at(-1) ?? '';
}

t.test('a change of frequency that leaves less or more than a year states the shares', async (t) => {
  // The period of weekly check 33 ends on August 9. Biweekly check 18 is for August 10 to 23.
  const less = await moving(t, 'weekly', 'biweekly', '2026-08-10');
  const ofLess = '33 of 52 weekly and 9 of 26 biweekly checks: 51/52 of the year';
  t.equal(await stated(less, bodyOf('biweekly', '2026-08-28')), ofLess);
  // Biweekly check 17 and weekly check 33 end on August 9.
  const more = await moving(t, 'biweekly', 'weekly', '2026-08-10');
  const ofMore = '17 of 26 biweekly and 19 of 52 weekly checks: 53/52 of the year';
  t.equal(await stated(more, bodyOf('weekly', '2026-08-21')), ofMore);
  // Weekly checks 1 to 34 equal 17 biweekly checks, and 9 biweekly checks follow.
  const complete = await moving(t, 'weekly', 'biweekly', '2026-08-17');
  t.equal(await stated(complete, bodyOf('biweekly', '2026-08-28')), null);
});

t.test('only the first check after a change of frequency states the shares, until its void', async (t) => {
  const db = await moving(t, 'weekly', 'biweekly', '2026-08-10');
  await learn(db, employment('f'));
  const next = bodyOf('biweekly', '2026-09-11');
  await finalized(db, 'of-f', { ...bodyOf('biweekly', '2026-08-28'), employee_ids: ['f'] });
  t.match(await stated(db, next), /51\/52 of the year$/, 'a run without the employee');
  await voided(db, 'of-f');
  await finalized(db, 'r18', bodyOf('biweekly', '2026-08-28'));
  t.equal(await stated(db, next), null);
  await voided(db, 'r18');
  t.match(await stated(db, next), /51\/52 of the year$/);
});
