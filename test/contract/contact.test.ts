import t from 'tap';
import { Contact } from '../../src/contract/census.ts';
import { compile } from '../../src/contract/check.ts';
import { cpuTime } from '../support/cpu-time.ts';
import { checkRules, noOtherField, required, text } from './rules.ts';
import * as samples from './samples.ts';

const contact = compile(Contact);

t.test('a contact follows the interface', async (t) => {
  checkRules(t, contact, samples.contact, [
    ...required('first_name', 'last_name', 'email'),
    ...text('first_name', 'last_name'),
    {
      field: 'email',
      passes: ['a@b.co', "o'brien+benefits@mail.example.com", 'X_1@EXAMPLE.ORG', `a@${'b'.repeat(63)}.com`],
      fails: [
        '',
        'a',
        'a@',
        '@b.co',
        'a@b',
        'a b@c.de',
        'a@b@c.de',
        'a..b@c.de',
        '"a b"@c.de',
        'a@b.co\n',
        'a@-b.co',
        5,
      ],
      problem: 'email: must be a valid e-mail address',
    },
    noOtherField,
  ]);
});

t.test('a hostile e-mail address is rejected in linear time', async (t) => {
  const hostile = [
    '@'.repeat(200_000),
    'a.'.repeat(100_000),
    `a@${'b.'.repeat(100_000)}`,
    `a@${'b-'.repeat(100_000)}`,
  ];
  for (const email of hostile) {
    const { result, cpuMs } = await cpuTime(() => contact.accepts({ ...samples.contact, email }));
    t.equal(result, false);
    // Milliseconds in practice; a check that backtracks would take minutes.
    t.ok(cpuMs < 1_000);
  }
});
