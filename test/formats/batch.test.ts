import t from 'tap';
import Type from 'typebox';
import { closed } from '../../src/contract/fields.ts';
import { type Cut, cutArray, cutLines, parseCut } from '../../src/formats/batch.ts';
import { jsonColumn } from '../../src/formats/json-column.ts';

const BYTES_MAX = 1024;

const values = (text: string | Buffer, cut: (bytes: Buffer) => Cut[] | null) => {
  const bytes = Buffer.from(text);
  return (
    cut(bytes)?.map((one) => {
      const parsed = parseCut(bytes, one, BYTES_MAX);
      return [one.line, parsed.ok ? parsed.value : parsed.reason];
    }) ?? null
  );
};
const inArray = (text: string | Buffer) => values(text, cutArray);
const onLines = (text: string | Buffer) => values(text, cutLines);

t.test('an array is split into its elements, whatever they contain', async (t) => {
  const elements = [{ a: '],[{}"\\' }, [1, [2, { b: '\\"' }]], 'x,y', 7, null, true, {}, [], ''];
  const expected = elements.map((element, index) => [index + 1, element]);
  t.strictSame(inArray(JSON.stringify(elements)), expected);
  const spaced = `\uFEFF ${JSON.stringify(elements, null, 2)}\r\n`;
  t.strictSame(inArray(spaced), expected, 'with whitespace and a byte order mark');
  t.strictSame(inArray('[]'), []);
  t.strictSame(inArray(' [ \n ] '), []);
});

t.test('an unreadable element affects no other element', async (t) => {
  t.strictSame(inArray('[{"a":1,"a":2},{"b":},,{"c":1}]'), [
    [1, 'names a field twice in one object'],
    [2, 'is not valid JSON'],
    [3, 'is not valid JSON'],
    [4, { c: 1 }],
  ]);
  t.strictSame(inArray(`["${'x'.repeat(BYTES_MAX)}",1]`), [
    [1, 'must be at most 1 KiB'],
    [2, 1],
  ]);
  t.strictSame(inArray(Buffer.concat([Buffer.from('["'), Buffer.from([0xff]), Buffer.from('",1]')])), [
    [1, 'must be valid UTF-8'],
    [2, 1],
  ]);
  t.strictSame(inArray('[1,]'), [
    [1, 1],
    [2, 'is not valid JSON'],
  ]);
});

t.test('a value that is not an array, or has no end, is rejected', async (t) => {
  for (const text of [
    '',
    ' ',
    ...'{} {"a":[1]} 1 "[]" [ [1 [1} ["a]'.split(' '),
    '["a\\"]',
    '[1]]',
    '[1] 2',
    'x[1]',
  ]) {
    t.equal(inArray(text), null, text);
  }
  t.equal(inArray(Buffer.from('[1]', 'utf16le')), null, 'UTF-16');
});

t.test('lines are split at their ends, and blank lines count', async (t) => {
  t.strictSame(onLines('\uFEFF{"a":1}\r\n\n \t\n{"b":"\\n"}\n3'), [
    [1, { a: 1 }],
    [4, { b: '\n' }],
    [5, 3],
  ]);
  t.strictSame(onLines('1\n'), [[1, 1]], 'the last line end is optional');
  for (const text of ['', '\n', ' \r\n ']) t.strictSame(onLines(text), [], 'nothing');
});

t.test('an unreadable line affects no other line', async (t) => {
  const bytes = Buffer.concat([
    Buffer.from('{"a"\n"'),
    Buffer.from([0xc3]),
    Buffer.from(`"\n"${'x'.repeat(2_000)}"\n[1]`),
  ]);
  t.strictSame(onLines(bytes), [
    [1, 'is not valid JSON'],
    [2, 'must be valid UTF-8'],
    [3, 'must be at most 1 KiB'],
    [4, [1]],
  ]);
});

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
