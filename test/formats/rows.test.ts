import t from 'tap';
import { formatOf, type RowFormat, readRows } from '../../src/formats/rows.ts';
import fc from '../support/seeded.ts';
import { byteByByte, COLUMNS, described, parts, readAll } from './read.ts';

const ROWS = [
  { employee_id: 'emp-1', amount: '12.34', note: 'Zoë, "the" 😀' },
  { employee_id: 'emp-2', amount: '-5' },
];
const CSV = 'employee_id,amount,note\r\nemp-1,12.34,"Zoë, ""the"" 😀"\r\nemp-2,-5,\r\n';
const TEXTS: Record<RowFormat, string> = {
  csv: CSV,
  json: JSON.stringify(ROWS),
  ndjson: ROWS.map((row) => `${JSON.stringify(row)}\n`).join(''),
};
/** What a refused CSV says to do. */
const SAVE_AS = 'save it as "CSV UTF-8 (Comma delimited)"';
const FORMATS = Object.keys(TEXTS) as RowFormat[];

t.test('a table has the same rows in every format, however its bytes are split', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...FORMATS),
      fc.boolean(),
      fc.array(fc.nat(200), { maxLength: 8 }),
      async (format, isMarked, cuts) => {
        const bytes = Buffer.from(`${isMarked ? '\uFEFF' : ''}${TEXTS[format]}`);
        const at = [0, ...cuts.sort((one, other) => one - other), bytes.length];
        const pieces = at.slice(1).map((end, index) => bytes.subarray(at[index], end));
        const { rows, problems } = await readAll(parts(...pieces), format);
        return problems.length === 0 && JSON.stringify(rows) === JSON.stringify(ROWS);
      },
    ),
    { numRuns: 200 },
  );
});

t.test('a row knows its place in the table', async (t) => {
  for (const format of FORMATS) {
    const paths: string[] = [];
    for await (const row of readRows(parts(TEXTS[format]), format, COLUMNS)) {
      if ('path' in row) paths.push(row.path);
    }
    t.strictSame(paths, ['lines[0]', 'lines[1]'], format);
  }
});

t.test('a JSON table is a list, or an object with only the list, given once', async (t) => {
  t.strictSame((await readAll(`{"lines": ${TEXTS.json}}`, 'json')).rows, ROWS);
  const other = await readAll(`{"lines": ${TEXTS.json}, "total": 1, "odd name": 2}`, 'json');
  const unknown = ['total', '[…]'].map((name) => `${name}: is not a field of this file`);
  t.strictSame(described(other.problems), unknown);
  const problemsOf = {
    '{"lines": {}}': 'lines: must be an array',
    '"lines"': 'must be an array, or an object with the array lines',
    '[[1],2]': 'lines[1]: must be an object',
    '{"lines":[],"lines":[]}': 'lines: is given twice',
    [`{${Array.from({ length: 101 }, (_, n) => `"f${n}":1`).join()}}`]: 'must have at most 100 fields',
  };
  for (const [text, problem] of Object.entries(problemsOf))
    t.ok(described((await readAll(text, 'json')).problems).includes(problem), problem);
});

t.test('a JSON table that breaks off or is malformed has a problem with its position', async (t) => {
  const problemsOf = {
    ...{ '': 'is not valid JSON', ' \n': 'is not valid JSON', [' '.repeat(2 << 20)]: 'is not valid JSON' },
    ...{
      '{': 'ends in the middle',
      '[': 'lines[0]: ends in the middle',
      '[{}': 'lines[0]: ends in the middle',
    },
    ...{ '[{}]]': 'is not valid JSON near byte 4', '[{},]': 'lines[1]: is not valid JSON near byte 4' },
    ...{ '[,]': 'lines[0]: is not valid JSON near byte 1', '[{}]{}': 'is not valid JSON near byte 4' },
    ...{ '[{} {}]': 'lines[0]: is not valid JSON near byte 4', '{1:[]}': 'is not valid JSON near byte 1' },
    '{"lines" []}': 'is not valid JSON near byte 9',
  };
  for (const [text, problem] of Object.entries(problemsOf))
    t.ok(described((await readAll(text, 'json')).problems).includes(problem), text.slice(0, 20));
});

t.test('lines of a CSV may have different line endings, which are not part of cells', async (t) => {
  for (const [first, others] of ['\n \r\n', '\r\n \n', '\r \r', '\r\n \r'].map((ends) => ends.split(' '))) {
    const text = `employee_id,amount${first}e,1${others}e,2${others}`;
    const { rows, problems } = await readAll(byteByByte(text), 'csv');
    t.strictSame(problems, []);
    t.strictSame(
      rows.map(({ amount }) => amount),
      ['1', '2'],
    );
  }
});

t.test('null and an empty text mean absent, and other values must be texts', async (t) => {
  const rows = [
    { employee_id: 'e', amount: null, note: '' },
    { employee_id: 'e', amount: 12.34 },
    { employee_id: ['e'] },
    { employee_id: 'e', nickname: 'x' },
    { employee_id: 'e', 'Grace Murray': 'x' },
  ];
  for (const text of [JSON.stringify(rows), rows.map((row) => JSON.stringify(row)).join('\n')]) {
    const read = await readAll(text, text.startsWith('[') ? 'json' : 'ndjson');
    t.strictSame(read.rows, [{ employee_id: 'e' }]);
    t.strictSame(described(read.problems), [
      'lines[1].amount: must be a text in quotes, amounts too',
      'lines[2].employee_id: must be a text in quotes, amounts too',
      'lines[3].nickname: is not a field of this file',
      'lines[4][…]: is not a field of this file',
    ]);
  }
});

t.test('a column that is true or false may be one in JSON', async (t) => {
  const read = readRows(parts('[{"employee_id":"e","over":true,"amount":true}, {"over":false}]'), 'json', {
    ...{ list: 'lines', required: ['employee_id'], optional: ['amount', 'over'], flags: ['over'] },
  });
  const found: object[] = [];
  for await (const row of read) found.push(row);
  t.match(found, [{ problem: { path: 'lines[0].amount' } }, { path: 'lines[1]', fields: { over: 'false' } }]);
});

t.test('an invalid line of NDJSON is one problem, and empty lines are skipped', async (t) => {
  const row = '{"employee_id":"e"}';
  const text = [row, '', '{"employee_id":"e","employee_id":"f"}', ' ', '{', row].join('\r\n');
  const { rows, problems } = await readAll(text, 'ndjson');
  t.equal(rows.length, 2);
  t.strictSame(described(problems), [
    'lines[1]: names a field twice in one object',
    'lines[2]: is not valid JSON',
  ]);
});

t.test('a row with too many or too few cells is named by its line, and later rows are read', async (t) => {
  const text = 'employee_id,amount,note\ne-0,1,"two\nlines"\n\ne-1,1\ne-2,1,,x\ne-3,1,\0\ne-4,1,\n';
  const { rows, problems } = await readAll(text, 'csv');
  t.equal(rows.map((row) => row.employee_id).join(), 'e-0,e-4');
  t.strictSame(described(problems), [
    'lines[1]: must have as many cells as the header, 3: it has 2. Delete the row if it is a total or a note (line 5)',
    'lines[2]: must have as many cells as the header, 3: it has 4. A value with a comma must be in quotes (line 6)',
    `lines[3].note: has a NUL character: ${SAVE_AS} (line 7)`,
  ]);
});

t.test('an escaped cell is unescaped, and other cells are unchanged', async (t) => {
  const cells = ["'=1+1", "''-x", "'quoted'", "'-12.34", '-12.34', "'"];
  const text = `employee_id,amount\n${cells.map((cell) => `e,${cell}\n`).join('')}`;
  const read = (await readAll(text, 'csv')).rows.map((row) => row.amount);
  t.strictSame(read, ['=1+1', "'-x", "'quoted'", '-12.34', '-12.34', "'"]);
});

const EMPTY = 'is empty: a CSV begins with a header';
const broken: [string, RowFormat, string | Uint8Array, string][] = [
  ['an empty CSV', 'csv', '', EMPTY],
  ['empty lines alone', 'csv', '\n\r\n', EMPTY],
  [
    'a quote that does not close',
    'csv',
    `${CSV}"x`,
    'is not valid CSV at line 4 (CSV_QUOTE_NOT_CLOSED): find the quote after line 3 that has no second one',
  ],
  [
    'Latin-1 in a CSV',
    'csv',
    Buffer.from(`${CSV}e,1,Zo\xeb\n`, 'latin1'),
    `must be valid UTF-8, and is not at line 2: ${SAVE_AS}`,
  ],
  [
    'a cut character at the end',
    'csv',
    Buffer.from(`${CSV}e,1,ë`).subarray(0, -1),
    `must be valid UTF-8, and is not at line 4: ${SAVE_AS}`,
  ],
  ['Latin-1 in JSON', 'json', Buffer.from('[{"note":"\xeb"}]', 'latin1'), 'is not valid JSON near byte 8'],
  [
    'Latin-1 in NDJSON',
    'ndjson',
    Buffer.from('{"note":"\xeb"}\n', 'latin1'),
    'must be valid UTF-8, and is not at line 1',
  ],
];
for (const [name, format, text, rule] of broken) {
  t.test(`${name} ends the table with a problem that quotes nothing`, async (t) => {
    t.equal((await readAll(text, format)).problems.at(-1)?.rule, rule);
  });
}

/** A source of up to 1,000 parts, and how many of them were read. */
function endless(begin: string, filler: string, bytes = 64 * 1024) {
  let sent = 0;
  async function* source(): AsyncGenerator<Uint8Array> {
    yield Buffer.from(begin);
    for (; sent < 1_000; sent += 1) yield Buffer.alloc(bytes, filler);
  }
  return { source: source(), sent: () => sent };
}

t.test('a record beyond 1 MiB is rejected in bounded memory', async (t) => {
  const begins: [RowFormat, string, string][] = [
    ['csv', 'employee_id,amount\n1,2\n"', 'lines[1]'],
    ['csv', '', ''],
    ['json', '[{},{"note":"', 'lines[1]'],
    ['ndjson', '{}\n{"note":"', 'lines[1]'],
  ];
  for (const [format, begin, path] of begins) {
    const { source, sent } = endless(begin, 'x');
    const { problems } = await readAll(source, format);
    t.match(problems.at(-1), { path, rule: /^must be at most 1 MiB/ });
    t.ok(sent() <= 20, `${sent()} parts of ${format} were read`);
  }
});

t.test('a record of more than 1,000 columns is rejected in bounded memory', async (t) => {
  const columns = async (count: number) => {
    const header = Array.from({ length: count }, (_, n) => `c_${n}`).join();
    return (await readAll(parts(`${header}\n`), 'csv')).problems.at(-1)?.rule;
  };
  t.match(await columns(1_000), /must name the columns/);
  t.equal(await columns(1_001), 'must have at most 1000 columns');
  for (const begin of ['', 'employee_id,amount\n1,"2,\n3"\n', 'employee_id,amount\n"\n",']) {
    const { source, sent } = endless(begin, ',');
    const { problems } = await readAll(source, 'csv');
    t.match(problems.at(-1), { path: '', rule: 'must have at most 1000 columns' });
    t.ok(sent() <= 20, `${sent()} parts were read`);
  }
});

t.test('a table beyond 256 MiB is rejected without reading further', async (t) => {
  const { source, sent } = endless('', `${' '.repeat(1023)}\n`, 1024 * 1024);
  const { problems } = await readAll(source, 'ndjson');
  t.strictSame(described(problems), ['must be at most 256 MiB']);
  t.equal(sent(), 256);
});

t.test('an interrupted source is an error, not a problem of the table', async (t) => {
  async function* breaking(): AsyncGenerator<Uint8Array> {
    yield Buffer.from(CSV);
    throw new Error('reset');
  }
  await t.rejects(readAll(breaking(), 'csv'), { message: 'reset' });
});

t.test('a content type names its format, whatever its parameters', async (t) => {
  const types = ['Text/CSV; charset=utf-8', 'application/json', 'application/x-ndjson', 'text/plain', ''];
  t.strictSame(types.map(formatOf), ['csv', 'json', 'ndjson', null, null]);
});
