import t from 'tap';
import { employerOf, isActive, type RosterFact } from '../../src/ledger/employer-of.ts';

const row = (employer_id: string, position: number, fields: Partial<RosterFact> = {}): RosterFact => ({
  employee_id: 'e-1',
  employer_id,
  position,
  hire_date: '2020-01-01',
  termination_date: null,
  employment_status: 'full_time',
  pay_frequency: null,
  pay_group: null,
  absent: 0,
  ...fields,
});

const DAY = '2026-03-15';

const spells: [string, Partial<RosterFact>, boolean][] = [
  ['hired and not terminated', {}, true],
  ['without a known hire date', { hire_date: null }, true],
  ['hired on the day', { hire_date: DAY }, true],
  ['hired after the day', { hire_date: '2026-03-16' }, false],
  ['terminated on the day', { termination_date: DAY }, true],
  ['terminated the day before', { termination_date: '2026-03-14' }, false],
  ['terminated later', { termination_date: '2026-04-30' }, true],
  ['hired again after a termination', { hire_date: '2026-02-01', termination_date: '2025-06-30' }, true],
  ['to be hired again later', { hire_date: '2026-04-01', termination_date: '2025-06-30' }, false],
  ['absent from the newest census', { absent: 1 }, false],
];
for (const [name, fields, active] of spells) {
  t.test(`an employee ${name} is ${active ? '' : 'not '}active`, async (t) => {
    t.equal(isActive(row('a', 1, fields), DAY), active);
  });
}

const employers: [string, RosterFact[], string | null][] = [
  ['nobody knows is of no employer', [], null],
  ['of one employer is of that one', [row('a', 1)], 'a'],
  ['active with two is not guessed about', [row('a', 1), row('b', 2)], null],
  ['who moved is of the new employer', [row('a', 1, { termination_date: '2026-02-28' }), row('b', 2)], 'b'],
  [
    'who will move is still of the old employer',
    [row('a', 1), row('b', 2, { hire_date: '2026-04-01' })],
    'a',
  ],
  ['whom the old census lacks is of the other', [row('a', 9, { absent: 1 }), row('b', 2)], 'b'],
  [
    'active nowhere is of the employer of the newest fact',
    [row('a', 1, { absent: 1 }), row('b', 3, { termination_date: '2026-01-01' }), row('c', 2, { absent: 1 })],
    'b',
  ],
  ['only terminated with one is still of that one', [row('a', 1, { termination_date: '2020-02-02' })], 'a'],
];
for (const [name, rows, employer] of employers) {
  t.test(`an employee ${name}`, async (t) => {
    t.equal(employerOf(rows, DAY), employer);
    t.equal(employerOf(rows.toReversed(), DAY), employer, 'in any order of the rows');
  });
}
