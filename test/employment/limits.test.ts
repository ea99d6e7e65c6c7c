import t from 'tap';
import { createLimitCheck } from '../../src/employment/limits.ts';
import { newHire, termination } from '../contract/samples.ts';
import { changeOf } from './stage.ts';

t.test('a hire in the same call counts for the token that reported it only', async (t) => {
  const hire = changeOf('new-hire', { ...newHire, employee_id: 'new', employer_id: 'a' });
  const leave = changeOf('termination', { ...termination, employee_id: 'new' });
  const check = createLimitCheck(new Map(), '2026-07-01T09:00:00.000Z');
  const by = (owner: string) => ({ limits: { owner, employers: ['a'] } });
  t.equal(check({ change: leave, ...by('token-1') }), 'employee-unknown', 'before the hire');
  t.equal(check({ change: hire, ...by('token-1') }), null);
  t.equal(check({ change: leave, ...by('token-1') }), null);
  t.equal(check({ change: leave, ...by('token-2') }), 'employee-unknown');
});
