import t from 'tap';
import { type Change, checkChange } from '../../src/employment/change.ts';
import { factsOf } from '../../src/employment/facts.ts';
import type { NewFact } from '../../src/ledger/roster.ts';
import * as samples from '../contract/samples.ts';

const TODAY = '2026-06-01';

const at = (employer_id: string, changes: Partial<NewFact> = {}): NewFact => ({
  employee_id: 'emp-1',
  employer_id,
  hire_date: '2020-01-01',
  termination_date: null,
  employment_status: 'full_time',
  pay_frequency: 'biweekly',
  pay_group: 'night',
  absent: 0,
  ...changes,
});

function checked(kind: Change['kind'], body: unknown): Change {
  const result = checkChange(kind, body);
  if (!result.ok) throw new Error(JSON.stringify(result.problems));
  return result.change;
}
const hire = (fields: object) => checked('new-hire', { ...samples.newHire, employer_id: 'a', ...fields });
const leave = (termination_date: string) =>
  checked('termination', { employee_id: 'emp-1', termination_date });
const pay = (fields: object) => checked('compensation-change', { employee_id: 'emp-1', ...fields });

t.test('a new hire is known with the employer of the report, by what the report says', async (t) => {
  const full = { hire_date: '2024-02-29', pay_frequency: 'weekly', employment_status: 'part_time' };
  const expected = at('a', { ...full, pay_group: null });
  t.strictSame(factsOf(hire(full), [], TODAY), [expected]);
  t.strictSame(factsOf(hire(full), [at('b')], TODAY), [expected], 'another employer stays as it is');
  const short = factsOf(hire({ termination_date: '2026-12-31' }), [], TODAY);
  t.match(short, [{ pay_frequency: null, termination_date: '2026-12-31', absent: 0 }]);
});

t.test('a hire after a termination begins a new spell, of which nothing else is known', async (t) => {
  const left = at('a', { termination_date: '2025-03-31', absent: 1 });
  const again = {
    hire_date: '2026-05-04',
    employment_status: 'full_time',
    pay_frequency: null,
    pay_group: null,
  };
  t.strictSame(factsOf(hire({ hire_date: '2026-05-04' }), [left], TODAY), [
    at('a', { ...again, termination_date: '2025-03-31', absent: 0 }),
  ]);
  const leaving = at('a', { termination_date: '2026-12-31' });
  for (const hire_date of ['2026-05-04', '2026-12-31']) {
    t.match(
      factsOf(hire({ hire_date }), [leaving], TODAY),
      [{ hire_date, termination_date: null }],
      'a termination on that day or later was of the spell before',
    );
  }
});

t.test('a hire on the day that is known is the same spell, and what it leaves out stays', async (t) => {
  const known = at('a', { termination_date: '2026-12-31' });
  const same = { hire_date: '2020-01-01' };
  t.strictSame(factsOf(hire(same), [known], TODAY), [known]);
  t.match(factsOf(hire({ ...same, pay_frequency: 'monthly' }), [known], TODAY), [
    { pay_frequency: 'monthly', pay_group: 'night', termination_date: '2026-12-31' },
  ]);
});

t.test('a termination ends the employment that runs on its day', async (t) => {
  t.strictSame(factsOf(leave('2026-07-31'), [at('a')], TODAY), [at('a', { termination_date: '2026-07-31' })]);
  const moved = [at('a', { hire_date: '2019-01-01' }), at('b', { hire_date: '2026-02-01' })];
  t.match(factsOf(leave('2026-01-31'), moved, TODAY), [{ employer_id: 'a' }], 'also when it comes late');
  t.equal(factsOf(leave('2026-01-31'), moved, TODAY).length, 1);
  t.match(
    factsOf(leave('2026-02-01'), moved, TODAY),
    [{ employer_id: 'a' }, { employer_id: 'b' }],
    'each of two',
  );
});

t.test('when none runs on its day, it ends the one that a census lacks, else the newest', async (t) => {
  const absent = at('a', { absent: 1 });
  const later = at('b', { hire_date: '2026-02-01' });
  t.strictSame(factsOf(leave('2026-01-31'), [absent, later], TODAY), [
    { ...absent, termination_date: '2026-01-31' },
  ]);
  const ended = [at('b', { termination_date: '2024-12-31' }), at('a', { termination_date: '2026-03-31' })];
  t.match(factsOf(leave('2026-04-30'), ended, TODAY), [{ employer_id: 'a', termination_date: '2026-04-30' }]);
});

t.test(
  'a termination before the hire date is the end of an earlier spell, and undoes no later end',
  async (t) => {
    const rehired = at('a', { hire_date: '2026-05-04' });
    t.match(factsOf(leave('2026-03-31'), [rehired], TODAY), [
      { hire_date: '2026-05-04', termination_date: '2026-03-31' },
    ]);
    const leaving = { ...rehired, termination_date: '2026-12-31' };
    t.strictSame(factsOf(leave('2026-03-31'), [leaving], TODAY), []);
  },
);

t.test('a compensation change teaches frequency and status, where they are given', async (t) => {
  const known = [at('a')];
  t.strictSame(factsOf(pay({ pay_frequency: 'monthly' }), known, TODAY), [
    at('a', { pay_frequency: 'monthly' }),
  ]);
  t.strictSame(factsOf(pay({ employment_status: 'variable_hours' }), known, TODAY), [
    at('a', { employment_status: 'variable_hours' }),
  ]);
  t.strictSame(
    factsOf(pay({ pay_rate: samples.payRate }), known, TODAY),
    known,
    'a rate is not in the roster',
  );
  const ended = [at('a'), at('b', { termination_date: '2026-01-31' })];
  t.match(factsOf(pay({ pay_frequency: 'monthly' }), ended, TODAY), [{ employer_id: 'a' }]);
  t.equal(factsOf(pay({ pay_frequency: 'monthly' }), ended, TODAY).length, 1, 'where the employee is active');
});

t.test('a move teaches nothing, and of an unknown employee only a hire does', async (t) => {
  const changes = [
    leave('2026-07-31'),
    pay({ pay_frequency: 'monthly' }),
    checked('demographic', samples.demographic),
  ];
  for (const change of changes) t.strictSame(factsOf(change, [], TODAY), [], change.kind);
  t.strictSame(factsOf(checked('demographic', samples.demographic), [at('a')], TODAY), []);
});
