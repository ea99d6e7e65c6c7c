import t from 'tap';
import Type from 'typebox';
import { closed } from '../../src/contract/fields.ts';
import { jsonColumn } from '../../src/formats/json-column.ts';

const read = jsonColumn('pay_schedules', 'schedules', Type.Array(closed({ pay_date: Type.String() })));

t.test('a stored text is read as its schema says', async (t) => {
  t.strictSame(read('[{"pay_date":"2026-01-02"}]', 'acme'), [{ pay_date: '2026-01-02' }]);
});

t.test('a damaged text is named by table, column and row, never by its content', async (t) => {
  const damaged = [
    '',
    ...'[{"pay_date":"secret" {"pay_date":"secret"} [{"pay_date":7}] [{"secret":"x"}]'.split(' '),
    null,
  ];
  for (const text of damaged) {
    t.throws(() => read(text, 'acme'), {
      code: 'STORED_JSON_DAMAGED',
      message: /^pay_schedules\.schedules of acme /,
    });
    try {
      read(text, 'acme');
    } catch (error) {
      t.notMatch((error as Error).stack, 'secret');
    }
  }
});
