/** The id of an open item is derived from its identity. */
import t from 'tap';
import { ITEM_KINDS, itemId, itemIdentity } from '../../../src/payroll/calculation/items.ts';
import fc from '../../support/seeded.ts';

const id = fc.string({ minLength: 1, unit: fc.constantFrom('a', ':', '%', '/', ' ', 'ü') });

const identity = fc.record(
  {
    kind: fc.constantFrom(...ITEM_KINDS),
    source: id,
    employee_id: id,
    deduction_id: fc.option(id),
    line_of_coverage: id,
    taxability: id,
  },
  { noNullPrototype: true },
);

t.test('an id states its whole identity, whatever characters the parts have', async (t) => {
  fc.assert(
    fc.property(identity, (item) => {
      t.strictSame(itemIdentity(itemId(item)), item);
    }),
  );
});

t.test('no other text is an id', async (t) => {
  for (const text of ['', 'arrears', 'loan:r:e:d:medical:pre_tax', 'arrears:r:e:d:medical:pre_tax:x', '%'])
    t.equal(itemIdentity(text), null, text);
});
