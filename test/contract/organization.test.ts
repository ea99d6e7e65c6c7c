import t from 'tap';
import { ENTITY_TYPES, organization } from '../../src/contract/census.ts';
import { ABSENT, among, checkRules, noOtherField, required, text } from './rules.ts';
import * as samples from './samples.ts';

t.test('an organization follows the interface', async (t) => {
  checkRules(t, organization, samples.organization, [
    ...required('legal_business_name', 'fein', 'contact', 'address', 'contact.email', 'address.state'),
    ...text('legal_business_name', 'fein', 'contact.first_name', 'address.line1'),
    among('entity_type', ENTITY_TYPES),
    { field: 'entity_type', passes: [ABSENT] },
    { field: 'contact', fails: [null, 'Ada', [samples.contact]], problem: 'contact: must be an object' },
    { field: 'address', fails: [null, [samples.address]], problem: 'address: must be an object' },
    {
      field: 'address.country',
      passes: [ABSENT],
      fails: ['US'],
      problem: 'address.country: is not a field of the interface',
    },
    noOtherField,
  ]);
  t.same(ENTITY_TYPES, 'C-Corp; S-Corp; B-Corp; LLC; Non-profit; Sole Proprietor'.split('; '));
});
