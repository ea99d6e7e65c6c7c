/** A pay schedule is replaced year by year, and keeps the pay dates of finalized runs. */
import { transact } from '../../../src/database/transaction.ts';
import { putScheduleYear } from '../../../src/payroll/lifecycle/schedules.ts';
import { readSchedules, type Schedule } from '../../../src/payroll/settings/schedules.ts';
import { scratch } from '../../database/scratch.ts';
import { acting } from '../../support/audit.ts';
import { onEitherEngine } from '../../support/engine.ts';
import {
  BIWEEKLY,
  body,
  daysAfter,
  EMPLOYER,
  finalized,
  LATELY,
  schedule,
  setSchedules,
} from '../../support/payroll.ts';

const KEPT = BIWEEKLY.slice(0, 3);
/** The list without the pay date of the run. */
const MOVED = KEPT.map((date, index) => (index === 1 ? { ...date, pay_date: '2026-01-15' } : date));

const list = (pay_group: string | null, pay_dates = KEPT): Schedule => schedule({ pay_group, pay_dates });

/** The pay group of a run of January 16, the lists of the year, and those that replace them. */
const REPLACED: readonly (readonly [
  rule: string,
  pay_group: string | undefined,
  before: readonly Schedule[],
  after: readonly Schedule[],
  isKept: boolean,
])[] = [
  ['a list that has the date', undefined, [list(null)], [list(null)], true],
  ['a list without the date', undefined, [list(null)], [list(null, MOVED)], false],
  ['a run without a group needs it in every list', undefined, [], [list('a'), list('b', MOVED)], false],
  ['a run of a group needs it in its own list', 'a', [], [list('a'), list('b', MOVED)], true],
  ['the list of the group lacks it', 'a', [], [list('a', MOVED), list('b')], false],
  ['a group without a list needs it in the list without a group', 'a', [], [list(null, MOVED)], false],
  ['another group’s list is not used', 'a', [], [list('b', MOVED)], true],
  ['the last list is removed', 'a', [list('a')], [], false],
  ['a list that lacked it is removed', 'a', [list('a', MOVED)], [], true],
];

for (const [rule, pay_group, before, after, isKept] of REPLACED) {
  onEitherEngine(`the pay date of a finalized run stays: ${rule}`, async (t) => {
    const { db } = await scratch(t);
    await finalized(db, 'r', body(1, pay_group === undefined ? {} : { pay_group }));
    await setSchedules(db, before);
    const put = transact(db, (trx) => putScheduleYear(trx, EMPLOYER, '2026', after, acting(LATELY)));
    if (isKept) await put;
    else await t.rejects(put, { code: 'SCHEDULE_IN_USE', message: /: r \(2026-01-16\)\./ });
    t.strictSame(await readSchedules(db, EMPLOYER), isKept ? after : before);
  });
}

onEitherEngine('a year replaces no other year, and a list stays in order', async (t) => {
  const { db } = await scratch(t);
  const inYear = (days: number) => [
    list(
      'a',
      KEPT.map((date) => ({ ...date, pay_date: daysAfter(date.pay_date, days) })),
    ),
  ];
  const [before, year, after] = [inYear(-364), inYear(0), inYear(364)];
  await finalized(db, 'r', body(1, { pay_group: 'a' }));
  for (const [name, schedules] of [
    ['2026', year],
    ['2027', after],
    ['2025', before],
    ['2026', year],
  ] as const)
    await transact(db, (trx) => putScheduleYear(trx, EMPLOYER, name, schedules, acting(LATELY)));
  const all = [before, year, after].flatMap(([schedules]) => schedules?.pay_dates ?? []);
  t.strictSame(await readSchedules(db, EMPLOYER), [list('a', all)]);
});
