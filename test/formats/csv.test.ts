import t from 'tap';
import { checkCensus } from '../../src/census/check.ts';
import { CENSUS_ROWS } from '../../src/census/reading.ts';
import { columnsOf } from '../../src/formats/csv.ts';
import { headerProblems } from '../../src/formats/csv-header.ts';
import { organization } from '../census/parts.ts';
import { byteByByte, described, parts, readAll } from './read.ts';

const SAVE_AS = 'save it as "CSV UTF-8 (Comma delimited)"';
const ROW = { employee_id: 'e-1', amount: '5', note: 'a b' };

t.test('blank rows, columns without a name and cells of blanks are no data', async (t) => {
  const texts = {
    'rows of commas': 'employee_id,amount,note\n,,\ne-1,5,a b\n , ,\u00a0\n,,,,\n',
    'columns without a name': 'employee_id,amount,note,,\ne-1,5,a b,,\n',
    'a comma after each row': 'employee_id,amount,note\ne-1,5,a b,\n',
    'columns without a name that rows lack': 'employee_id,amount,note, \ne-1,5,a b\n',
    'columns without a name before others': ',employee_id, ,amount,note\n\u00a0,e-1,,5,a b\n',
    'rows above the header': ',,\n\nemployee_id,amount,note\ne-1,5,a b\n',
    'the end of a DOS file': 'employee_id,amount,note\r\ne-1,5,a b\r\n\x1a',
    'a header with marks without width': '\u200bemployee_id,amount\u2060,note\ne-1,5,a b\n',
    'cells of blanks without width': 'employee_id,amount,note\n\u200b,\u2060,\u00ad\ne-1,5,a b\n',
  };
  for (const [name, text] of Object.entries(texts)) {
    for (const content of [text, byteByByte(text)])
      t.strictSame(await readAll(content, 'csv'), { rows: [ROW], problems: [] }, name);
  }
  const { rows } = await readAll('employee_id,amount,note\ne-1,5, \t\n', 'csv');
  t.strictSame(rows, [{ employee_id: 'e-1', amount: '5' }]);
});

t.test('a value outside the columns is not dropped', async (t) => {
  const { rows, problems } = await readAll('employee_id,amount,,note\ne-1,5,x,a b\n', 'csv');
  const rule = 'has a value in column 3, which has no name: name or delete the column';
  t.strictSame([rows, described(problems)], [[], [`lines[0]: ${rule} (line 2)`]]);
  const after = await readAll('employee_id,amount,\ne-1,5,9\n', 'csv');
  t.match(described(after.problems), [/^lines\[0\]: must have as many cells as the header, 2: it has 3/]);
});

t.test('an id with a blank at an end is refused, and the caller is shown the id', async (t) => {
  const { rows, problems } = await readAll('employee_id,amount,note\n"e-1 ",5, spaced \ne-2,5,\n', 'csv');
  t.strictSame(rows, [{ employee_id: 'e-2', amount: '5' }]);
  for (const id of ['\u200be-1', 'e-1\u00a0', '"\te-1"']) {
    const one = await readAll(`employee_id,amount\n${id},5\n`, 'csv');
    t.match(one.problems, [{ path: 'lines[0].employee_id', hint: 'did you mean e-1?' }], JSON.stringify(id));
  }
  t.strictSame(problems, [
    {
      path: 'lines[0].employee_id',
      rule: 'must not begin or end with a blank (line 2)',
      hint: 'did you mean e-1?',
    },
  ]);
});

t.test('a file that is no CSV in UTF-8 with commas is refused with what to do', async (t) => {
  const csv = 'employee_id,amount,note\ne-1,5,a b\n';
  const semicolons = 'has semicolons between its columns: separate them with commas';
  const files: [name: string, content: string | Uint8Array, problem: string][] = [
    ['UTF-16 of a spreadsheet', Buffer.from(`\uFEFF${csv}`, 'utf16le'), `is UTF-16: ${SAVE_AS}`],
    ['UTF-16, the other order', Buffer.from(`\uFEFF${csv}`, 'utf16le').swap16(), `is UTF-16: ${SAVE_AS}`],
    ['UTF-16 without a mark', Buffer.from(csv, 'utf16le'), `is UTF-16: ${SAVE_AS}`],
    ['a workbook', Buffer.from('PK\x03\x04\x14\x00', 'latin1'), `is a workbook: ${SAVE_AS}`],
    [
      'Windows-1252',
      Buffer.from(`${csv}e-2,5,Pe\xf1a\n`, 'latin1'),
      `must be valid UTF-8, and is not at line 3: ${SAVE_AS}`,
    ],
    [
      'a line for spreadsheets',
      `sep=,\n${csv}`,
      `begins with a line "sep=", which is for spreadsheets only: delete it, or ${SAVE_AS}`,
    ],
    [
      'the same in quotes',
      `"sep=;"\n${csv.replaceAll(',', ';')}`,
      `begins with a line "sep=", which is for spreadsheets only: delete it, or ${SAVE_AS}`,
    ],
    ['semicolons', 'employee_id;amount\ne-1;12,34\n', semicolons],
    ['semicolons in quotes', '"employee_id";"amount"\r"e-1";"1"\r', semicolons],
    ['semicolons without an end of line', 'a;b', semicolons],
    ['semicolons below a title', `Acme, Inc.\n\n${csv.replaceAll(',', ';')}`, semicolons],
    ...(
      [
        ['\x1f\x8b\x08', 'is compressed with gzip'],
        ['%PDF-1.7\n', 'is a PDF'],
        ['<table><tr>', 'is HTML or XML'],
        ['{"lines":', 'is JSON'],
        ['[{"employee_id":', 'is JSON'],
      ] as const
    ).map(([content, what]): [string, Uint8Array, string] => [
      what,
      Buffer.from(content, 'latin1'),
      `${what}: ${SAVE_AS}`,
    ]),
    ['tabs', csv.replaceAll(',', '\t'), 'has tabs between its columns: separate them with commas'],
    ['bars', csv.replaceAll(',', '|'), 'has vertical bars between its columns: separate them with commas'],
    ['a title that is a name', `Note,,\n${csv}`, 'has its header at line 2: delete the rows above it'],
    ['NUL in the header', csv.replace('note', 'note\0'), `the header: has a NUL character: ${SAVE_AS}`],
    ['NUL after the rows', `${csv}\0\0`, `lines[1].employee_id: has a NUL character: ${SAVE_AS} (line 3)`],
    [
      'a formula that keeps zeros',
      `${csv}="00123",5,\n`,
      'is not valid CSV at line 3 (INVALID_OPENING_QUOTE): a value with a quote must be in quotes, with its own quotes doubled',
    ],
    [
      'a title',
      `Acme payroll as of 1/31/2026,,\n,,\n${csv}`,
      'has its header at line 3: delete the rows above it',
    ],
  ];
  for (const [name, content, problem] of files) {
    for (const each of [content, byteByByte(content)]) {
      const { problems } = await readAll(each, 'csv');
      // Rows in front of an error may not have been read yet.
      const texts = described(problems).map((text) => text.replace('lines[1]: ', ''));
      t.strictSame(texts, [problem], name);
    }
  }
  const inCell = await readAll('employee_id,amount\n"a;b",1\n', 'csv');
  t.strictSame(inCell.rows, [{ employee_id: 'a;b', amount: '1' }]);
});

const PERSON = {
  ...{ employee_id: 'e-1', first_name: 'Grace', last_name: 'NOTE', dob: '1990-12-09' },
  ...{ 'address.line1': '1 Main Street', 'address.city': 'Albany', 'address.state': 'NY' },
  ...{ 'address.zip_code': '12207', hire_date: '2020-02-29', email: 'grace@example.org', hours_worked: '40' },
  ...{ 'pay_rate[0].amount': '25.50', 'pay_rate[0].period': 'hourly' },
  ...{ 'pay_rate[0].effective_start': '2025-01-01', employment_status: 'full_time' },
};

type ReadCsv = (content: string | Uint8Array) => Promise<{ texts: unknown[]; problems: string[] }>;

/** Reads two rows, the last of which has the text NOTE: its path, its columns, and how it is read. */
const READERS: Record<string, { path: string; columns: object; read: ReadCsv }> = {
  'rows for payroll': {
    path: 'lines[1]',
    columns: { employee_id: 'e-1', amount: '5', note: 'NOTE' },
    async read(content) {
      const { rows, problems } = await readAll(content, 'csv');
      return { texts: rows.map(({ note }) => note), problems: described(problems) };
    },
  },
  'a census': {
    path: 'employees[1]',
    columns: PERSON,
    async read(content) {
      const texts: unknown[] = [];
      const census = {
        ...{ format: 'csv' as const, content: parts(content) },
        organization: Buffer.from(JSON.stringify(organization)),
      };
      const { problems } = await checkCensus(census, ({ employee }) => {
        texts.push(employee.last_name);
      });
      return { texts, problems: described(problems) };
    },
  },
};

/** A file as a spreadsheet or an editor saves it, and the text of its last row or its problem. */
const SAVED: Record<
  string,
  [save: (csv: string) => string | Uint8Array, result: { text: string } | { problem: string }]
> = {
  'a byte order mark': [(csv) => `\uFEFF${csv}`, { text: 'NOTE' }],
  'CR LF': [(csv) => csv.replaceAll('\n', '\r\n'), { text: 'NOTE' }],
  'CR alone': [(csv) => csv.replaceAll('\n', '\r'), { text: 'NOTE' }],
  'blank rows': [(csv) => csv.replaceAll('\n', '\n\n , \n'), { text: 'NOTE' }],
  'a column without a name or a value': [(csv) => csv.replaceAll(/^([^,\n]*),/gm, '$1, ,'), { text: 'NOTE' }],
  'blanks around a name of a column': [(csv) => csv.replace('id,', 'id ,'), { text: 'NOTE' }],
  'a quoted line break': [(csv) => csv.replace('NOTE', '"a\nb"'), { text: 'a\nb' }],
  'a quoted quote': [(csv) => csv.replace('NOTE', '"a ""b"" c"'), { text: 'a "b" c' }],
  semicolons: [
    (csv) => csv.replaceAll(',', ';'),
    { problem: 'has semicolons between its columns: separate them with commas' },
  ],
  tabs: [
    (csv) => csv.replaceAll(',', '\t'),
    { problem: 'has tabs between its columns: separate them with commas' },
  ],
  'UTF-16': [(csv) => Buffer.from(`\uFEFF${csv}`, 'utf16le'), { problem: `is UTF-16: ${SAVE_AS}` }],
  'Windows-1252': [
    (csv) => Buffer.from(csv.replace('NOTE', 'Pe\xf1a'), 'latin1'),
    { problem: `must be valid UTF-8, and is not at line 3: ${SAVE_AS}` },
  ],
  'a column twice': [
    (csv) => csv.replaceAll(/^([^,]*),/gm, '$1,$1,'),
    { problem: 'employee_id: is a duplicate column' },
  ],
  // The header, a row and a blank row of which the quoted cells are two and three lines.
  'cells with line breaks': [
    (csv) =>
      csv
        .replaceAll('\n', '\r\n')
        .replace(/,first\b/, ',"a\r\nb"')
        .replace('\r\ne-last', '\r\n"\r\n\r\n"\r\n\r\n"e-last "'),
    { problem: 'ROW.employee_id: must not begin or end with a blank (line 8); did you mean e-last?' },
  ],
  'a total': [
    (csv) => {
      const cells = csv.slice(0, csv.indexOf('\n')).split(',').length;
      return csv.replace(/[^\n]*\n$/, `Grand total:,12.00${','.repeat(cells - 2)}\n`);
    },
    { problem: 'ROW: looks like a total: delete the row (line 3)' },
  ],
  'a total without an empty cell': [
    (csv) => {
      const cells = csv.slice(0, csv.indexOf('\n')).split(',').length;
      return csv.replace(/[^\n]*\n$/, `Total${',12.00'.repeat(cells - 1)}\n`);
    },
    { problem: 'ROW: looks like a total: delete the row (line 3)' },
  ],
  'a blank at the end of an id': [
    (csv) => csv.replace('e-last', 'e-last '),
    { problem: 'ROW.employee_id: must not begin or end with a blank (line 3); did you mean e-last?' },
  ],
  'a quote that is not closed': [
    (csv) => `${csv.replace('NOTE', '"NOTE')}${'more\n'.repeat(3)}`,
    {
      problem:
        'ROW: is not valid CSV at line 6 (CSV_QUOTE_NOT_CLOSED): find the quote after line 2 that has no second one',
    },
  ],
  'a quote that is not closed, far from the end': [
    (csv) => `${csv.replace('NOTE', '"NOTE')}${'more\n'.repeat(250_000)}`,
    { problem: 'ROW: must be at most 1 MiB: find the quote after line 2 that has no second one' },
  ],
};

t.test('every reader of a CSV reads it right or refuses it with the row and what to do', async (t) => {
  for (const [reader, { path, columns, read }] of Object.entries(READERS)) {
    const row = Object.values(columns).join();
    const first = row.replace('NOTE', 'first');
    const csv = `${Object.keys(columns).join()}\n${first}\n${row.replace('e-1', 'e-last')}\n`;
    for (const [name, [save, result]] of Object.entries(SAVED)) {
      const { texts, problems } = await read(save(csv));
      if ('text' in result)
        t.strictSame([texts.at(-1), texts.length, problems], [result.text, 2, []], `${reader}: ${name}`);
      else t.ok(problems.includes(result.problem.replace('ROW', path)), `${reader}: ${name}: ${problems}`);
    }
  }
});

t.test('a footer of a census is one problem, whatever it says', async (t) => {
  const columns = Object.keys(PERSON);
  const padded = (cells: string) => cells + ','.repeat(columns.length - cells.split(',').length);
  const footers = ['Employee count,1', 'Page 1 of 1', '-----,-----', 'Total,,,,,,,,,40,25.50'].map(padded);
  const csv = [columns.join(), ...footers].join('\n');
  const { problems } = (await READERS['a census']?.read(csv)) ?? { problems: [] };
  const needs = (values: number) =>
    `has ${values} of the 15 values that each row needs: delete the row if it is a total or a note`;
  t.strictSame(problems, [
    `employees[0]: ${needs(2)} (line 2)`,
    `employees[1]: ${needs(1)} (line 3)`,
    `employees[2]: ${needs(2)} (line 4)`,
    'employees[3]: looks like a total: delete the row (line 5)',
  ]);
  const pages = await READERS['a census']?.read([columns.join(), columns.join()].join('\n'));
  t.strictSame(pages?.problems, ['employees[0]: is the header again: delete the row (line 2)']);
  const pdf = await READERS['a census']?.read('%PDF-1.7\n');
  t.strictSame(pdf?.problems, [`is a PDF: ${SAVE_AS}`], 'no file format reads it');
});

t.test(
  'unknown, duplicate and missing columns are named, with the nearest column that is missing',
  async (t) => {
    const text = 'Employee ID,Department,,note,note,Ammount\n1,2,3,4,5,6\n';
    const { problems, rows } = await readAll(text, 'csv');
    t.strictSame(rows, []);
    t.strictSame(described(problems), [
      'column 1: is not a column of this file; its name is "Employee ID": did you mean employee_id?',
      'column 2: is not a column of this file; its name is "Department"',
      'note: is a duplicate column',
      'column 6: is not a column of this file; its name is "Ammount": did you mean amount?',
      'employee_id: is a missing column',
      'amount: is a missing column',
    ]);
  },
);

t.test('a column in the words of other systems is named with the column of that meaning', (t) => {
  const words = {
    ...{
      'Emp #': 'employee_id',
      'Date of Birth': 'dob',
      Birthdate: 'dob',
      Zip: 'address.zip_code',
      Street: 'address.line1',
    },
    ...{ Phone: 'phone_number', Gender: 'biological_sex', Status: 'employment_status' },
    ...{ 'Personal Email': 'email', 'Term Date': 'termination_date', Freq: 'pay_frequency' },
    ...{ 'Pay Rate': 'pay_rate[0].amount', 'Social Security Number': 'ssn', Job: 'job_title' },
  };
  const problems = headerProblems(['first_name', ...Object.keys(words)], columnsOf(CENSUS_ROWS));
  t.strictSame(
    problems.flatMap(({ hint }) => /did you mean (.*)\?/.exec(hint ?? '')?.[1] ?? []),
    Object.values(words),
  );
  const named = { names: ['employee_id', 'id'], required: [], what: 'this file' };
  t.match(headerProblems(['ID'], named), [{ hint: /did you mean id\?/ }], 'the same word comes first');
  t.end();
});

t.test(
  'a file without a header is one problem with the columns, and does not quote its first row',
  async (t) => {
    const { problems, rows } = await readAll('Murray,12.34\nByron,5\n', 'csv');
    t.strictSame(rows, []);
    t.strictSame(described(problems), [
      'the header: must name the columns of this file, and names none. They are: employee_id, amount, note',
    ]);
  },
);
