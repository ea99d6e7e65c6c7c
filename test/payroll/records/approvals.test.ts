import t from 'tap';
import type { AcceptableFinding } from '../../../src/checks.ts';
import { findingHash } from '../../../src/payroll/records/approvals.ts';

t.test('an approval covers a finding with the same check, result, employee, ids and text', async (t) => {
  const finding: AcceptableFinding = {
    checkId: 'overlap',
    result: 'fail',
    employeeId: 'e',
    ids: ['a:1', 'b:1'],
    finding: { check: 'overlap', text: 'e: a, b' },
  };
  const hash = findingHash(finding);
  t.equal(findingHash({ ...finding, ids: ['b:1', 'a:1'] }), hash, 'in any order of ids');
  const others: Partial<AcceptableFinding>[] = [
    { checkId: 'x' },
    { result: 'warn' as const },
    { employeeId: null },
    { ids: [] },
    { finding: { check: 'overlap', text: 'x' } },
  ];
  for (const field of others) t.not(findingHash({ ...finding, ...field }), hash, JSON.stringify(field));
});
