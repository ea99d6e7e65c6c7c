import t, { type Test } from 'tap';
import type { NewFact } from '../../../src/ledger/roster.ts';
import type { RunBody } from '../../../src/payroll/records/body.ts';
import type { Schedule } from '../../../src/payroll/settings/schedules.ts';
import { scratch } from '../../database/scratch.ts';
import {
  body,
  employment,
  event,
  finalized,
  learn,
  lines,
  schedule,
  send,
  setSchedules,
  view,
} from '../../support/payroll.ts';

/** The run of 2026-01-30. Its period is 2026-01-16 to 2026-01-29; its reference day is the last day. */
const JANUARY = 2;

/** Returns the employees with a line in a run. Each employee has a deduction that is always in effect. */
async function payers(t: Test, facts: NewFact[], changes: Partial<RunBody> = {}, schedules: Schedule[] = []) {
  const { db } = await scratch(t);
  for (const fact of facts) await learn(db, fact);
  await setSchedules(db, schedules);
  for (const employee_id of new Set(facts.map((fact) => fact.employee_id)))
    await send(db, event(`d-${employee_id}`, '2025-12-01', { employee_id }));
  return (await lines(db, body(JANUARY, changes))).map((line) => line.employee_id);
}

const one = (changes: Partial<NewFact> = {}) => employment('e', changes);

const ended = (termination_date: string) => [one({ termination_date })];
const rehired = (hire_date: string, termination_date: string) => [one({ hire_date, termination_date })];
const NORTH = { pay_group: 'north' };

/** Reported in another group from the day after the last one on. */
const LEFT_NORTH = [
  one({ ...NORTH, termination_date: '2026-01-20' }),
  one({ pay_group: 'south', effective_on: '2026-01-21', termination_date: '2026-01-20' }),
];

type Case = [rule: string, facts: NewFact[], changes?: Partial<RunBody>];

const INSIDE: Case[] = [
  ['an employee of the employer', [one()]],
  ['an employee who moves after the day', moved('2026-01-30')],
  ['an employee who moved during the period', moved('2026-01-20')],
  ['an employee who moves on its last day', moved('2026-01-29')],
  ['for a pay group an employee who left it with the job', [...LEFT_NORTH], NORTH],
  [
    'an employee who left a second employer',
    [one(), one({ employer_id: 'b', termination_date: '2025-05-05' })],
  ],
  ['an employee terminated during the period', ended('2026-01-20')],
  ['an employee terminated on its first day', ended('2026-01-16')],
  ['with a final check a terminated employee', ended('2026-01-15'), { final_checks: ['e', 'f'] }],
  ['an employee with a future termination', ended('2026-03-31')],
  ['a rehired employee', rehired('2026-01-20', '2025-06-30')],
  ['an employee who will be rehired, for the last check', rehired('2026-03-01', '2026-01-20')],
  ['with a final check a rehired employee', rehired('2026-03-01', '2025-12-31'), { final_checks: ['e'] }],
  ['an employee hired on the day', [one({ hire_date: '2026-01-29' })]],
  ['an employee without a hire date', [one({ hire_date: null })]],
  ['an employee missing from the newest census', [one({ absent: 1 })]],
  ['for all groups an employee in a pay group', [one(NORTH)]],
  ['for a pay group an employee in it', [one(NORTH)], NORTH],
  ['with employee_ids an employee in it', [one()], { employee_ids: ['e'] }],
];

const OUTSIDE: Case[] = [
  ['an employee of a second employer', [one({ employer_id: 'b' })]],
  ['an employee who moved before', moved('2026-01-01')],
  ['an employee terminated before the period', ended('2026-01-15')],
  ['with a final check an employee who moved', moved('2026-01-01'), { final_checks: ['e'] }],
  ['an employee who will be rehired', rehired('2026-03-01', '2025-06-30')],
  ['an employee not hired yet', [one({ hire_date: '2026-01-30' })]],
  ['an employee with an employment in the future', rehired('2026-02-01', '2026-02-20')],
  ['an employee with a different pay frequency', [one({ pay_frequency: 'weekly' })]],
  ['for a pay group an employee in a different one', [one({ pay_group: 'south' })], NORTH],
  ['for a pay group an employee without one', [one()], NORTH],
  ['with employee_ids an employee not in it', [one()], { employee_ids: ['f'] }],
  ['with employee_ids an employee who moved', moved('2026-01-01'), { employee_ids: ['e'] }],
];

function moved(hired: string): NewFact[] {
  const day = new Date(Date.parse(hired) - 86_400_000).toISOString().slice(0, 10);
  return [one({ termination_date: day }), one({ employer_id: 'b', hire_date: hired })];
}

for (const [cases, is, expected] of [
  [INSIDE, 'is', ['e']],
  [OUTSIDE, 'is not', []],
] as const) {
  for (const [rule, facts, changes] of cases)
    t.test(`${rule} ${is} in the run`, async (t) => {
      t.strictSame(await payers(t, facts, changes), expected);
    });
}

const of = (pay_frequency: Schedule['pay_frequency'], pay_group: string | null = null): Schedule =>
  schedule({ pay_frequency, pay_group });

t.test("an employee without a frequency is in the run of an employer's only schedule", async (t) => {
  const facts = [one({ pay_frequency: null })];
  t.strictSame(await payers(t, facts), ['e'], 'none');
  t.strictSame(await payers(t, facts, {}, [of('biweekly')]), ['e'], 'one');
  t.strictSame(await payers(t, facts, {}, [of('biweekly'), of('weekly')]), [], 'two');
  t.strictSame(await payers(t, facts, {}, [of('biweekly'), of('biweekly', 'north')]), [], 'two pay groups');
  t.strictSame(await payers(t, facts, { pay_group: 'north' }), [], 'not in the run of a pay group');
  const inYear = (year: string): Schedule[] =>
    [of('biweekly'), of('weekly')].map((list) => ({
      ...list,
      pay_dates: list.pay_dates.map((date) => ({ ...date, pay_date: date.pay_date.replace('2026', year) })),
    }));
  t.strictSame(await payers(t, facts, {}, inYear('2025')), [], 'two of the year before');
  t.strictSame(await payers(t, facts, {}, inYear('2027')), ['e'], 'two of a later year');
});

t.test('employees are sorted by id in byte order', async (t) => {
  const ids = ['a', 'Z', 'ä', '\u{ff5e}', '\u{1f600}', '10', '9'];
  const inOrder = ['10', '9', 'Z', 'a', 'ä', '\u{ff5e}', '\u{1f600}'];
  const facts = ids.map((id) => employment(id));
  t.strictSame(await payers(t, facts), inOrder);
  t.strictSame(await payers(t, facts, { employee_ids: ids }), inOrder, 'with employee_ids too');
});

t.test('an off-cycle run takes only the deductions that it names, of the named employees', async (t) => {
  const { db } = await scratch(t);
  await learn(db, one(), employment('f'));
  await send(
    db,
    event('a', '2025-12-01', { employee_id: 'e' }),
    event('b', '2025-12-01', { employee_id: 'e', line_of_coverage: 'dental' }),
    event('c', '2025-12-01', { employee_id: 'f' }),
  );
  const off = (changes: Partial<RunBody>) => lines(db, body(2, { kind: 'off_cycle', ...changes }));
  t.match(await off({ employee_ids: ['e'], deductions: ['a', 'c'] }), [{ deduction_id: 'a' }]);
  t.strictSame(await off({ employee_ids: ['e'] }), []);
});

t.test('employees on another pay schedule are counted, and others outside the run named', async (t) => {
  const { db } = await scratch(t);
  const outside: Record<string, Partial<NewFact>> = {
    gone: { termination_date: '2025-12-31' },
    monthly: { pay_frequency: 'monthly' },
    south: { pay_group: 'south' },
    west: { pay_group: 'west' },
    'weekly-1': { pay_frequency: 'weekly', pay_group: 'a' },
    'weekly-2': { pay_frequency: 'weekly' },
    'weekly-3': { pay_frequency: 'weekly' },
    elsewhere: { employer_id: 'other' },
  };
  await learn(db, ...Object.entries(outside).map(([id, fields]) => employment(id, fields)));
  await learn(db, employment('no-deduction', { pay_frequency: 'weekly' }));
  for (const employee_id of Object.keys(outside))
    await send(db, event(`d-${employee_id}`, '2025-12-01', { employee_id }));
  await setSchedules(db, [of('biweekly', 'north'), of('biweekly', 'south'), of('weekly')]);
  await finalized(db, 'r', body(JANUARY, { pay_group: 'north' }));
  const { outcome } = await view(db, 'r');
  t.strictSame(outcome.on_other_schedules, [
    { pay_frequency: 'biweekly', pay_group: 'south', employees: 1 },
    { pay_frequency: 'weekly', pay_group: 'a', employees: 1 },
    { pay_frequency: 'weekly', pay_group: null, employees: 2 },
  ]);
  t.strictSame(outcome.not_in_run, [
    { employee_id: 'gone', reason: 'terminated' },
    { employee_id: 'monthly', reason: 'other_frequency' },
    { employee_id: 'west', reason: 'other_pay_group' },
  ]);
  t.equal(outcome.not_in_run_count, 3);
});
