import t from 'tap';
import { shownType, unknownIn, unknownType } from '../../src/contract/unknown.ts';
import { deduction } from './samples.ts';

const UPDATED = 'employee.deduction-updated';
const SYNC = 'employee-census.sync-request';
const CANARY = 'canary';

/** Returns what is unknown in a deduction event, as `kind field`. */
function unknown(data: unknown, frame: object = {}, type = UPDATED): string[] {
  const event = { id: 'e', event_type: type, data, created_at: '2026-01-10T00:00:00Z', ...frame };
  return unknownIn(type, event).map(({ kind, field }) => `${kind} ${field}`);
}

t.test('an event of the contract has nothing unknown, and null is absent', async (t) => {
  t.strictSame(unknown(deduction), []);
  t.strictSame(unknown({ ...deduction, coverage_type: null, effective_end: null }, { id: null }), []);
  t.strictSame(unknown({ employer_id: 'acme' }, {}, SYNC), []);
});

t.test('new fields, values and types of values are found in the event and in its data', async (t) => {
  t.strictSame(unknown({ ...deduction, tier: CANARY }, { version: 2 }), ['field version', 'field data.tier']);
  t.strictSame(unknown({ ...deduction, period: 'daily', coverage_type: 'member_pet' }), [
    'value data.period',
    'value data.coverage_type',
  ]);
  t.strictSame(unknown({ ...deduction, member_contribution: 150, description: [CANARY] }), [
    'type data.member_contribution',
    'type data.description',
  ]);
  t.strictSame(unknown([], { created_at: 1_767_225_600 }), ['type data', 'type created_at']);
  t.strictSame(unknown({ employer_id: { id: CANARY } }, {}, SYNC), ['type data.employer_id']);
  t.strictSame(unknown({ ...deduction, constructor: 1, toString: 1 }), [
    'field data.constructor',
    'field data.toString',
  ]);
});

t.test('a name that may be an id or a person is not repeated', async (t) => {
  const hostile = ['e-1001', '123-45-6789', 'jane@example.org', 'é', '', 'a'.repeat(65), 'a b', '<b>', 'a\n'];
  const data = { ...deduction, ...Object.fromEntries(hostile.map((name) => [name, 1])) };
  t.strictSame(unknown(data), ['field data[…]']);
  const people = Object.fromEntries([...'abcdefghijk'].map((letter) => [`jane_${letter}`, 1]));
  t.strictSame(unknown({ ...deduction, ...people }), ['field data[…]'], 'so many are a map');
  t.strictSame(
    unknown({ ...deduction, covered: people }),
    ['field data.covered'],
    'only new fields are named',
  );
  t.strictSame([UPDATED, 'e-1.hired', 'x'.repeat(65)].map(shownType), [UPDATED, '[…]', '[…]']);
});

t.test(
  'a type that is not handled is close to a known one by its name or by a deduction in it',
  async (t) => {
    const isClose = (type: string, data: object) => unknownType(type, data).length > 0;
    t.ok(isClose('employee.deduction_updated', {}));
    t.ok(isClose('Employee.Deduction.Updated', {}));
    t.ok(isClose('benefits.elected', deduction));
    t.notOk(isClose('benefits.elected', { ...deduction, period: 'daily' }));
    t.notOk(isClose('svix.test', { employer_id: 'acme' }));
  },
);
