/** Tests "Who is in a run" of payroll.md. */
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
  linesOf,
  send,
  setSchedules,
  view,
} from '../../support/payroll.ts';
import { every } from '../calendars.ts';

/** The run of 2026-01-30. Its period is 2026-01-16 to 2026-01-29; its reference day is the last day. */
const JANUARY = 2;

/** Returns the employees with a line in a run. Each employee has a deduction that is always in effect. */
async function payers(
  t: Test,
  facts: NewFact[],
  changes: Partial<RunBody> = {},
  schedules: Schedule[] = [],
): Promise<string[]> {
  const { db } = await scratch(t);
  await learn(db, ...facts);
  await setSchedules(db, schedules);
  for (const employee_id of new Set(facts.map((fact) => fact.employee_id)))
    await send(db, event(`d-${employee_id}`, '2025-12-01', { employee_id }));
  return (await lines(db, body(JANUARY, changes))).map((line) => line.employee_id);
}

const one = (changes: Partial<NewFact> = {}) => employment('e', changes);

const cases: [rule: string, facts: NewFact[], changes: Partial<RunBody>, isIn: boolean][] = [
  ['an employee of the employer is in its run', [one()], {}, true],
  ['an employee of another employer is not in it', [one({ employer_id: 'other' })], {}, false],
  ['an employee who moved before is not', moved('2026-01-01'), {}, false],
  ['an employee who moved during the period is not', moved('2026-01-20'), {}, false],
  ['an employee who moves on the day is not', moved('2026-01-29'), {}, false],
  ['an employee who moves after the day is in it', moved('2026-01-30'), {}, true],
  ['with applies_on pay_date too', moved('2026-01-30'), { applies_on: 'pay_date' }, true],
  ['an employee active with two employers is not in it', [one(), one({ employer_id: 'other' })], {}, false],
  [
    'an employee who left the other employer is in it',
    [one(), one({ employer_id: 'other', termination_date: '2025-05-05' })],
    {},
    true,
  ],
  [
    'an employee terminated during the period has a last check',
    [one({ termination_date: '2026-01-20' })],
    {},
    true,
  ],
  [
    'an employee terminated on its first day has a last check',
    [one({ termination_date: '2026-01-16' })],
    {},
    true,
  ],
  [
    'an employee terminated before the period is not in it',
    [one({ termination_date: '2026-01-15' })],
    {},
    false,
  ],
  [
    'a final check includes a terminated employee',
    [one({ termination_date: '2026-01-15' })],
    { final_checks: ['e', 'f'] },
    true,
  ],
  [
    'a final check does not include an employee of another employer',
    moved('2026-01-01'),
    { final_checks: ['e'] },
    false,
  ],
  ['an employee with a future termination is in it', [one({ termination_date: '2026-03-31' })], {}, true],
  [
    'a rehired employee is in it',
    [one({ hire_date: '2026-01-20', termination_date: '2025-06-30' })],
    {},
    true,
  ],
  [
    'an employee who will be rehired is not in it',
    [one({ hire_date: '2026-03-01', termination_date: '2025-06-30' })],
    {},
    false,
  ],
  [
    'an employee who will be rehired has the last check of the earlier employment',
    [one({ hire_date: '2026-03-01', termination_date: '2026-01-20' })],
    {},
    true,
  ],
  [
    'a final check includes an employee who will be rehired',
    [one({ hire_date: '2026-03-01', termination_date: '2025-12-31' })],
    { final_checks: ['e'] },
    true,
  ],
  ['an employee not hired yet is not in it', [one({ hire_date: '2026-01-30' })], {}, false],
  ['an employee hired on the day is in it', [one({ hire_date: '2026-01-29' })], {}, true],
  [
    'an employee with an employment entirely in the future is not in it',
    [one({ hire_date: '2026-02-01', termination_date: '2026-02-20' })],
    {},
    false,
  ],
  ['an employee without a hire date is in it', [one({ hire_date: null })], {}, true],
  ['an employee missing from the newest census is in it until terminated', [one({ absent: 1 })], {}, true],
  ['an employee with another pay frequency is not in it', [one({ pay_frequency: 'weekly' })], {}, false],
  ['an employee in a pay group is in a run for all groups', [one({ pay_group: 'north' })], {}, true],
  [
    'an employee in the pay group of the run is in it',
    [one({ pay_group: 'north' })],
    { pay_group: 'north' },
    true,
  ],
  [
    'an employee in another pay group is not in it',
    [one({ pay_group: 'south' })],
    { pay_group: 'north' },
    false,
  ],
  ['an employee without a pay group is not in the run of a group', [one()], { pay_group: 'north' }, false],
  ['a run with employee_ids includes them', [one()], { employee_ids: ['e'] }, true],
  ['a run with employee_ids excludes others', [one()], { employee_ids: ['f'] }, false],
  [
    'employee_ids does not include an employee of another employer',
    moved('2026-01-01'),
    { employee_ids: ['e'] },
    false,
  ],
];

function moved(hired: string): NewFact[] {
  const day = new Date(Date.parse(hired) - 86_400_000).toISOString().slice(0, 10);
  return [one({ termination_date: day }), one({ employer_id: 'other', hire_date: hired })];
}

for (const [rule, facts, changes, isIn] of cases) {
  t.test(rule, async (t) => {
    t.strictSame(await payers(t, facts, changes), isIn ? ['e'] : []);
  });
}

const of = (pay_frequency: Schedule['pay_frequency'], pay_group: string | null = null): Schedule => ({
  pay_frequency,
  pay_group,
  pay_dates: every(
    pay_frequency === 'weekly' ? 7 : 14,
    '2026-01-02',
    pay_frequency === 'weekly' ? 52 : 26,
  ).map((pay_date) => ({ pay_date, period_start: pay_date, period_end: pay_date })),
});

t.test(
  'without a known frequency an employee is in the run of an employer with one schedule or none',
  async (t) => {
    const facts = [one({ pay_frequency: null })];
    t.strictSame(await payers(t, facts), ['e'], 'none');
    t.strictSame(await payers(t, facts, {}, [of('biweekly')]), ['e'], 'one');
    t.strictSame(await payers(t, facts, {}, [of('biweekly'), of('weekly')]), [], 'two');
    t.strictSame(await payers(t, facts, {}, [of('biweekly'), of('biweekly', 'north')]), [], 'two pay groups');
    t.strictSame(await payers(t, facts, { pay_group: 'north' }), [], 'not in the run of a pay group');
  },
);

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

t.test('the head count includes employees without lines', async (t) => {
  const { db } = await scratch(t);
  await learn(db, one(), employment('f'), employment('g', { employer_id: 'other' }));
  await send(db, event('a', '2025-12-01', { employee_id: 'e' }));
  await finalized(db, 'r', body(2));
  t.match(await view(db, 'r'), { outcome: { employees: 2 }, totals: { employees: 1, lines: 1 } });
  t.equal((await linesOf(db, 'r')).length, 1);
});
