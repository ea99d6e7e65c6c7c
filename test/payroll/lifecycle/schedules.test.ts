/** A pay schedule is replaced year by year, and keeps the pay dates of finalized runs. */
import type { Db, Trx } from '../../../src/database/tables.ts';
import { transact } from '../../../src/database/transaction.ts';
import { putScheduleYear } from '../../../src/payroll/lifecycle/schedules.ts';
import { type PayDate, readSchedules, type Schedule } from '../../../src/payroll/settings/schedules.ts';
import { scratch } from '../../database/scratch.ts';
import { acting } from '../../support/audit.ts';
import { onEitherEngine } from '../../support/engine.ts';
import {
  BIWEEKLY,
  body,
  daysAfter,
  deduct,
  EMPLOYER,
  employ,
  finalized,
  LATELY,
  lines,
  schedule,
  setSchedules,
} from '../../support/payroll.ts';

/** Sets the schedules of a year. */
const putYear = (trx: Trx, schedules: readonly Schedule[], year = '2026', untaken = false) =>
  putScheduleYear(trx, EMPLOYER, year, { schedules: [...schedules], untaken }, acting(LATELY));

const KEPT = BIWEEKLY.slice(0, 3);
/** The list without the pay date of the run. */
const MOVED = KEPT.map((date, index) => (index === 1 ? { ...date, pay_date: '2026-01-15' } : date));

const list = (pay_group: string | null, pay_dates = KEPT): Schedule => schedule({ pay_group, pay_dates });

/** The list in which that date takes only deductions of its own period. */
const MARKED = KEPT.map((date, index) => (index === 1 ? { ...date, takes: 'own_period' as const } : date));

const NEXT = { ...(BIWEEKLY[3] as PayDate), takes: 'none' as const };

/** The pay group of a run of January 16, the lists of the year, and those that replace them. */
const REPLACED: readonly (readonly [
  rule: string,
  pay_group: string | undefined,
  before: readonly Schedule[],
  after: readonly Schedule[],
  isKept: boolean,
])[] = [
  ['a list that has the date', undefined, [list(null)], [list(null)], true],
  ['a list in which the date takes something else', undefined, [list(null)], [list(null, MARKED)], false],
  [
    'another date takes something else',
    undefined,
    [list(null, MARKED)],
    [list(null, [...MARKED, NEXT])],
    true,
  ],
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
    const put = transact(db, (trx) => putYear(trx, after));
    if (isKept) await put;
    else
      await t.rejects(put, { code: 'SCHEDULE_IN_USE', message: /, with what they take: r \(2026-01-16\)\./ });
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
    await transact(db, (trx) => putYear(trx, schedules, name));
  const all = [before, year, after].flatMap(([schedules]) => schedules?.pay_dates ?? []);
  t.strictSame(await readSchedules(db, EMPLOYER), [list('a', all)]);
});

/** Finalizes runs of biweekly dates by their indexes. */
async function finalizeDates(db: Db, from: number, to: number): Promise<void> {
  for (let index = from; index <= to; index += 1) await finalized(db, `r${index}`, body(index));
}

onEitherEngine(
  'a year keeps a pay date for what its runs have not taken, unless it is to stay untaken',
  async (t) => {
    const { db } = await scratch(t);
    await setSchedules(db, [schedule()]);
    await finalizeDates(db, 0, 24);
    const put = (pay_dates: PayDate[], untaken = false) =>
      transact(db, (trx) => putYear(trx, [list(null, pay_dates)], '2026', untaken));
    const without = BIWEEKLY.slice(0, 25);
    const code = 'SCHEDULE_LEAVES_REST';
    await t.rejects(put(without), {
      code,
      message: /of 150\.00 a month, 69\.25 of 1,800\.00 would not be taken\..*"untaken": true/,
    });
    const last = BIWEEKLY[25] as PayDate;
    await t.rejects(put([...without, { ...last, takes: 'own_period' }]), { code }, 'a date of another kind');
    await put([...without, { ...last, pay_date: '2026-12-21' }]);
    await put(without, true);
    t.strictSame(await readSchedules(db, EMPLOYER), [list(null, without)]);
    await t.rejects(
      transact(db, (trx) => putYear(trx, [list(null, without)])),
      { code },
      'stated with each change',
    );
  },
);

onEitherEngine('an earlier date without a finalized run is left for the rest of a year', async (t) => {
  const { db } = await scratch(t);
  await employ(db, 'emp-1');
  await deduct(db, 'evt-1');
  await setSchedules(db, [schedule()]);
  await finalizeDates(db, 0, 4);
  await finalizeDates(db, 6, 24);
  await transact(db, (trx) => putYear(trx, [list(null, BIWEEKLY.slice(0, 25))]));
  const [line] = await lines(db, body(5));
  // 1,800.00 − 24 × 69.23.
  t.equal(line?.member_amount, '138.48');
});

onEitherEngine('a date before the first run of an employer is not left for the rest of a year', async (t) => {
  const { db } = await scratch(t);
  await setSchedules(db, [schedule()]);
  await finalizeDates(db, 23, 24);
  await t.rejects(
    transact(db, (trx) => putYear(trx, [list(null, BIWEEKLY.slice(0, 25))])),
    { code: 'SCHEDULE_LEAVES_REST', message: /69\.25 of 1,800\.00 would not be taken/ },
  );
});

onEitherEngine('the rest of contributions per paycheck counts apart', async (t) => {
  const { db } = await scratch(t);
  const last = BIWEEKLY[25] as PayDate;
  const dates = (takes: PayDate['takes']) => [list(null, [...BIWEEKLY.slice(0, 25), { ...last, takes }])];
  await setSchedules(db, dates('own_period'));
  await finalizeDates(db, 0, 24);
  await t.rejects(
    transact(db, (trx) => putYear(trx, dates('none'))),
    { code: 'SCHEDULE_LEAVES_REST', message: /69\.25 of 1,800\.00 would not be taken/ },
  );
});
