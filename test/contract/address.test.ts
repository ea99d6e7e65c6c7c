import t from 'tap';
import { compile } from '../../src/contract/check.ts';
import { Address, US_STATES } from '../../src/contract/employee.ts';
import { checkRules, noOtherField, required, text } from './rules.ts';
import * as samples from './samples.ts';

const address = compile(Address);

t.test('an address follows the interface', async (t) => {
  checkRules(t, address, samples.address, [
    ...required('line1', 'city', 'state', 'zip_code'),
    ...text('line1', 'line2', 'city', 'zip_code'),
    {
      field: 'state',
      passes: [...US_STATES],
      fails: ['XX', 'ny', 'PR', 'New York', '', 36, null],
      problem: 'state: must be a US state code',
    },
    noOtherField,
  ]);
});

t.test('there are 50 states and the District of Columbia', async (t) => {
  const named =
    'AL AK AZ AR CA CO CT DE DC FL GA HI ID IL IN IA KS KY LA ME MD MA MI MN MS MO ' +
    'MT NE NV NH NJ NM NY NC ND OH OK OR PA RI SC SD TN TX UT VT VA WA WV WI WY';
  t.same(US_STATES, named.split(' '));
  t.equal(US_STATES.length, 51);
});
