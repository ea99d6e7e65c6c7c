/** "Who is in a run" of payroll.md. */
import t, { type Test } from 'tap';
import type { NewFact } from '../../src/ledger/roster.ts';
import type { RunBody } from '../../src/payroll/runs/body.ts';
import type { Schedule } from '../../src/payroll/settings/schedules.ts';
import { scratch } from '../database/scratch.ts';
import { every } from './calendars.ts';
import {
  body,
  employment,
  event,
  finalized,
  learn,
  lines,
  linesOf,
  schedule,
  send,
  view,
} from './runs-stage.ts';

/** The run of 2026-01-30: its period is 2026-01-16 to 2026-01-29, its day the last of it. */
const JANUARY = 2;

/** Who has a line in a run, when each employee has a deduction that is in effect all the time. */
async function payers(
  t: Test,
  facts: NewFact[],
  changes: Partial<RunBody> = {},
  schedules: Schedule[] = [],
): Promise<string[]> {
  const { db } = await scratch(t);
  await learn(db, ...facts);
  await schedule(db, 'acme', schedules);
  for (const employee_id of new Set(facts.map((fact) => fact.employee_id)))
    await send(db, event(`d-${employee_id}`, '2025-12-01', { employee_id }));
  return (await lines(db, body(JANUARY, changes))).map((line) => line.employee_id);
}

const one = (changes: Partial<NewFact> = {}) => employment('e', changes);

const cases: [rule: string, facts: NewFact[], changes: Partial<RunBody>, isIn: boolean][] = [
  ['an employee of the employer is in its run', [one()], {}, true],
  ['an employee of another employer is not', [one({ employer_id: 'other' })], {}, false],
  ['an employee who has moved is in the run of the new employer only', moved('2026-01-01'), {}, false],
  ['so is one who moved in the middle of the period', moved('2026-01-20'), {}, false],
  ['and one who moves on the day', moved('2026-01-29'), {}, false],
  ['who moves after the day is still here', moved('2026-01-30'), {}, true],
  ['whatever day deductions apply on', moved('2026-01-30'), { applies_on: 'pay_date' }, true],
  ['who is active with two employers is in neither', [one(), one({ employer_id: 'other' })], {}, false],
  [
    'who is active here and was elsewhere is here',
    [one(), one({ employer_id: 'other', termination_date: '2025-05-05' })],
    {},
    true,
  ],
  ['who was terminated in the period has a last check', [one({ termination_date: '2026-01-20' })], {}, true],
  ['also when it was its first day', [one({ termination_date: '2026-01-16' })], {}, true],
  ['who was terminated before the period has none', [one({ termination_date: '2026-01-15' })], {}, false],
  [
    'unless a final check is due',
    [one({ termination_date: '2026-01-15' })],
    { final_checks: ['e', 'f'] },
    true,
  ],
  ['a final check is no paycheck of another employer', moved('2026-01-01'), { final_checks: ['e'] }, false],
  ['who will be terminated is in the run', [one({ termination_date: '2026-03-31' })], {}, true],
  [
    'who was hired again is in the run',
    [one({ hire_date: '2026-01-20', termination_date: '2025-06-30' })],
    {},
    true,
  ],
  [
    'who will be hired again is not',
    [one({ hire_date: '2026-03-01', termination_date: '2025-06-30' })],
    {},
    false,
  ],
  [
    'but has the last check of the spell before',
    [one({ hire_date: '2026-03-01', termination_date: '2026-01-20' })],
    {},
    true,
  ],
  [
    'and a final check where one is due',
    [one({ hire_date: '2026-03-01', termination_date: '2025-12-31' })],
    { final_checks: ['e'] },
    true,
  ],
  ['who is not hired yet is not in the run', [one({ hire_date: '2026-01-30' })], {}, false],
  ['who was hired on the day is', [one({ hire_date: '2026-01-29' })], {}, true],
  [
    'who is hired for a while, all of it to come, is not',
    [one({ hire_date: '2026-02-01', termination_date: '2026-02-20' })],
    {},
    false,
  ],
  ['whose hire date nobody knows is in the run', [one({ hire_date: null })], {}, true],
  ['whom the newest census lacks is in the run until a termination is known', [one({ absent: 1 })], {}, true],
  ['who is paid at another frequency is not', [one({ pay_frequency: 'weekly' })], {}, false],
  ['who is in a pay group is in a run without one', [one({ pay_group: 'north' })], {}, true],
  ['who is in the pay group of a run is in it', [one({ pay_group: 'north' })], { pay_group: 'north' }, true],
  ['who is in another is not', [one({ pay_group: 'south' })], { pay_group: 'north' }, false],
  ['who is in none is not in the run of one', [one()], { pay_group: 'north' }, false],
  ['a run that names employees has those', [one()], { employee_ids: ['e'] }, true],
  ['and no others', [one()], { employee_ids: ['f'] }, false],
  ['a name does not bring in who is elsewhere', moved('2026-01-01'), { employee_ids: ['e'] }, false],
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
    t.strictSame(await payers(t, facts, { pay_group: 'north' }), [], 'but not in a pay group of others');
  },
);

t.test('employees are in the byte order of their ids, as in every list', async (t) => {
  const ids = ['a', 'Z', 'ä', '\u{ff5e}', '\u{1f600}', '10', '9'];
  const inOrder = ['10', '9', 'Z', 'a', 'ä', '\u{ff5e}', '\u{1f600}'];
  const facts = ids.map((id) => employment(id));
  t.strictSame(await payers(t, facts), inOrder);
  t.strictSame(await payers(t, facts, { employee_ids: ids }), inOrder, 'also where the run names them');
});

t.test(
  'an off-cycle run takes only the deductions that it names, of the employees that it names',
  async (t) => {
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
    t.match(await lines(db, body(2, { deductions: ['c', 'b'] })), [
      { deduction_id: 'b' },
      { deduction_id: 'c' },
    ]);
  },
);

t.test('the head count is of all who are in the run, with lines or without', async (t) => {
  const { db } = await scratch(t);
  await learn(db, one(), employment('f'), employment('g', { employer_id: 'other' }));
  await send(db, event('a', '2025-12-01', { employee_id: 'e' }));
  await finalized(db, 'r', body(2));
  t.match(await view(db, 'r'), { outcome: { employees: 2 }, totals: { employees: 1, lines: 1 } });
  t.equal((await linesOf(db, 'r')).length, 1);
});
