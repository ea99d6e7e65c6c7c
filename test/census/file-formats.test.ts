/** Census files as people have them: proposed, confirmed, and read. */
import t from 'tap';
import { checkCensus } from '../../src/census/check.ts';
import { CENSUS_FILE, employeePath } from '../../src/census/reading.ts';
import { proposeCensusFormat } from '../../src/census/try-format.ts';
import { describe } from '../../src/contract/check.ts';
import { checkFormat, type FileFormat } from '../../src/formats/file-format.ts';
import { fileReader, storedFormat } from '../../src/formats/repair.ts';
import { strictCsv } from '../../src/formats/strict-csv.ts';
import { byteByByte, parts } from '../formats/read.ts';
import { CENSUS_FORMAT, organization } from './parts.ts';

const TODAY = '2026-06-15';

/** A vendor's export: a name, the header and one row. */
const VENDOR = {
  'Emp #': '1001',
  'First Name': 'Ana',
  'Last Name': 'Peña',
  DOB: '4/5/1980',
  'Street Address': '1 Main St',
  City: 'Boston',
  State: 'Massachusetts',
  ZIP: '2108',
  'Hire Date': 'Feb 3, 2020',
  Email: 'ana@example.org',
  'Hours/Week': '40',
  'Annual Salary': '$52,000',
  'Effective Date': '1/1/26',
  Status: 'FT',
  SSN: '12345678',
  Phone: '(617) 555-0123',
  'Pay Freq': 'Bi-Weekly',
  Department: 'Sales',
};
type Row = Record<string, string>;

const csv = (rows: readonly Row[], separator = ','): string =>
  [Object.keys(rows[0] as Row), ...rows.map(Object.values)]
    .map((cells) => cells.map((cell) => (cell.includes(separator) ? `"${cell}"` : cell)).join(separator))
    .join('\r\n');

type Content = string | Uint8Array;

const propose = (content: Content, before: FileFormat | null = null) =>
  proposeCensusFormat(byteByByte(content), before, TODAY);

async function read(content: Content, format: FileFormat) {
  const through = fileReader({ kind: CENSUS_FILE, find: storedFormat(format, CENSUS_FILE), today: TODAY });
  const employees: Record<string, unknown>[] = [];
  const census = {
    ...{ format: 'csv' as const, content: parts(content) },
    organization: Buffer.from(JSON.stringify(organization)),
    through,
  };
  const { problems } = await checkCensus(census, ({ employee }) => void employees.push({ ...employee }));
  return { repairs: through.repairs, employees, problems: problems.map(describe) };
}

/** Returns what a file is read as once its proposal is confirmed. */
async function confirmed(content: Content) {
  const { format } = await propose(content);
  const checked = checkFormat(format, CENSUS_FILE);
  t.ok(checked.ok, 'the proposal is a format');
  return read(content, (checked as { value: FileFormat }).value);
}

t.test("a vendor's export is read by its usual headers, and every change is counted", async (t) => {
  const { format, valid, unread, repairs } = await propose(csv([VENDOR]));
  t.ok(valid);
  t.strictSame(unread, ['Department']);
  t.strictSame(format?.constants, { 'pay_rate[0].period': 'annually' });
  t.strictSame(
    repairs.changes.map(({ field, rule, cells, examples: [first] }) => [field, rule, cells, first?.after]),
    [
      ['dob', 'date-month-first', 1, '1980-04-05'],
      ['address.state', 'word', 1, 'MA'],
      ['address.zip_code', 'zip', 1, '02108'],
      ['hire_date', 'date-name', 1, '2020-02-03'],
      ['pay_rate[0].amount', 'amount', 1, '52000'],
      ['pay_rate[0].effective_start', 'date-short-year', 1, '2026-01-01'],
      ['employment_status', 'word', 1, 'full_time'],
      ['ssn', 'ssn', 1, '012345678'],
      ['phone_number', 'phone', 1, '6175550123'],
      ['pay_frequency', 'word', 1, 'biweekly'],
    ],
  );
  const { employees, problems } = await confirmed(csv([VENDOR]));
  t.strictSame(problems, []);
  t.match(employees, [{ employee_id: '1001', last_name: 'Peña', ssn: '012345678', hours_worked: '40' }]);
});

t.test(
  'the usual headers of payroll systems are proposed, and the likelier of two headers for a field',
  async (t) => {
    const systems: readonly (readonly [headers: string, fields: string, unread?: string])[] = [
      [
        'Rehire Date,Position ID,Associate ID,Legal First Name,Legal Last Name,Birth Date,Tax ID (SSN),Original Hire Date,Worker Category,Rate Effective Date,Regular Pay Rate Amount,Standard Hours',
        'employee_id,first_name,last_name,dob,ssn,hire_date,employment_status,pay_rate[0].effective_start,pay_rate[0].amount,hours_worked',
        'Rehire Date,Position ID',
      ],
      [
        'Primary Address: Address Line 1,Primary Address: City,Primary Address: State / Territory Code,Primary Address: Zip / Postal Code,Personal Contact: Personal Email',
        'address.line1,address.city,address.state,address.zip_code,email',
      ],
      [
        'Employee,EE ID,Home Address 1,Home Address 2,Zip/Postal Code,Work State,Mobile,Work Email,Pay Type,Annual Salary',
        'employee_id,address.line1,address.line2,address.zip_code,phone_number,email,pay_rate[0].amount',
        'Employee,Work State,Pay Type',
      ],
      [
        'EMPL_ID,FIRST_NM,BIRTH_DT,HireDt,EMAIL_ADDR,ADDR_LINE_1,STATE_CD,STD_HRS,PAY_RT,PAY_RT_EFF_DT,SEX_CD,PAY_FREQ_CD',
        'employee_id,first_name,dob,hire_date,email,address.line1,address.state,hours_worked,pay_rate[0].amount,pay_rate[0].effective_start,biological_sex,pay_frequency',
      ],
      [
        'Legal Name - First Name,Primary Home Address - City,Address Street 1,Address Zip,Spouse - Last Name',
        'first_name,address.city,address.line1,address.zip_code',
        'Spouse - Last Name',
      ],
      [
        'Emp No,First Name,Employee Last Name,SS No.,Rehire Date,Employee Type,Scheduled Weekly Hours,Employee Status',
        'employee_id,first_name,last_name,ssn,hire_date,employment_status,hours_worked',
        'Employee Status',
      ],
      [
        'Employee #,Employee,Birth Date (MM/DD/YYYY),Spouse Birth Date,Worker Category Code,Salary,Annual Salary,Salary/Hourly,Std Hours,Date of Birth (Spouse)',
        'employee_id,dob,employment_status,pay_rate[0].amount,hours_worked',
        'Employee,Spouse Birth Date,Salary,Salary/Hourly,Date of Birth (Spouse)',
      ],
      [
        'Emp ID,Emp Type,Pay Rate,Pay Per,Rate Effective,Hrs/Wk,Gender / Sex (Self-ID)',
        'employee_id,employment_status,pay_rate[0].amount,pay_rate[0].period,pay_rate[0].effective_start,hours_worked,biological_sex',
      ],
      ['Compensation,Compensation start date', 'pay_rate[0].amount,pay_rate[0].effective_start'],
    ];
    for (const [headers, fields, left = ''] of systems) {
      const { format, unread } = await propose(`${headers}\n${headers.replaceAll(/[^,]+/g, 'x')}\n`);
      const read = format?.columns.flatMap(({ field }) => field ?? []);
      t.strictSame([read?.join(), unread.join()], [fields, left], headers);
    }
  },
);

t.test('people who left, and people of other employers, are asked for', async (t) => {
  const people = csv([
    { ...VENDOR, 'Employee Status': 'Terminated', 'Term Date': '', Company: 'A' },
    { ...VENDOR, 'Emp #': '1002', 'Employee Status': 'T', 'Term Date': '1/31/2026', Company: 'B' },
    { ...VENDOR, 'Emp #': '1003', 'Employee Status': 'Active', 'Term Date': '', Company: '' },
    { ...VENDOR, 'Emp #': '1004', 'Employee Status': 'Retired', 'Term Date': '', Company: '' },
  ]);
  const { valid, problems, format } = await propose(people);
  t.notOk(valid);
  t.strictSame(problems.map(describe), [
    'Company: has 2 different values: leave out the rows of other employers',
    'Employee Status: has people who left without a termination date, 2 rows: leave these rows out, or add the dates',
  ]);
  t.match(await propose(people, format), { valid: true, problems: [] }, 'a person has confirmed the columns');
});

t.test('people who were hired again have their last hire date, or are asked for', async (t) => {
  const { 'Hire Date': _, ...vendor } = VENDOR;
  const dates = { 'Original Hire Date': '2/3/2010', 'Last Hire Date': '2/3/2020' };
  t.match((await confirmed(csv([{ ...vendor, ...dates }]))).employees, [{ hire_date: '2020-02-03' }]);
  const again = { ...vendor, 'Hire Date': '2/3/2010', 'Rehire Date': '2/3/2020' };
  const people = csv([again, { ...again, 'Emp #': '1002', 'Rehire Date': '' }]);
  t.match((await propose(people)).problems, [
    { path: 'Rehire Date', rule: /^has people who were hired again, 1 row, and is not read/ },
  ]);
});

t.test('another column that may have the value is named', async (t) => {
  const { problems } = await propose(csv([{ ...VENDOR, Status: 'FT', 'Employment Status': 'ACTIVE' }]));
  t.match(problems.map(describe), [
    /^employees\[0\]\.employment_status: .*\. Perhaps the column "Status" has it$/,
  ]);
});

t.test('a file is read in any of the usual encodings and separators, below its titles', async (t) => {
  const text = csv([VENDOR, { ...VENDOR, 'Emp #': '1002' }]);
  const titled = `Acme, census as of 1/31/2026\r\n\r\n${text}`;
  const cases: Record<string, Content> = {
    'UTF-8 with a mark': `\uFEFF${text}`,
    'UTF-16 with a mark': Buffer.from(`\uFEFF${text}`, 'utf16le'),
    'UTF-16 without a mark': Buffer.from(text, 'utf16le'),
    'UTF-16, big-endian': Buffer.from(`\uFEFF${text}`, 'utf16le').swap16(),
    'Windows-1252': Buffer.from(text, 'latin1'),
    semicolons: csv([VENDOR, { ...VENDOR, 'Emp #': '1002' }], ';'),
    tabs: csv([VENDOR, { ...VENDOR, 'Emp #': '1002' }], '\t'),
    'a line sep=': `sep=;\r\n${csv([VENDOR, { ...VENDOR, 'Emp #': '1002' }], ';')}`,
    titles: titled,
    'names of groups above the header': `Employee,,,Address,,,,,,,,Pay\r\n${text}`,
    'the header again': text.replace(/(.*\r\n)(.*\r\n)/, '$1$2$1'),
    'blank rows and columns': `${text.replace('\r\n', ',,\r\n')},,\r\n${','.repeat(19)}\r\n`,
  };
  for (const [name, content] of Object.entries(cases)) {
    const { employees, problems } = await confirmed(content);
    t.strictSame(problems, [], name);
    t.match(employees, [{ last_name: 'Peña' }, { employee_id: '1002' }], name);
  }
  const mac = Buffer.from(text.replaceAll('\r\n', '\r').replace('Peña', 'Pe\x96a'), 'latin1');
  t.match(await propose(mac), { problems: [{ rule: /the encoding of old Macs: save it as "CSV UTF-8/ }] });
  const broken = Buffer.concat([Buffer.from(text), Buffer.from([0xe9, 0x2c])]);
  t.match(await propose(broken), { problems: [{ rule: /characters of several encodings/ }] });
});

t.test('values of each type are read as payroll writes them, or refuse the file', async (t) => {
  const values: readonly (readonly [
    header: string,
    field: string,
    written: string,
    read: string | null | undefined,
  ])[] = [
    ...['1980-04-05', '4/5/80', '05-Apr-80', '29316', '1980-04-05 08:30', '="4/5/1980"'].map(
      (text) => ['DOB', 'dob', text, '1980-04-05'] as const,
    ),
    // A birth is in the past, and another date in 2000 to 2079.
    ['DOB', 'dob', '7/16/68', '1968-07-16'],
    ['DOB', 'dob', '1/31/26', '2026-01-31'],
    ['DOB', 'dob', '6/16/26', '1926-06-16'],
    ['Hire Date', 'hire_date', '1/31/26', '2026-01-31'],
    ['Hire Date', 'hire_date', '1/31/79', '2079-01-31'],
    ['Hire Date', 'hire_date', '25/12/2020', null],
    ['Annual Salary', 'pay_rate[0].amount', '1,008.075', '1008.08'],
    ['Annual Salary', 'pay_rate[0].amount', '18.3749', '18.37'],
    ['Annual Salary', 'pay_rate[0].amount', '(12.00)', null],
    ['Annual Salary', 'pay_rate[0].amount', '$52,000.00 / year', '52000.00'],
    ['Annual Salary', 'pay_rate[0].amount', '$25.00 /hr', null],
    ['Email', 'email', '<ana@example.org>', 'ana@example.org'],
    ['Email', 'email', 'N/A', null],
    ['State', 'address.state', 'PR', null],
    ['Phone', 'phone_number', '617-555-0123 x4', '6175550123'],
    ...['X', 'Non-binary', 'Prefer not to say'].map(
      (text) => ['Sex', 'biological_sex', text, undefined] as const,
    ),
    ['Sex', 'biological_sex', 'yes', null],
    ...['0', '(   )   -'].map((text) => ['Phone', 'phone_number', text, undefined] as const),
    ['Emp #', 'employee_id', '="00123"', '00123'],
    ['Emp #', 'employee_id', "'00123", '00123'],
    ['Emp #', 'employee_id', "'A-12", 'A-12'],
    ['Status', 'employment_status', 'PT - Part Time', 'part_time'],
    ['Status', 'employment_status', 'PT - Full Time', null],
    ['Status', 'employment_status', '1 - Full Time', null],
    ['Emp #', 'employee_id', ' 00123 ', '00123'],
    ['Emp #', 'employee_id', '1.23E+07', null],
    ['SSN', 'ssn', '1.23E+07', null],
    ...['000-00-0000', '0', 'on file', 'XXX-XX-6789'].map((text) => ['SSN', 'ssn', text, undefined] as const),
  ];
  for (const [header, field, written, value] of values) {
    const { employees, problems } = await confirmed(csv([{ ...VENDOR, [header]: written }], ';'));
    const what = `${field}: ${written}`;
    if (value === null) {
      t.match(problems, [/\(line 2\)/], what);
      continue;
    }
    t.strictSame(problems, [], what);
    const got = field
      .split(/[.[\]]+/)
      .reduce((at, name) => (at as Row | undefined)?.[name] as never, employees[0] as unknown);
    t.equal(got, value, what);
  }
});

t.test('a row that cannot be repaired is named by its line, with what to correct', async (t) => {
  const address = /^employees\[0\]\.email: must be one e-mail address such as .* \(line 2\)$/;
  const cases: readonly [Row[], RegExp][] = [
    [[{ ...VENDOR, Email: '' }], /^employees\[0\]\.email: is required: fill in the empty cell \(line 2\)$/],
    [[{ ...VENDOR, 'Hire Date': '' }], /^employees\[0\]\.hire_date: is required: fill in the .* \(line 2\)$/],
    ...['josé@example.org', 'ana.@example.org', 'ana@example.org; b@example.org', 'none'].map(
      (email): [Row[], RegExp] => [[{ ...VENDOR, Email: email }], address],
    ),
    ...['PR', 'AE'].map((state): [Row[], RegExp] => [
      [{ ...VENDOR, State: state }],
      /^employees\[0\]\.address\.state: must be the code of one of the 50 states or DC: .* \(line 2\)$/,
    ]),
    [
      [VENDOR, VENDOR],
      /^employees\[1\]\.employee_id: is the same as employees\[0\]\.employee_id at line 2: keep one row .* \(line 3\)$/,
    ],
  ];
  for (const [rows, sentence] of cases) {
    const { problems } = await confirmed(csv(rows));
    t.equal(problems.length, 1);
    t.match(problems[0], sentence);
  }
});

t.test('words for no value are no value, except in names and in what every row needs', async (t) => {
  const { employees, repairs } = await confirmed(csv([{ ...VENDOR, SSN: 'N/A', 'Last Name': 'Null' }]));
  t.match(employees, [{ last_name: 'Null', ssn: undefined }]);
  t.match(
    repairs.changes.map(({ rule }) => rule).filter((rule) => rule === 'no-value'),
    ['no-value'],
  );
});

t.test('dates that databases write for no end are no termination', async (t) => {
  const ends = ['1/1/1900', '0001-01-01', '12/31/9999', '4712-12-31', '2026-06-30'];
  const { employees } = await confirmed(
    csv(ends.map((end) => ({ ...VENDOR, 'Emp #': end, Terminated: end }))),
  );
  t.strictSame(
    employees.map(({ termination_date }) => termination_date),
    [undefined, undefined, undefined, undefined, '2026-06-30'],
  );
});

t.test('a header that names the period of pay rates counts, not a column of pay types', async (t) => {
  const { 'Annual Salary': _, ...vendor } = VENDOR;
  const salary = { ...VENDOR, 'Pay Type': 'Hourly', 'Hourly Rate': '25.00' };
  const { employees } = await confirmed(csv([salary]));
  t.match(employees, [{ pay_rate: [{ amount: '52000', period: 'annually' }] }]);
  const rate = await confirmed(csv([{ ...vendor, 'Hourly Rate': '25.00', 'Pay Type': 'Salary' }]));
  t.match(rate.employees, [{ pay_rate: [{ amount: '25.00', period: 'hourly' }] }]);
  const { format } = await propose(csv([{ ...vendor, 'Rate of Pay': '52,000', 'Pay Type': 'Hourly' }]));
  const columns = (format as FileFormat).columns.map((column) =>
    column.header === 'Rate of Pay' ? { ...column, header: 'Annual Rate' } : column,
  );
  const stored = { ...(format as FileFormat), columns };
  t.match(
    (await read(csv([{ ...vendor, 'Annual Rate': '52,000', 'Pay Type': 'Hourly' }]), stored)).problems,
    [/pay_rate\[0\]\.amount: is the pay of a year, and the period of its row is another one \(line 2\)$/],
  );
});

t.test('the problem of an empty cell names a column that is not read and may have the value', async (t) => {
  const row = { ...VENDOR, Email: '', 'Work Email': 'ana@example.org' };
  const { problems } = await propose(csv([row]));
  t.match(problems, [{ path: 'employees[0].email', rule: /Perhaps the column "Work Email" has it$/ }]);
});

t.test('a change that nobody confirmed, a new header and a missing one refuse the file', async (t) => {
  const { format } = await propose(csv([{ ...VENDOR, DOB: '1980-04-05' }]));
  const stored = format as FileFormat;
  const refusals: readonly [content: string, problem: RegExp][] = [
    [csv([VENDOR]), /^dob: has 1 value in the column "DOB" that the rule date-month-first would change/],
    [csv([{ ...VENDOR, DOB: '1980-04-05', Badge: '7' }]), /^column 19: is not in the file format/],
    [csv([{ ...VENDOR, DOB: '1980-04-05' }]).replace('Hire Date', 'Hired'), /^column 9: is not in the/],
    [csv([{ ...VENDOR, DOB: '1980-04-05' }]).replace('Department', 'DOB'), /^DOB: is a duplicate column/],
  ];
  for (const [content, problem] of refusals) {
    const { problems, repairs } = await read(content, stored);
    t.match(problems[0], problem);
    t.ok(repairs.isRefused);
  }
  const blanks = await read(
    csv([{ ...VENDOR, DOB: '1980-04-05' }]).replace('Hire Date', ' hire  date'),
    stored,
  );
  t.strictSame(blanks.problems, [], 'blanks and case of a header make no difference');
});

t.test('a total or a note leaves out nobody whose name begins with its words', async (t) => {
  const columns = ['Last Name', ...Object.keys(VENDOR).filter((header) => header !== 'Last Name')];
  const rowOf = (values: Row) => Object.fromEntries(columns.map((name) => [name, values[name] ?? '']));
  const people = ['Countryman', 'San Antonio-Ruiz'].map((name) => ({ 'Emp #': name, 'Last Name': name }));
  const content = csv([
    ...people.map((person) => rowOf({ ...VENDOR, ...person })),
    ...['Count: 2', 'San Antonio', 'Page 1 of 2'].map((text) => rowOf({ 'Last Name': text })),
  ]);
  const { employees, repairs, problems } = await confirmed(content);
  t.strictSame(
    employees.map(({ last_name }) => last_name),
    ['Countryman', 'San Antonio-Ruiz'],
  );
  t.strictSame([problems, repairs.left_out.map(({ rows }) => rows)], [[], [1, 2]]);
});

t.test('rows are left out as the format states, and totals are proposed for it', async (t) => {
  const total = Object.fromEntries(Object.keys(VENDOR).map((header) => [header, '']));
  const content = csv([VENDOR, { ...total, 'Emp #': 'Totals:', 'Annual Salary': '52,000' }]);
  const { format, repairs: proposed } = await propose(content);
  t.strictSame(format?.leave_out, [{ header: 'Emp #', values: ['Totals:*'], reason: 'Totals' }]);
  t.strictSame([proposed.rows, proposed.left_out], [1, [{ reason: 'Totals', rows: 1 }]]);
  const { employees, repairs, problems } = await confirmed(content);
  t.strictSame([employees.length, problems, repairs.left_out], [1, [], [{ reason: 'Totals', rows: 1 }]]);
  const dropped = {
    ...(format as FileFormat),
    leave_out: [{ header: 'Department', values: ['HQ'], reason: 'x' }],
  };
  const renamed = await read(content.replace('Department', ''), dropped);
  t.match(renamed.problems, [/^Department: is missing from the header/], 'the rows could not be left out');
  const without = await read(content, { ...(format as FileFormat), leave_out: [] });
  t.match(without.problems, [/looks like a total.*leave it out in the file format \(line 3\)/]);
});

t.test('a prefix completes ids, once', async (t) => {
  const { format } = await propose(csv([VENDOR]));
  const content = csv([VENDOR, { ...VENDOR, 'Emp #': 'acme-1002' }]);
  const { employees } = await read(content, { ...(format as FileFormat), id_prefix: 'acme-' });
  t.match(employees, [{ employee_id: 'acme-1001' }, { employee_id: 'acme-1002' }]);
});

t.test('a strict file is read as it is, whatever the format', async (t) => {
  const { format } = await propose(csv([VENDOR]));
  const strict = `${CENSUS_FILE.required.join()}\r\n1,A,B,1980-04-05,1 Main St,Boston,MA,2108,2020-02-03,a@example.org,40,1.00,hourly,2026-01-01,full_time`;
  const { employees, problems, repairs } = await read(strict, {
    ...(format as FileFormat),
    id_prefix: 'acme-',
  });
  t.strictSame(problems, []);
  t.match(employees, [{ employee_id: '1', address: { zip_code: '2108' } }]);
  t.strictSame(repairs.changes, []);
});

t.test('a strict file with values that a format reads is refused with the way to a format', async (t) => {
  const check = async (born: string) => {
    const content = `${CENSUS_FILE.required.join()}\r\n1,A,B,${born},1 Main St,Boston,MA,02108,2020-02-03,a@example.org,40,1.00,hourly,2026-01-01,full_time`;
    const census = { format: 'csv', content: parts(content) } as const;
    const { problems } = await checkCensus({
      ...census,
      organization: Buffer.from(JSON.stringify(organization)),
    });
    return problems.map(describe);
  };
  t.match(await check('4/5/1980'), [
    /^the file: needs corrections, or a file format.*--kind census"$/,
    /did you mean 1980-04-05/,
  ]);
  t.match(await check('soon'), [/^employees\[0\]\.dob: /], 'no format reads it');
});

t.test('a new proposal keeps what was confirmed for the same columns', async (t) => {
  const { format } = await propose(csv([VENDOR]));
  const { columns, ...rest } = format as FileFormat;
  const chosen = columns.map((column) => (column.header === 'Phone' ? { ...column, field: null } : column));
  const before = { ...rest, columns: chosen, id_prefix: 'acme-' };
  const again = await propose(csv([{ ...VENDOR, Badge: '7' }]), before);
  t.equal(again.format?.id_prefix, 'acme-');
  t.strictSame(again.unread, ['Phone', 'Department', 'Badge']);
  t.ok(again.repairs.changes.every(({ confirmed }) => confirmed));
});

t.test('a format that cannot be right is refused by field', async (t) => {
  const { columns } = CENSUS_FORMAT;
  const [id, ...others] = columns;
  const cases: readonly [format: object, problem: RegExp][] = [
    [{ columns: others }, /^columns: must have a column for the field employee_id/],
    [
      { columns: columns.filter(({ field }) => field !== 'hours_worked'), constants: {} },
      /columns: must have a column or a constant for the field hours_worked/,
    ],
    [
      { columns: [...columns, { header: 'x', field: 'employe_id' }] },
      /not a field of a census; did you mean/,
    ],
    [
      { columns: [...columns, { header: 'x', field: 'dob' }] },
      /^columns\[15\]\.field: is the same as columns\[3\]/,
    ],
    [
      { columns: [...columns, { ...id, field: null }] },
      /^columns\[15\]\.header: is the same as columns\[0\]/,
    ],
    [{ columns, constants: { dob: '1980-01-01' } }, /^constants\.dob: is not a field/],
    [{ columns, constants: { pay_frequency: 'often' } }, /^constants\.pay_frequency: must be one of/],
    [{ columns, constants: { hours_worked: '40' } }, /^constants\.hours_worked: must not be given/],
    [
      { columns, leave_out: [{ header: 'x', values: ['y'], reason: 'z' }] },
      /^leave_out\[0\]\.header: must be/,
    ],
    [{ columns: [{ ...id, rules: ['guess'] }, ...others] }, /^columns\[0\]\.rules\[0\]: must be one of/],
  ];
  for (const [format, problem] of cases) {
    const checked = checkFormat(format, CENSUS_FILE);
    t.match(checked.ok ? 'accepted' : checked.problems.map(describe).join('\n'), problem);
  }
});

t.test('the strict result is a CSV that needs no format', async (t) => {
  const { format } = await propose(csv([VENDOR]));
  const find = storedFormat(format as FileFormat, CENSUS_FILE);
  const reader = fileReader({ kind: CENSUS_FILE, find, today: TODAY });
  const converted = await strictCsv(reader.records(parts(csv([VENDOR]))), employeePath);
  const text = Buffer.concat(converted).toString();
  t.match(text, /^employee_id,.*pay_rate\[0\]\.period\r\n1001,Ana,Peña,1980-04-05,.*,annually\r\n$/s);
  const strict = await checkCensus({
    ...{ format: 'csv', content: parts(text) },
    organization: Buffer.from(JSON.stringify(organization)),
  });
  t.strictSame(strict.problems, []);
});
