import t from 'tap';
import { compile } from '../../src/contract/check.ts';
import { PayRate } from '../../src/contract/employee.ts';
import { among, checkRules, days, noOtherField, required } from './rules.ts';
import * as samples from './samples.ts';

const payRate = compile(PayRate);

t.test('a pay rate follows the interface', async (t) => {
  checkRules(t, payRate, samples.payRate, [
    ...required('amount', 'period', 'effective_start'),
    {
      field: 'amount',
      passes: ['0', '0.00', '7', '25.5', '123456.78', '9'.repeat(15)],
      fails: [
        '-1',
        '-0.01',
        '25.505',
        '1e3',
        '1,000',
        '$5',
        '.5',
        '5.',
        ' 5',
        '5\n',
        '',
        '٣',
        '9'.repeat(16),
        25.5,
        null,
      ],
      problem: 'amount: must be an amount of 0 or more with at most 2 decimals, as a string',
    },
    among('period', ['annually', 'hourly']),
    ...days('effective_start'),
    noOtherField,
  ]);
});
