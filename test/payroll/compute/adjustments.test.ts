import t, { type Test } from 'tap';
import type { Db } from '../../../src/database/tables.ts';
import { IMPORTED } from '../../../src/inbox/inbox.ts';
import { historyOf } from '../../../src/ledger/history.ts';
import { amountOf } from '../../../src/money.ts';
import type { LineRecord } from '../../../src/payroll/calculation/line.ts';
import type { OpenItem } from '../../../src/payroll/compute/item-state.ts';
import { computeNow } from '../../../src/payroll/lifecycle/results.ts';
import type { RunBody } from '../../../src/payroll/records/body.ts';
import { scratch } from '../../database/scratch.ts';
import { onSqlite } from '../../support/engine.ts';
import {
  type Asked,
  BIWEEKLY,
  body,
  bodyUnder,
  dateOf,
  decideItem,
  elected,
  election,
  employment,
  type event,
  finalize,
  finalized,
  itemsIn,
  LATELY,
  learn,
  lines,
  linesOf,
  openItemsOn,
  override,
  put,
  run,
  schedule,
  send,
  setCode,
  setPolicy,
  setSchedules,
  voided,
} from '../../support/payroll.ts';
import { afterReads } from '../../support/reads.ts';

const test = onSqlite.with(scratch);

type Changes = Parameters<typeof event>[2];

/** An employee with a deduction, and finalized runs of these pay dates. */
async function staged(t: Test, places: number[] = [1, 2], changes: Partial<RunBody> = {}): Promise<Db> {
  const db = await elected(t);
  for (const place of places) await finalized(db, `r${place}`, body(place, changes));
  return db;
}

const brief = ({ deduction_id, adjustment_for, member_amount, employer_amount, flags }: LineRecord) =>
  [deduction_id, adjustment_for, member_amount, employer_amount, ...flags.toSorted()].join(' ');

const briefItem = ({ identity, outstanding, line }: OpenItem) => {
  const { member, employer } = outstanding;
  const amounts = [amountOf(member), amountOf(employer)];
  return [identity.deduction_id, identity.source, ...amounts, ...line.flags.toSorted()].join(' ');
};

/** Returns the items that a run considers, taken or not. */
async function adjustments(db: Db, changes: Asked = {}, place = 3): Promise<string[]> {
  return (await itemsIn(db, await including(db, place, changes))).map(briefItem);
}

const including = (db: Db, place: number, changes: Asked = {}) =>
  bodyUnder(db, place, { open_items: 'include', ...changes });

/** Decides to take every open item that a run on a place considers. */
async function takeAll(db: Db, place: number): Promise<void> {
  for (const item of await itemsIn(db, body(place))) await decideItem(db, item, { action: 'take' });
}

/** A version of January 30, and the adjustments of both runs. */
const LATE: Record<string, [fields: Changes, ...expected: string[]]> = {
  'an amount that changed is adjusted run by run': [
    { member_contribution: '12.50' },
    ...['a r1 2.50 0.00 retro_pre_tax', 'a r2 2.50 0.00 retro_pre_tax'],
  ],
  'only the employer amount may differ': [{ employer_contribution: '1' }, 'a r1 0.00 1.00', 'a r2 0.00 1.00'],
  'a change is adjusted from its start date': [
    { member_contribution: '12', effective_start: '2026-01-17' },
    'a r2 2.00 0.00 retro_pre_tax',
  ],
  'a corrected taxability is collected under one and refunded under the other': [
    { taxability: 'post_tax' },
    ...[1, 2].flatMap((run) => [`a r${run} 10.00 0.00`, `a r${run} -10.00 0.00 retro_refund`]),
  ],
  'equal amounts change nothing': [{ description: 'Gold' }],
  'a refund has the flags of the amount of today': [
    { member_contribution: '-1.00', period: 'weekly' },
    ...[1, 2].map((run) => `a r${run} -12.00 0.00 negative retro_refund`),
  ],
};

for (const [rule, [fields, ...expected]] of Object.entries(LATE)) {
  t.test(`after the fact: ${rule}`, async (t) => {
    const db = await staged(t);
    await send(db, election('2026-01-30', fields));
    t.strictSame(await adjustments(db), expected);
  });
}

t.test('a version sent before the first changes nothing', async (t) => {
  const db = await staged(t);
  await send(db, election('2025-11-01', { member_contribution: '99' }));
  t.strictSame(await adjustments(db), []);
});

t.test('a deduction with a late end is refunded', async (t) => {
  const db = await staged(t);
  await send(db, election('2026-01-30', { effective_end: '2026-01-20' }));
  t.strictSame(await adjustments(db), ['a r2 -10.00 0.00 retro_refund']);
  const [item] = await itemsIn(db, body(3));
  t.match(item?.line, {
    ...{ kind: 'adjustment', election: { version: 1 }, compared: null },
    explanation:
      /^Paycheck of January 30: medical should have been 0\.00 \(ended January 20, received .*\); 10\.00 was taken; 10\.00 back\.$/,
  });
});

t.test('an adjustment is a difference of rounded amounts, never a rounded difference', async (t) => {
  // 120.00 / 26 = 4.615…, 120.24 / 26 = 4.624…, 120.48 / 26 = 4.633…: the exact differences would be 0.01 and 0.02.
  for (const [amount, expected] of [
    ['10.02', []],
    ['10.04', ['a r2 0.01 0.00 retro_pre_tax']],
  ] as const) {
    const { db } = await scratch(t);
    await learn(db, employment('e'));
    await send(db, election('2025-12-01', { period: 'monthly' }));
    await finalized(db, 'r2', body(2));
    await send(db, election('2026-01-30', { period: 'monthly', member_contribution: amount }));
    t.strictSame(await adjustments(db), expected, amount);
  }
});

t.test('an amount adjusted by a later finalized run is not adjusted again', async (t) => {
  const db = await staged(t, [2]);
  await send(db, election('2026-01-30', { member_contribution: '12' }));
  await takeAll(db, 3);
  await finalized(db, 'r3', await including(db, 3));
  t.strictSame(await adjustments(db, {}, 4), []);
  await send(db, election('2026-02-13', { member_contribution: '15' }));
  t.strictSame(
    await adjustments(db, {}, 4),
    ['a r2 3.00 0.00 retro_pre_tax', 'a r3 3.00 0.00 retro_pre_tax'],
    'a second change adjusts the remaining difference',
  );
  await takeAll(db, 4);
  const [line] = await lines(db, await including(db, 4), 'adjustment');
  t.match(line, {
    member_amount: '3.00',
    outstanding_after: '0.00',
    explanation:
      /15\.00 \(.*\); 10\.00 was taken; 5\.00 more\. 2\.00 settled since\. 3\.00 now, 0\.00 left\.$/,
  });
  await takeAll(db, 4);
  await finalized(db, 'r4', await including(db, 4));
  await send(db, election('2026-02-27', { member_contribution: '10' }));
  t.strictSame(
    await adjustments(db, {}, 5),
    ['a r2 -5.00 0.00', 'a r3 -5.00 0.00 retro_refund', 'a r4 -5.00 0.00 retro_refund'],
    'a reverted change refunds all adjustments',
  );
});

t.test('a void returns what the voided run settled and what later runs settled for it', async (t) => {
  const db = await staged(t, [1]);
  await send(db, election('2026-01-20', { member_contribution: '12' }));
  await takeAll(db, 2);
  await finalized(db, 'r2', await including(db, 2));
  await send(db, election('2026-02-01', { member_contribution: '15', effective_start: '2026-01-25' }));
  await takeAll(db, 3);
  await finalized(db, 'r3', await including(db, 3));
  const carried = (await Promise.all(['r2', 'r3'].map((id) => linesOf(db, id)))).flat();
  t.strictSame(carried.filter((line) => line.kind === 'adjustment').map(brief), [
    'a r1 2.00 0.00 retro_pre_tax',
    'a r2 3.00 0.00 retro_pre_tax',
  ]);
  await voided(db, 'r2');
  t.strictSame(await adjustments(db, {}, 4), ['a r1 2.00 0.00 retro_pre_tax', 'a r2 -3.00 0.00']);
  const returned = (await itemsIn(db, body(4))).find(({ identity }) => identity.source === 'r2');
  t.match(returned?.line.explanation, /\(the run was voided on July 10\)/);
});

test('an imported deduction missed no check before its first import', async (t, { db }) => {
  await learn(db, employment('f'));
  await send(db, { ...election('2025-12-01'), eventId: `${IMPORTED}1` });
  const pay_date = LATELY.slice(0, 'YYYY-MM-DD'.length);
  const runs = { before: body(12), sameDay: body(13, { pay_date }), after: body(14) };
  for (const [id, given] of Object.entries(runs)) await finalized(db, id, given);
  await learn(db, employment('e'));
  const missed = ['a sameDay 10.00 0.00 missed_check', 'a after 10.00 0.00 missed_check'];
  t.strictSame(await adjustments(db, {}, 15), missed);
});

t.test('a refund has the line of coverage under which the amount was taken', async (t) => {
  const db = await staged(t, [2]);
  await send(db, election('2026-01-30', { line_of_coverage: 'dental' }, 'b'));
  await takeAll(db, 3);
  await finalized(db, 'r3', await including(db, 3));
  await send(db, election('2026-02-13', { line_of_coverage: 'vision', member_contribution: '15' }, 'b'));
  await takeAll(db, 4);
  await finalized(db, 'r4', await including(db, 4));
  await send(db, election('2026-02-27', { line_of_coverage: 'life', effective_end: '2025-12-31' }, 'b'));
  const due = await itemsIn(db, body(5));
  t.strictSame(
    due.map(
      ({ identity, outstanding }) => `${identity.source} ${identity.line_of_coverage} ${outstanding.member}`,
    ),
    ['r2 vision -1500', 'r3 vision -1500', 'r4 vision -1500'],
  );
});

test("an earlier run is adjusted by its own calendar and shares, with today's codes", async (t, { db }) => {
  await learn(db, employment('e'));
  await send(db, election('2025-12-01', { period: 'monthly', member_contribution: '100.00' }));
  const longer = [...BIWEEKLY, { ...dateOf('2026-12-31', 13) }];
  await setSchedules(db, [schedule({ pay_dates: longer })]);
  await setCode(db, 'dental');
  await finalized(db, 'r1', body(1));
  await setSchedules(db, []);
  await finalized(db, 'r2', body(2));
  await setCode(db, 'medical');
  await send(db, election('2026-01-30', { period: 'monthly', member_contribution: '200.00' }));
  // 2400 / 27 = 88.88 cut minus 1200 / 27 = 44.44 cut. Without a list 2400 / 26 = 92.31 minus 1200 / 26 = 46.15.
  await takeAll(db, 3);
  const due = await lines(db, await including(db, 3), 'adjustment');
  t.strictSame(due.map(brief), ['a r1 44.44 0.00 retro_pre_tax', 'a r2 46.16 0.00 retro_pre_tax']);
  t.match(due, [{ payroll_code: 'X1' }, { payroll_code: 'X1' }]);
});

t.test('what was taken follows the deduction’s dates, whatever employment is reported', async (t) => {
  const db = await staged(t);
  await learn(db, employment('e', { hire_date: '2026-01-16' }));
  t.strictSame(await adjustments(db), [], 'r1 pays until January 15');
  await learn(db, employment('e', { hire_date: '2020-01-01', termination_date: '2026-01-15' }));
  t.strictSame(await adjustments(db), []);
  await send(db, election('2026-01-30', { effective_end: '2026-01-16' }));
  const items = await openItemsOn(db, '2026-02-13');
  t.strictSame(items.map(briefItem), ['a r2 -10.00 0.00 no_further_paycheck retro_refund']);
});

t.test('the direction of a retroactive change is the direction before what later runs settled', async (t) => {
  const db = await staged(t, [2]);
  await send(db, election('2026-01-31', { member_contribution: '15' }));
  await takeAll(db, 3);
  await finalized(db, 'r3', await including(db, 3));
  await send(db, election('2026-02-06', { member_contribution: '12' }));
  t.strictSame(await adjustments(db, {}, 4), ['a r2 -3.00 0.00 retro_pre_tax', 'a r3 -3.00 0.00']);
});

t.test('an employee of the run keeps the frozen frequency and group', async (t) => {
  const db = await staged(t);
  await learn(db, employment('e', { pay_frequency: 'weekly', effective_on: '2025-01-01' }));
  await learn(db, employment('e', { effective_on: '2026-02-01' }));
  t.strictSame(await adjustments(db), []);
});

t.test('adjustments for the previous year are not part of this year’s net', async (t) => {
  const db = await staged(t, []);
  await send(db, election('2025-12-01', { effective_end: '2025-12-31' }, 'b'));
  for (const place of [-1, 1]) await finalized(db, `r${place}`, body(place));
  const raised = election('2026-01-30', { member_contribution: '12', effective_start: '2026-01-01' });
  await send(db, raised, election('2026-01-30', { effective_end: '2025-12-01' }, 'b'));
  t.strictSame(await adjustments(db), ['b r-1 -10.00 0.00 retro_refund', 'a r1 2.00 0.00 retro_pre_tax']);
  const listed = await openItemsOn(db, '2027-01-01');
  t.strictSame(listed.map(briefItem), ['a r1 2.00 0.00 retro_pre_tax'], 'two years are adjusted');
  t.strictSame(await openItemsOn(db, '2028-01-01'), []);
});

test('the net of the pre-tax lines of a coverage decides between increase and refund', async (t, { db }) => {
  await learn(db, employment('e'));
  const of = (line_of_coverage: string, taxability: string) => ({ line_of_coverage, taxability }) as Changes;
  const begun = [
    ['a', of('medical', 'pre_tax'), '10', '12'],
    ['b', of('medical', 'pre_tax'), '10', '5'],
    ['c', of('dental', 'pre_tax'), '10', '13'],
    ['d', of('dental', 'pre_tax'), '10', '8'],
    ['g', of('vision', 'pre_tax'), '10', '12'],
    ['h', of('vision', 'pre_tax'), '10', '8'],
    ['i', of('vision', 'post_tax'), '10', '8'],
    ['j', of('life', 'post_tax'), '10', '12'],
  ] as const;
  for (const [id, changes, member_contribution] of begun)
    await send(db, election('2025-12-01', { ...changes, member_contribution }, id));
  await finalized(db, 'r2', body(2));
  for (const [id, changes, , member_contribution] of begun)
    await send(db, election('2026-01-30', { ...changes, member_contribution }, id));
  t.strictSame(await adjustments(db), [
    'a r2 2.00 0.00 retro_refund',
    'b r2 -5.00 0.00 retro_refund',
    'c r2 3.00 0.00 retro_pre_tax',
    'd r2 -2.00 0.00 retro_pre_tax',
    'g r2 2.00 0.00',
    'h r2 -2.00 0.00',
    'i r2 -2.00 0.00',
    'j r2 2.00 0.00',
  ]);
});

t.test(
  'items of an employee who left are taken by a final check, or an off-cycle run of any deductions',
  async (t) => {
    const db = await staged(t);
    await learn(db, employment('e', { termination_date: '2026-01-20' }));
    await send(
      db,
      election('2026-01-30', {
        member_contribution: '12',
        effective_start: '2026-01-17',
        effective_end: '2026-01-31',
      }),
    );
    const items = await openItemsOn(db, '2026-02-13');
    t.strictSame(items.map(briefItem), ['a r2 2.00 0.00 no_further_paycheck retro_pre_tax']);
    for (const item of items) await decideItem(db, item, { action: 'take' });
    const taken = async (changes: Asked) =>
      (await lines(db, await including(db, 3, changes), 'adjustment')).map(brief);
    t.strictSame(await taken({}), []);
    t.strictSame(await taken({ final_checks: ['e'] }), ['a r2 2.00 0.00 retro_pre_tax']);
    t.strictSame(await taken({ kind: 'off_cycle', employee_ids: ['e'] }), ['a r2 2.00 0.00 retro_pre_tax']);
    await learn(db, employment('e', { hire_date: '2026-04-01', termination_date: '2026-01-20' }));
    const again = await openItemsOn(db, '2026-02-13');
    t.strictSame(again.map(briefItem), ['a r2 2.00 0.00 retro_pre_tax'], 'a paycheck follows the rehire');
  },
);

t.test('after a move the old employer has the item, and the new one has none', async (t) => {
  const db = await staged(t, [2]);
  const hired = employment('e', { employer_id: 'other', hire_date: '2026-02-01' });
  await learn(db, employment('e', { termination_date: '2026-01-31' }), hired);
  await send(db, election('2026-02-02', { member_contribution: '12' }));
  const items = await openItemsOn(db, '2026-02-13');
  t.strictSame(items.map(briefItem), ['a r2 2.00 0.00 no_further_paycheck retro_pre_tax']);
  t.strictSame(await openItemsOn(db, '2026-02-13', 'other'), []);
});

t.test('a deduction moved to another employee is refunded and collected', async (t) => {
  const db = await staged(t, [2]);
  await send(db, election('2026-01-30', { employee_id: 'f' }));
  const due = await itemsIn(db, body(3));
  t.strictSame(
    due.map(({ identity, outstanding }) => `${identity.employee_id} ${amountOf(outstanding.member)}`),
    ['e -10.00', 'f 10.00'],
  );
});

t.test('an off-cycle run is adjusted for the deductions that it named', async (t) => {
  const db = await staged(t, []);
  await send(db, election('2025-12-01', { line_of_coverage: 'dental' }, 'b'));
  await finalized(db, 'off', body(1, { kind: 'off_cycle', employee_ids: ['e'], deductions: ['a', 'c'] }));
  await send(
    db,
    election('2026-01-30', { member_contribution: '12' }),
    election('2026-01-30', { member_contribution: '12', line_of_coverage: 'dental' }, 'b'),
    election('2026-01-30', { line_of_coverage: 'vision' }, 'c'),
  );
  t.strictSame(await adjustments(db), ['a off 2.00 0.00 retro_pre_tax', 'c off 10.00 0.00 retro_pre_tax']);
});

t.test('employees left out by employee_ids missed the check', async (t) => {
  const db = await staged(t, [2], { employee_ids: ['f'] });
  t.strictSame(await adjustments(db), ['a r2 10.00 0.00 missed_check']);
  await finalized(db, 'off', body(2, { kind: 'off_cycle', employee_ids: ['e'], deductions: ['a'] }));
  t.strictSame(await adjustments(db), [], 'an off-cycle run for the period took it');
});

t.test('an off-cycle run does not adjust a missed check that it takes', async (t) => {
  const db = await staged(t, [2], { employee_ids: ['f'] });
  await send(db, election('2026-01-30', { employer_contribution: '2.00' }));
  const offCycle = body(2, { kind: 'off_cycle', employee_ids: ['e'], deductions: ['a'] });
  await setPolicy(db, { open_items: 'include' });
  const included = await lines(db, offCycle);
  const amounts = included.map((line) => [line.kind, line.member_amount, line.employer_amount]);
  t.strictSame(amounts, [['regular', '10.00', '2.00']]);
  await finalized(db, 'off', offCycle);
  await send(db, election('2026-01-31', { member_contribution: '12.50', employer_contribution: '3.00' }));
  await takeAll(db, 3);
  const adjusted = await lines(db, await including(db, 3), 'adjustment');
  t.match(
    adjusted.find((line) => line.adjustment_for === 'r2')?.explanation,
    /12\.50 \(.*\); 10\.00 was taken; 2\.50 more\. Employer: should have been 3\.00; 2\.00 was taken; 1\.00 more\.$/,
  );
});

t.test('only regular amounts of the same deduction in off-cycle runs count for a missed check', async (t) => {
  const db = await staged(t, [1]);
  const dental = { line_of_coverage: 'dental', effective_start: '2026-01-17' } as const;
  await send(db, election('2025-12-01', dental, 'b'));
  await finalized(db, 'r2', body(2, { employee_ids: ['f'] }));
  await send(db, election('2026-01-30', { member_contribution: '12.00' }));
  const named: Partial<RunBody> = { kind: 'off_cycle', employee_ids: ['e'], deductions: ['a', 'b'] };
  for (const item of await itemsIn(db, body(2, named))) await decideItem(db, item, { action: 'take' });
  await finalized(db, 'off', await including(db, 2, named));
  t.strictSame((await linesOf(db, 'off')).map(brief), [
    'b  10.00 0.00',
    'a  12.00 0.00',
    'a r1 2.00 0.00 retro_pre_tax',
  ]);
  t.strictSame(await adjustments(db), []);
});

t.test('no check is missed if runs of a different frequency cover its period', async (t) => {
  const weeks = [
    { period_start: '2026-01-16', period_end: '2026-01-22', pay_date: '2026-01-23' },
    { period_start: '2026-01-23', period_end: '2026-01-29', pay_date: '2026-01-31' },
  ];
  const missed = async (weekly: typeof weeks) => {
    const { db } = await scratch(t);
    await send(db, election('2025-12-01'));
    await learn(db, employment('f'), employment('e', { pay_frequency: 'weekly' }));
    await finalized(db, 'r2', body(2));
    for (const week of weekly)
      await finalized(db, week.pay_date, { employer_id: 'acme', pay_frequency: 'weekly', ...week });
    await learn(db, employment('e', { effective_on: '2025-01-01' }));
    return (await itemsIn(db, body(3))).map(
      (item) => `${briefItem(item)}${item.needsDecision ? ' decide' : ''}`,
    );
  };
  t.strictSame(await missed([]), ['a r2 10.00 0.00 missed_check']);
  const [first, second] = weeks as [(typeof weeks)[number], (typeof weeks)[number]];
  t.strictSame(await missed([first]), ['a r2 10.00 0.00 missed_check decide']);
  t.strictSame(await missed(weeks), []);
  const upToFirstDay = { ...first, period_start: '2026-01-10', period_end: '2026-01-16' };
  const fromLastDay = { ...second, period_start: '2026-01-29', period_end: '2026-02-04' };
  for (const week of [upToFirstDay, fromLastDay])
    t.strictSame(
      await missed([week]),
      ['a r2 10.00 0.00 missed_check decide'],
      'a day of the period is covered',
    );
});

test('lines of an earlier run are read only for employees with changes since', async (t, { db }) => {
  const ids = Array.from({ length: 20 }, (_, index) => `e${index}`);
  await learn(db, ...ids.map((id) => employment(id)));
  const of = (employee_id: string): Changes => ({ employee_id, taxability: 'post_tax' });
  await send(db, ...ids.map((id) => election('2025-12-01', of(id), `d-${id}`)));
  await setPolicy(db, { open_items: 'include' });
  // This run is after the run below, so that changes are not compared with it.
  await finalized(db, 'later', body(5));
  await send(db, election('2026-01-30', { ...of('e7'), member_contribution: '12' }, 'd-e7'));
  const read: unknown[] = [];
  const reading = afterReads(db, (rows) => {
    read.push(...rows.filter((row) => 'roster_position' in row).map((row) => row.employee_id));
  });
  const { totals } = (await computeNow(reading, null, run(3))).summary;
  t.strictSame(read, ['e7']);
  t.match(totals, { lines: 21, member_amount: '204.00' });
});

t.test('an adjustment names the record since which its amount is due, and reads as a sentence', async (t) => {
  const db = await staged(t, [2]);
  await send(db, election('2026-01-31', { member_contribution: '12', effective_start: '2026-01-20' }));
  await send(db, election('2026-02-01', { member_contribution: '12', effective_start: '2026-01-20' }));
  const [, changed] = await historyOf(db, ['a']);
  await takeAll(db, 3);
  const line = (await lines(db, await including(db, 3), 'adjustment'))[0];
  t.match(line, {
    adjustment_for: 'r2',
    adjustment_pay_date: '2026-01-30',
    because: { kind: 'event', id: changed?.event_id, received_at: changed?.recorded_at },
    explanation:
      /^Paycheck of January 30: medical should have been 12\.00 \(changed from January 20, received \w+ \d+(, \d+)?\); 10\.00 was taken; 2\.00 more\.$/,
  });
  await voided(db, 'r2');
  await takeAll(db, 4);
  await finalized(db, 'r4', await including(db, 4));
  await learn(db, employment('g', { hire_date: '2026-01-05' }));
  await send(db, election('2026-01-05', { employee_id: 'g' }, 'late'));
  const [late] = await lines(db, await including(db, 5), 'adjustment');
  t.match(late, { deduction_id: 'late', because: { kind: 'event' }, flags: ['missed_check'] });
});

t.test('an overridden check of a coverage that was canceled is refunded', async (t) => {
  const db = await staged(t, []);
  await put(db, 'r1', body(1));
  await override(db, 'r1', 'e', 'a', { member: '4.00' });
  await finalize(db, 'r1');
  t.strictSame(await adjustments(db), [], 'the override is due');
  await send(db, election('2026-01-30', { effective_end: '2026-01-10' }));
  t.strictSame(await adjustments(db), ['a r1 -4.00 0.00 retro_refund']);
});

t.test(
  'an election made in time is not retroactive, by the later of the pay date and the day that counts',
  async (t) => {
    const { db } = await scratch(t);
    await learn(db, employment('e'));
    await setPolicy(db, { applies_on: 'next_month' });
    await send(db, election('2025-12-01'));
    await finalized(db, 'r1', body(1));
    // Paid on January 16, for February.
    await send(db, election('2026-01-31', { member_contribution: '12' }));
    const flags = async () =>
      (await openItemsOn(db, '2026-02-13')).flatMap(({ line }) => [line.amounts.member, ...line.flags]);
    t.strictSame(await flags(), [200n]);
    await send(db, election('2026-02-01', { member_contribution: '13' }));
    t.strictSame(await flags(), [300n, 'retro_pre_tax']);
  },
);
